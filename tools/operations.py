"""Writes docs/reference/operations.md: who may call each route, and which methods, commands and tools call it.

The table is derived from the code, so that it needs no care of its own. The routes give their names, roles and fields.
A method of the client leads to the route of its call, a command to the routes of the methods that it calls, and a tool
to its own route. `tests/unit/repository/test_operations.py` compares what these places say about the same fields.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from fastapi.routing import APIRoute
from starlette.routing import Match
from typer.main import get_command

from mnemolog import AsyncClient
from mnemolog.cli.program import program
from mnemolog.client.exchange import export_call
from mnemolog.http.app import make_http
from mnemolog.http.mcp.tools import MEMORY_TOOLS
from mnemolog.http.permissions import Access, Reach, access_of, is_reading
from mnemolog.http.tool_definitions import TOOLS
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mnemolog.client.call import Call
    from mnemolog.http.routing import _ProcessRoute

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "reference" / "operations.md"
HEAD: Final = """# Operations

`make generate` writes this page from the code: every route of the [HTTP reference](http.md), the roles one of which a
key must have, the function that answers, and the methods of the [Python client](python.md), the
[commands](command-line.md) and the tools of models and [MCP](../how-to/tools.md) that ask it. To erase memories by
`forever=true` takes the role `tenant-admin`.

| route | roles | answered by | client | command | tool |
|---|---|---|---|---|---|
"""
FILTER: Final = {"category": "fact"}
EXAMPLES: Final = {
    "Sequence[str]": ["x"],
    "Sequence": [FILTER],
    "Iterable": [{"role": "user", "content": "I love tea."}],
    "Mapping": FILTER,
    "bool": True,
    "int": 1,
    "float": 1.0,
}
"""Example arguments by the beginning of their annotation; for all others, the parameter's name is the example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A route of the OpenAPI document, and the names of what calls it."""

    method: str
    path: str
    route: APIRoute
    methods: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)

    @property
    def handler(self) -> str:
        """The function that answers, with its module's name."""
        endpoint = self.route.endpoint
        return f"{endpoint.__module__}.{endpoint.__name__}"

    @property
    def access(self) -> Access:
        """Who may call it. Raises ValueError if its function declares no access."""
        access = access_of(self.route.endpoint)
        if access is None:
            raise ValueError(f"{self.handler} declares no access")
        return access

    @property
    def roles(self) -> list[str]:
        """The roles one of which a key must have; none for an open route."""
        return sorted(self.access.reading if self.reads else self.access.changing)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return is_reading({"type": "http", "method": self.method}, self.route.endpoint)

    @property
    def is_of_all_users(self) -> bool:
        """Whether it can be called without a user, for all users of the tenant."""
        return self.access.reach is Reach.USERS_OR_ALL and not self.route.param_convertors

    @property
    def fields(self) -> frozenset[str]:
        """The fields that a request can have in its query and its body."""
        body = self.route.body_field
        taken = None if body is None else body.field_info.annotation
        models = [one for one in (taken, *get_args(taken)) if hasattr(one, "model_fields")]
        query = cast("_ProcessRoute", self.route).documented_query
        return frozenset([*query, *(name for model in models for name in model.model_fields)])

    @property
    def row(self) -> str:
        """The operation as a row of the page."""
        module, _, name = self.handler.rpartition(".")
        cells = [
            f"`{self.method} {self.path}`",
            f"{' or '.join(self.roles)}{'; of all users tenant-admin' * self.is_of_all_users}",
            f"`{name}` in `{module.removeprefix('mnemolog.http.')}`",
            *(", ".join(f"`{one}`" for one in names) for names in (self.methods, self.commands, self.tools)),
        ]
        return f"| {' | '.join(cells)} |"


def operations() -> list[Operation]:
    """Return an operation for each route of the OpenAPI document, in its order."""
    app = make_http(Worker(from_environment({})))
    routes = [route for route in app.router.routes if isinstance(route, APIRoute) and route.include_in_schema]
    found = [
        Operation(method=method, path=route.path_format, route=route)
        for route in routes
        for method in sorted(route.methods or ())
    ]
    for name, call in calls():
        operation_of(found, call).methods.append(name)
    for name, command in commands():
        used = methods_of(command)
        for operation in found:
            if used & set(operation.methods):
                operation.commands.append(name)
    for tool in TOOLS:
        operation_at(found, "POST", f"/v1/tools/{tool.name}").tools.append(tool.name)
    for routed in MEMORY_TOOLS:
        operation_at(found, routed.method, routed.path).tools.append(routed.name)
    return found


def calls() -> Iterator[tuple[str, Call[Any]]]:
    """Yield the name and an example call of each method of the client; of `call_tool`, one call for each tool."""
    yield "export", export_call("u1", "personal", FILTER, "s1", "a1")
    for name in dir(AsyncClient):
        build = getattr(getattr(AsyncClient, name), "__wrapped__", None)
        if not name.startswith("_") and build is not None:
            parameters = inspect.signature(build).parameters.values()
            given = {one.name: _example(one) for one in parameters if one.kind is not one.VAR_KEYWORD}
            for more in [{"name": tool.name} for tool in TOOLS] if name == "call_tool" else [{}]:
                yield name, build(**given | more)


def _example(parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - whatever it takes
    kind = str(parameter.annotation)
    return next((example for word, example in EXAMPLES.items() if kind.startswith(word)), parameter.name)


def operation_of(known: list[Operation], call: Call[Any]) -> Operation:
    """Return the operation that answers a call. Raises ValueError if no route of the document does."""
    scope = {"type": "http", "method": call.method, "path": call.path, "root_path": "", "headers": []}
    for operation in known:
        if operation.method == call.method and operation.route.matches(scope)[0] is Match.FULL:
            return operation
    raise ValueError(f"no route answers {call.method} {call.path}")


def operation_at(known: list[Operation], method: str, path: str) -> Operation:
    """Return the operation of a route. Raises StopIteration if there is none."""
    return next(one for one in known if (one.method, one.path) == (method, path))


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command of the program with its name."""
    left = [("", get_command(program))]
    while left:
        name, command = left.pop(0)
        inner = getattr(command, "commands", {})
        left = [(f"{name} {word}".strip(), one) for word, one in inner.items()] + left
        if not inner:
            yield name, command


def methods_of(command: Any) -> set[str]:  # noqa: ANN401 - typer does not say which of click's classes it is
    """Return the methods of the client that a command calls; none if it calls no worker."""
    start = inspect.getclosurevars(inspect.unwrap(command.callback)).nonlocals.get("start")
    if start is None:
        return set()
    return _methods_called(inspect.getclosurevars(start).nonlocals.get("run", start))  # as cli/invocation.py adds them


def _methods_called(function: Callable[..., Any]) -> set[str]:
    """Return the methods of `client` that a function calls, directly or through functions of its module."""
    found, left, seen = set[str](), [function], set[str]()
    while left:
        one = left.pop()
        seen.add(one.__name__)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(one)))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "client":
                found.add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in seen:
                other = one.__globals__.get(node.func.id)
                if inspect.isfunction(other) and other.__module__ == function.__module__:
                    left.append(other)
    return found


def page() -> str:
    """Return the text of the page."""
    return HEAD + "".join(f"{operation.row}\n" for operation in operations())


def main() -> int:
    """Write the page and print its name, if it has changed; return the exit code."""
    text = page()
    if not PAGE.exists() or PAGE.read_text("utf-8") != text:
        PAGE.write_text(text, "utf-8")
        print(PAGE.relative_to(ROOT).as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main())
