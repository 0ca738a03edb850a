"""Permissions: every route declares the role that it needs and the data that it reaches; without them it is refused.

A key for some users or agents only is checked here too, by the names in the request's path, query and body, and by the
owner of a memory that it names. A route whose body holds many events checks each of them itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.requests import Request

from mnemolog.access.principal import PRINCIPAL, Principal, Role
from mnemolog.http.dependencies import ready_worker
from mnemolog.http.forwarding import BODY
from mnemolog.http.problems import Problem
from projections.queries.queries import UnknownMemory
from schemas.identity import GLOBAL_USER
from schemas.inputs.input_events import DEFAULT_USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from starlette.types import Scope

    Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_ACCESS: Final = "mnemolog_access"
_READS: Final = "mnemolog_reads"


class Reach(StrEnum):
    """The owners of the data that a route reaches, within the caller's tenant unless stated otherwise."""

    NOTHING = "nothing"
    """No personal data."""
    USERS = "users"
    """The users that the request names, and the owners of the memories that it names."""
    USERS_OR_ALL = "users or all"
    """As USERS; if it names none, all users of the tenant, which takes the role tenant-admin."""
    KEYS_USER = "the key's user"
    """As USERS, and the key must be for some users: a model calls the route, and must not choose the user."""
    TENANT = "tenant"
    """Data of the tenant or of one agent, not of a user; a change takes a key for all users and agents."""
    INSTALLATION = "installation"
    """Every tenant."""
    WORKERS = "workers"
    """Requests of other workers, which are authenticated in another way."""


