"""The Python client, the tools of models and the page of operations say of each route what the route itself says."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, get_args

import pytest
from operations import PAGE, Operation, calls, commands, operation_at, operation_of, operations, page

from mnemolog import AsyncClient
from mnemolog.extensions.mcp.tools import MEMORY_TOOLS
from mnemolog.http.app import make_http
from mnemolog.http.models import responses
from mnemolog.http.tool_definitions import TOOLS
from mnemolog.http.tracing import OPERATIONS
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker

if TYPE_CHECKING:
    from mnemolog.client.call import Call
    from mnemolog.extensions.mcp.tools import RoutedTool
    from mnemolog.http.tool_definitions import Tool

WITHOUT_METHOD: Final = {
    "GET /v1/wakes/stream": "the client reads the list again and again",
    "GET /v1/changes/stream": "the client reads the list again and again",
    "GET /v1/stats": "for the console",
    "GET /api/memories": "for what speaks to Evatar",
    "GET /api/memories/stats": "for what speaks to Evatar",
    "DELETE /api/memories/{memory_id}": "for what speaks to Evatar",
    "GET /v1/admin/lag": "for the console",
    "GET /health/live": "for probes",
    "GET /health/ready": "for probes",
}
LACKING: Final = {
    "importance": {"user_id"},
    "turns": {"agent_id"},
}
"""Fields of a route that its methods cannot say."""
NOT_YET: Final = {"known_at"}
"""Fields that are refused wherever they are given."""
AS_THEY_ARE: Final = {"set_policy", "call_tool"}
"""Methods of which one argument is what the body says."""
COMPARED: Final = ("enum", "minimum", "maximum", "minItems", "maxItems", "default")


OTHERWISE: Final = {
    ("search", "recall"): "a person who looks recalls nothing",
    ("context", "recall"): "a person who looks recalls nothing",
    ("revise", "expected_version"): "there is no version 0 to expect",
    ("webhooks secret", "both_for"): "in hours",
}
"""Options whose bounds or defaults are not those of the route's field of their name."""


@pytest.fixture(scope="module")
def known() -> list[Operation]:
    return operations()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_http(Worker(from_environment({}))).openapi()


def names_in(call: Call[Any]) -> set[str]:
    """Return the names in a call's query and body."""
    return {*call.query, *(call.body if isinstance(call.body, dict) else ())}


def is_open(name: str) -> bool:
    """Return whether a method passes on what it does not name."""
    parameters = inspect.signature(getattr(AsyncClient, name)).parameters.values()
    return name in AS_THEY_ARE or any(one.kind is one.VAR_KEYWORD for one in parameters)


def test_the_page_is_what_the_code_says():
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"


def test_every_route_has_a_method_of_the_client_or_a_reason_to_have_none(known: list[Operation]):
    assert {f"{one.method} {one.path}" for one in known if not one.methods} == set(WITHOUT_METHOD)


def test_every_method_says_what_its_route_takes_and_nothing_else(known: list[Operation]):
    can_say: dict[str, set[str]] = {}
    for name, call in calls():
        operation = operation_of(known, call)
        if name not in AS_THEY_ARE and isinstance(call.body, dict | None):
            assert names_in(call) <= operation.fields, name
        can_say.setdefault(operation.handler, set()).update(operation.fields if is_open(name) else names_in(call))
    lacking = {
        name: lack for one in known for name in one.methods[:1] if (lack := one.fields - can_say[one.handler] - NOT_YET)
    }
    assert lacking == LACKING


def arguments(document: dict[str, Any], method: str, path: str) -> dict[str, dict[str, Any]]:
    """Return the schemas of what a route takes in its query and its body."""
    operation = document["paths"][path][method.lower()]
    found = {one["name"]: one["schema"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if reference := flat(body).get("$ref"):
        found |= document["components"]["schemas"][reference.rpartition("/")[2]]["properties"]
    return {name: flat(schema) for name, schema in found.items()}


def flat(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with that of its first alternative, which is what it takes where it also takes null or a text."""
    first: dict[str, Any] = schema.get("anyOf", [{}])[0]
    return schema | first


@pytest.mark.parametrize("tool", [*TOOLS, *MEMORY_TOOLS], ids=lambda tool: tool.name)
def test_a_tool_says_of_its_arguments_what_its_route_does(tool: Tool, known: list[Operation], document: dict[str, Any]):
    method, path = getattr(tool, "method", "POST"), getattr(tool, "path", f"/v1/tools/{tool.name}")
    in_path = operation_at(known, method, path).route.param_convertors
    taken = arguments(document, method, path)
    for name, argument in tool.parameters["properties"].items():
        if name in in_path:
            continue
        assert name in taken, name
        same = {word: taken[name][word] for word in COMPARED if word in argument and word in taken[name]}
        assert same == {word: argument[word] for word in same}, name


@pytest.mark.parametrize("tool", MEMORY_TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_of_its_route_what_that_does(tool: RoutedTool, known: list[Operation]):
    operation = operation_at(known, tool.method, tool.path)
    assert (tool.takes_agent, tool.takes_app) == ("agent_id" in operation.fields, "app_id" in operation.fields)
    assert tool.reads == operation.reads


def test_the_page_of_tools_names_each_of_them():
    page_of_tools = PAGE.parents[1] / "how-to" / "tools.md"
    named = page_of_tools.read_text("utf-8")
    assert [tool.name for tool in (*TOOLS, *MEMORY_TOOLS) if f"`{tool.name}`" not in named] == []


def test_what_answers_with_a_changed_memory_is_a_span_of_a_memory_operation(known: list[Operation]):
    changing = [one for one in known if not one.reads and responses.Memory in shapes(one.route.response_model)]
    assert len(changing) > 5
    assert [one.path for one in changing if (one.method, one.path) not in OPERATIONS] == []


def shapes(answer: Any) -> set[Any]:
    """Return the classes of an answer, or of the alternatives that it has, with their bases."""
    return {base for one in (answer, *get_args(answer)) for base in getattr(one, "__mro__", ())}


def test_an_option_has_the_bounds_and_the_default_of_the_route_s_field(
    known: list[Operation], document: dict[str, Any]
):
    compared, differing = 0, set()
    for name, command in commands():
        for operation in [one for one in known if name in one.commands]:
            taken = arguments(document, operation.method, operation.path)
            for option in command.params:
                field = taken.get(option.opts[0].lstrip("-").replace("-", "_"), {}) if option.opts else {}
                its = {
                    "minimum": getattr(option.type, "min", None),
                    "maximum": getattr(option.type, "max", None),
                    "default": option.to_info_dict()["default"],
                }
                both = {word for word in its if its[word] is not None and field.get(word) is not None}
                compared += len(both)
                if any(its[word] != field[word] for word in both):
                    differing.add((name, option.name))
    assert differing == set(OTHERWISE)
    assert compared > 30
