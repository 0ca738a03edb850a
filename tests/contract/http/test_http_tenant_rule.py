"""Every route that reaches users takes their tenant from the key, and uses it: seen by what it depends on and reads."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.isolation_walk import routes_of
from fastapi.dependencies.utils import get_dependant

from mnemolog.extensions.webhooks import route as webhooks
from mnemolog.http import dependencies
from mnemolog.http.app import make_http
from mnemolog.http.dependencies import CommandId, CurrentWorker, OwnerInPath, Tenant
from mnemolog.http.permissions import OF_TOOLS, OF_USERS, OF_USERS_OR_ALL, PUBLISHING, Access, Reach, access_of
from mnemolog.http.routing import routes
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker

OF_USERS_DATA = (Reach.USERS, Reach.USERS_OR_ALL, Reach.KEYS_USER, Reach.TENANT)
OF_THE_TENANT = (dependencies._tenant, dependencies._owner, dependencies._envelope, webhooks._known)
"""What gives a route the tenant of the key, or something that was looked up by it."""
TENANT_BY_ITS_TOOLS = "/mcp"
"""It sends requests of its own to the routes of the two tools, with the caller's key: they look up the tenant."""


def depended_on(dependant: Any) -> set[Any]:
    """Return every function that a route depends on, however deep."""
    found = {dependant.call}
    return found.union(*(depended_on(each) for each in dependant.dependencies))


def names_read(endpoint: Callable[..., Any]) -> set[str]:
    """Return the names that a function's body reads."""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(endpoint))).body
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def faults_of(route: Any) -> Iterator[str]:
    """Yield how a route breaks what it declares about whose data it reaches."""
    access = access_of(route.endpoint)
    assert access is not None, route.path
    has, reads = depended_on(route.dependant), names_read(route.endpoint)
    named = {field.name for part in ("query_params", "header_params") for field in getattr(route.dependant, part)}
    if access.reach in OF_USERS_DATA and route.path != TENANT_BY_ITS_TOOLS:
        if dependencies._tenant not in has:
            yield "does not ask for the tenant of the key"
        if reads.isdisjoint(each.name for each in route.dependant.dependencies if each.call in OF_THE_TENANT):
            yield "reads no tenant"
    if "tenant" in named:
        yield "lets a request name its tenant"
    if access.checks_itself and ("check_owner" not in reads or dependencies._caller not in has):
        yield "says that it checks owners itself, and does not"
    if access.reach is Reach.NOTHING and dependencies._tenant in has:
        yield "says that it reaches nobody's data, and asks for a tenant"


def test_every_route_uses_the_tenant_of_the_key(tmp_path: Path):
    app = make_http(Worker(from_environment({}, data_dir=tmp_path)))
    walked = [route for route in routes_of(app.routes) if hasattr(route, "dependant")]
    assert sum(access_of(route.endpoint).reach in OF_USERS_DATA for route in walked) > 30  # type: ignore[union-attr]
    assert {route.path: faults for route in walked if (faults := list(faults_of(route)))} == {}


@pytest.mark.parametrize("look_up", OF_THE_TENANT[1:])
def test_what_a_route_is_given_is_looked_up_by_the_tenant_of_the_key(look_up: Callable[..., Any]):
    dependant = get_dependant(path="/{user_id}/{webhook_id}", call=look_up)
    assert "tenant" in {each.name for each in dependant.dependencies if each.call is dependencies._tenant}
    assert "tenant" in names_read(look_up)


@pytest.mark.parametrize("access", [OF_USERS, OF_USERS_OR_ALL, OF_TOOLS])
def test_a_route_that_forgets_the_tenant_is_found(access: Access):
    router = routes("forgetful", "/v1/forgetful", access)

    @router.get("/without")
    async def without(worker: CurrentWorker) -> dict[str, str]:
        return {"of": str(worker)}

    @router.get("/unread")
    async def unread(worker: CurrentWorker, tenant: Tenant) -> dict[str, str]:  # noqa: ARG001 - what is to be found
        return {"of": str(worker)}

    @router.get("/named")
    async def named(worker: CurrentWorker, tenant: str) -> dict[str, str]:
        return {"of": f"{tenant} {worker}"}

    @router.get("/{user_id}/unread")
    async def owner_unread(worker: CurrentWorker, owner: OwnerInPath) -> dict[str, str]:  # noqa: ARG001 - as above
        return {"of": str(worker)}

    @router.post("/command")
    async def only_the_command(worker: CurrentWorker, command_id: CommandId) -> dict[str, str]:
        return {"of": f"{command_id} {worker}"}

    @router.get("/right")
    async def right(worker: CurrentWorker, tenant: Tenant) -> dict[str, str]:
        return {"of": f"{tenant} {worker}"}

    @router.get("/{user_id}/right")
    async def owner_right(owner: OwnerInPath) -> dict[str, str]:
        return {"of": str(owner)}

    assert [list(faults_of(route)) for route in router.routes] == [
        ["does not ask for the tenant of the key", "reads no tenant"],
        ["reads no tenant"],
        ["does not ask for the tenant of the key", "reads no tenant", "lets a request name its tenant"],
        ["reads no tenant"],
        ["reads no tenant"],
        [],
        [],
    ]


def test_a_route_that_does_not_check_the_owners_of_its_body_is_found():
    router = routes("unchecked", "/v1/unchecked", PUBLISHING)

    @router.post("")
    async def unchecked(tenant: Tenant) -> dict[str, str]:
        return {"of": tenant}

    assert list(faults_of(router.routes[0])) == ["says that it checks owners itself, and does not"]