_WITHOUT_NAMES: Final = frozenset({Reach.NOTHING, Reach.WORKERS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The access that a route needs: its roles for reading and for changing, and the data that it reaches."""

    reading: frozenset[Role]
    changing: frozenset[Role]
    reach: Reach
    tells_agents_apart: bool = True
    """Whether a key for some agents must name one of them."""
    checks_itself: bool = False
    """Whether the route checks the owners that its body names, by `check_owner`."""


def _one(role: Role, reach: Reach) -> Access:
    return Access(reading=frozenset({role}), changing=frozenset({role}), reach=reach)


def _of_users(reach: Reach, **more: bool) -> Access:
    return Access(reading=frozenset({Role.READ}), changing=frozenset({Role.WRITE}), reach=reach, **more)


OPEN: Final = Access(reading=frozenset(), changing=frozenset(), reach=Reach.NOTHING)
OF_USERS: Final = _of_users(Reach.USERS)
OF_USERS_OR_ALL: Final = _of_users(Reach.USERS_OR_ALL)
OF_EVENTS: Final = _of_users(Reach.USERS, tells_agents_apart=False)
PUBLISHING: Final = _of_users(Reach.USERS, tells_agents_apart=False, checks_itself=True)
OF_TOOLS: Final = _of_users(Reach.KEYS_USER)
OF_MODELS: Final = Access(
    reading=frozenset({Role.READ, Role.WRITE}), changing=frozenset({Role.READ, Role.WRITE}), reach=Reach.KEYS_USER
)
"""The access of MCP; each tool then needs its own roles."""
_CALLERS: Final = frozenset({Role.READ, Role.WRITE, Role.TENANT_ADMIN})
OF_OTHERS_PROTOCOL: Final = Access(reading=_CALLERS, changing=_CALLERS, reach=Reach.NOTHING)
"""The access of a route of another system's protocol; its requests to our own routes are checked there."""
DESCRIPTION: Final = Access(reading=frozenset({Role.READ, Role.WRITE}), changing=frozenset(), reach=Reach.NOTHING)
OF_TENANT: Final = _one(Role.TENANT_ADMIN, Reach.USERS)
OF_POLICIES: Final = Access(
    reading=frozenset({Role.READ, Role.TENANT_ADMIN}),
    changing=frozenset({Role.TENANT_ADMIN}),
    reach=Reach.TENANT,
)
"""The access of a tenant's policies, which hold no user's words."""
OF_ERASURES: Final = _one(Role.TENANT_ADMIN, Reach.TENANT)
"""The access of the list of erasures, which holds no names."""
OF_WEBHOOKS: Final = _one(Role.TENANT_ADMIN, Reach.TENANT)
"""The access of webhooks; their posts contain the words of users."""
IMPORTING: Final = Access(
    reading=frozenset(), changing=frozenset({Role.TENANT_ADMIN}), reach=Reach.USERS, checks_itself=True
)
OF_INSTALLATION: Final = _one(Role.OPERATOR, Reach.INSTALLATION)
MEASURING: Final = _one(Role.METRICS, Reach.INSTALLATION)
BETWEEN_WORKERS: Final = Access(reading=frozenset(), changing=frozenset(), reach=Reach.WORKERS)


def needs(access: Access) -> Callable[[Endpoint], Endpoint]:
    """Declare the access of a route that differs from the rest of its module."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _ACCESS, access)
        return endpoint

    return mark


def declare(endpoint: Callable[..., Any], access: Access | None) -> None:
    """Declare the access of a module's route, unless it has declared its own."""
    if access is not None and not hasattr(endpoint, _ACCESS):
        setattr(endpoint, _ACCESS, access)


def access_of(endpoint: Callable[..., Any]) -> Access | None:
    """Return the access that a route has declared, or None."""
    return getattr(endpoint, _ACCESS, None)


def reads(endpoint: Endpoint) -> Endpoint:
    """Mark a route that only reads although its method is not GET; it is handled like a GET."""
    setattr(endpoint, _READS, True)
    return endpoint


def is_reading(scope: Scope, endpoint: Callable[..., Any]) -> bool:
    """Return whether a request only reads."""
    return scope["method"] == "GET" or hasattr(endpoint, _READS)


def permit(request: Request, endpoint: Callable[..., Any]) -> None:
    """Let a request pass whose role was permitted, if its key is for the users and agents that it names.

    Raises Problem, and UnknownMemory for a memory of another user.
    """
    principal: Principal | None = request.scope.get(PRINCIPAL)
    if principal is None or not principal.is_narrowed:
        return
    access = access_of(endpoint)
    if access is None or access.reach in _WITHOUT_NAMES or access.checks_itself:
        return
    if access.reach is Reach.TENANT:
        _check_tenants(request, principal, is_reading=is_reading(request.scope, endpoint))
        return
    _check_named(request, principal, access, is_reading=is_reading(request.scope, endpoint))


def permit_role(scope: Scope, endpoint: Callable[..., Any]) -> None:
    """Let a request pass if the roles of its key allow it, whatever its body. Raises Problem."""
    access = access_of(endpoint)
    if access is None:
        raise _denied("this route declares no role, so nobody may use it: a bug of mnemolog")
    if access is OPEN or access is BETWEEN_WORKERS:
        return
    principal: Principal | None = scope.get(PRINCIPAL)
    if principal is None:
        raise Problem(HTTPStatus.UNAUTHORIZED, "nobody is known to have sent this request")
    if access.reach is Reach.USERS_OR_ALL and not scope.get("path_params") and not _users(Request(scope), {}):
        _check_role(principal, frozenset({Role.TENANT_ADMIN}))
        if principal.users is not None:
            raise _denied("the key is for some users only: say which of them")
    else:
        _check_role(principal, access.reading if is_reading(scope, endpoint) else access.changing)
    if access.reach is Reach.KEYS_USER and principal.key_id is not None and principal.users is None:
        raise _denied("a model uses this route: it takes a key for its user (`mnemolog keys create --user NAME`)")
    if principal.is_narrowed and access.reach is Reach.INSTALLATION:
        raise _denied("the key is for some users or agents only, and this is about the whole installation")


def check_owner(principal: Principal, user_id: str, agent_id: str | None) -> None:
    """Check that the key is for a user and an agent. Raises Problem."""
    if not principal.has_user(user_id):
        raise _denied(f"the key is not for the user {user_id!r}")
    if not principal.has_agent(agent_id):
        raise _denied("the key is for some agents only: name one of them" if agent_id is None else _other(agent_id))


def check_erasing(principal: Principal) -> None:
    """Check that a key may erase permanently: it is a tenant administrator's, for all agents. Raises Problem."""
    _check_role(principal, frozenset({Role.TENANT_ADMIN}))
    if principal.agents is not None:
        raise _denied("the key is for some agents only, and others may have heard the words that would be erased")


def _other(agent_id: str) -> str:
    return f"the key is not for the agent {agent_id!r}"


def _check_tenants(request: Request, principal: Principal, *, is_reading: bool) -> None:
    """Check a request for data of the tenant or of one agent. Raises Problem."""
    if not is_reading:
        raise _denied("this is about all users of the tenant: it takes a key for all users and agents")
    for agent_id in _agents(request, _body(request)):
        if not principal.has_agent(agent_id):
            raise _denied(_other(agent_id))


def _check_named(request: Request, principal: Principal, access: Access, *, is_reading: bool) -> None:
    """Check every user and agent that a request names. Raises Problem, UnknownMemory."""
    body = _body(request)
    asks_in_body = not is_reading or (request.method != "GET" and access.reach is Reach.USERS)
    is_global = (body if asks_in_body else request.query_params).get("scope") == "global"
    if is_global and not is_reading:
        raise _denied("what is for everyone takes a key for all users and agents")
    users, agents = _users(request, body), _agents(request, body)
    memory_id = request.path_params.get("memory_id")
    if not users and memory_id is None and not is_global and access.reach is not Reach.USERS_OR_ALL:
        users = [default_user(principal, access)]
    for user_id in users:
        if not principal.has_user(user_id) and not (user_id == GLOBAL_USER and is_reading):
            raise _denied(f"the key is not for the user {user_id!r}")
    for agent_id in agents:
        if not principal.has_agent(agent_id):
            raise _denied(_other(agent_id))
    if memory_id is not None:
        _check_memory(request, principal, memory_id, is_reading=is_reading)
    elif not agents and principal.agents is not None and access.tells_agents_apart:
        raise _denied("the key is for some agents only: name one of them, on a route that takes one")


def _check_memory(request: Request, principal: Principal, memory_id: str, *, is_reading: bool) -> None:
    """Check the owner of a memory. Raises UnknownMemory if it is another user's, or hidden from the agents."""
    worker = ready_worker(request)
    owner = worker.queries.owner_of(principal.tenant, memory_id)
    memory = worker.shards.state(owner).memories.get(memory_id)
    known = principal.agents is None or any(memory and memory.visible_to(agent) for agent in principal.agents)
    if not known or not (owner.is_global or principal.has_user(owner.user_id)):
        raise UnknownMemory(f"there is no memory {memory_id!r}")  # the same message as for a memory that does not exist
    if owner.is_global and not is_reading:
        raise _denied("what is for everyone takes a key for all users and agents")


def default_user(principal: Principal, access: Access) -> str:
    """Return the user of a request that names none."""
    return (access.reach is Reach.KEYS_USER and principal.only_user) or DEFAULT_USER


def _check_role(principal: Principal, roles: frozenset[Role]) -> None:
    if not roles & principal.roles:
        wanted, has = " or ".join(sorted(roles)) or "none there is", ", ".join(sorted(principal.roles))
        raise _denied(f"this takes the role {wanted}: the key {principal.key_id} has {has}")


def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body; {} if there is none, or if the route reads no body.

    Otherwise, a name in a body that no route reads would decide the access. The copy in the scope is the edge's:
    reading the request itself would consume the messages of a route that reads them.
    """
    if getattr(request.scope["route"], "body_field", None) is None:
        return {}
    try:
        body = orjson.loads(request.scope[BODY])
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def _users(request: Request, body: dict[str, Any]) -> list[str]:
    query = request.query_params
    return _texts(
        [
            request.path_params.get("user_id"),
            *query.getlist("user_id"),
            *query.getlist("device_id"),
            body.get("user_id"),
        ]
    )


def _agents(request: Request, body: dict[str, Any]) -> list[str]:
    return _texts([*request.query_params.getlist("agent_id"), body.get("agent_id")])


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _denied(detail: str) -> Problem:
    return Problem(HTTPStatus.FORBIDDEN, detail)
