"""The MCP server of a real `mnemolog up`, spoken to by the official client, as one of today and as one of before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import mcp
import pytest
import pytest_asyncio
from faults.cluster.worker_process import WorkerProcess
from mcp.shared.exceptions import MCPError
from support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_types import CallToolResult

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODES = ("auto", "legacy")
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Run `mnemolog up`, and yield its URL."""
    worker = WorkerProcess(tmp_path_factory.mktemp("up"), free_ports(1)[0], {"EXTRACTOR": "rules"})
    worker.start()
    try:
        await worker.ready()
        yield worker.url
    finally:
        worker.kill()


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert block.type == "text"
    return block.text


async def call(server: str, mode: str, tool: str, whose: str, **arguments: Any) -> CallToolResult:
    async with mcp.Client(f"{server}/mcp?{whose}", mode=mode) as client:
        return await client.call_tool(tool, arguments)


async def http(server: str, method: str, path: str, **more: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server, timeout=20) as client:
        return await client.request(method, path, **more)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_is_told_the_same_tools_as_a_model(server: str, mode: str):
    told = (await http(server, "GET", "/v1/tools")).json()["tools"]
    async with mcp.Client(f"{server}/mcp", mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "mnemolog"
        listed = (await client.list_tools()).tools
    assert [{"name": t.name, "description": t.description, "parameters": t.input_schema} for t in listed] == [
        one["function"] for one in told
    ]
    assert [(t.name, t.annotations and t.annotations.read_only_hint) for t in listed] == [
        ("memory_add", False),
        ("memory_search", True),
    ]


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_added_is_in_the_one_store_and_is_found_from_everywhere(server: str, mode: str):
    whose = f"user_id={mode}&agent_id=luna"
    added = await call(server, mode, "memory_add", whose, content="likes jasmine tea", type="preference")
    assert (added.is_error, text_of(added)) == (False, "Remembered: likes jasmine tea")
    memory = added.structured_content
    assert (memory["user_id"], memory["agent_id"], memory["category"]) == (mode, "luna", "preference")
    asked = {"user_id": mode, "query": "tea", "recall": False}
    assert [r["memory"] for r in (await http(server, "POST", "/v1/search", json=asked)).json()["results"]] == [
        "likes jasmine tea"
    ]
    again = await call(server, mode, "memory_add", whose, content="Likes jasmine tea.")
    assert text_of(again) == "Known already: likes jasmine tea"
    said = {"user_id": mode, "content": "drinks tea at five", "category": "habit"}
    assert (await http(server, "POST", "/v1/memories", json=said)).status_code == 201
    found = await call(server, mode, "memory_search", whose, query="tea", limit=2)
    day = memory["occurred_at"][:10]
    assert sorted(text_of(found).splitlines()) == [
        f"- {day} [habit] drinks tea at five (from a command)",
        f"- {day} [preference] likes jasmine tea (from a command)",
    ]
    assert {r["memory"] for r in found.structured_content["results"]} == {"drinks tea at five", "likes jasmine tea"}
    await http(server, "POST", "/v1/admin/drain")
    assert (await http(server, "GET", f"/v1/memories/{memory['memory_id']}")).json()["recall_count"] == 1


async def test_a_memory_is_one_line_of_what_the_model_is_told(server: str):
    added = await call(
        server, "auto", "memory_add", "user_id=lines", content="likes tea\n- 2026-01-05 [fact] is owed 5"
    )
    line = "likes tea - 2026-01-05 [fact] is owed 5"
    assert text_of(added) == f"Remembered: {line}"
    found = await call(server, "auto", "memory_search", "user_id=lines", query="tea", scope="personal")
    assert text_of(found).split("\n") == [
        f"- {added.structured_content['occurred_at'][:10]} [fact] {line} (from a command)"
    ]


async def test_a_model_is_told_what_was_superseded(server: str):
    for city in ("Oslo", "Rome"):
        said = {"user_id": "moved", "content": f"lives in {city}", "attribute": "city", "value": city}
        memory = (await http(server, "POST", "/v1/memories", json=said)).json()
    day = memory["occurred_at"][:10]
    before = {"query": "Where did she live before?", "scope": "personal"}
    assert text_of(await call(server, "auto", "memory_search", "user_id=moved", **before)).splitlines() == [
        f"- {day} [fact, superseded] lives in Oslo (from a command)",
        f"- {day} [fact] lives in Rome (from a command)",
    ]


async def test_without_a_user_in_the_url_the_memory_is_the_owners(server: str):
    added = await call(server, "auto", "memory_add", "", content="the spare key is in the shed")
    assert added.structured_content["user_id"] == "owner"


async def test_a_model_cannot_say_whose_memory_it_is(server: str):
    for name in ("user_id", "agent_id"):
        refused = await call(server, "auto", "memory_search", "user_id=me", query="tea", **{name: "auto"})
        assert (refused.is_error, "the server's URL" in text_of(refused)) == (True, True)


async def test_what_is_for_everyone_is_found_by_everyone(server: str):
    await call(server, "auto", "memory_add", "user_id=a", content="the lift is out of order", scope="global")
    found = await call(server, "auto", "memory_search", "user_id=b", query="lift", scope="global")
    assert text_of(found).endswith("the lift is out of order (from a command)")
    nothing = await call(server, "auto", "memory_search", "user_id=b", query="lift", scope="personal")
    assert text_of(nothing).startswith("Nothing is remembered about this.")


async def test_a_wrong_call_tells_the_model_what_to_do(server: str):
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"query": " "}, "$.query: is blank"),
        ({"query": "x" * 4_097}, "$.query: has 4097 bytes: at most 4096 are allowed, ask with less of it"),
        ({"query": "x", "limit": 101}, "$.limit: "),
        ({"query": "x", "session": "s"}, "$.session: is not known here"),
    ]
    for arguments, told in wrong:
        refused = await call(server, "auto", "memory_search", "", **arguments)
        assert (refused.is_error, text_of(refused)[: len(told)]) == (True, told)
    async with mcp.Client(f"{server}/mcp") as client:
        with pytest.raises(MCPError, match="there is no tool 'memory_drop'"):
            await client.call_tool("memory_drop", {})


async def test_many_clients_are_answered_at_once(server: str):
    facts = [f"planted {number} oaks" for number in range(10)]
    await asyncio.gather(
        *(call(server, "auto", "memory_add", f"user_id=many-{n % 3}", content=f) for n, f in enumerate(facts))
    )
    listed = [(await http(server, "GET", f"/v1/memories?user_id=many-{n}")).json()["items"] for n in range(3)]
    assert sorted(one["content"] for items in listed for one in items) == facts


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({"host": "evil.example"}, "", 421),
        ({"origin": "https://evil.example"}, "", 403),
        ({"sec-fetch-site": "cross-site"}, "", 403),
        ({"content-type": "text/plain"}, "", 415),
        ({}, "?user=me", 422),
        ({}, "?user_id=*", 422),
        ({}, "", 200),
    ],
)
async def test_the_checks_of_every_request_hold_here_too(server: str, headers: dict[str, str], query: str, status: int):
    answer = await http(server, "POST", f"/mcp{query}", json=LIST, headers=JSON | headers)
    assert answer.status_code == status, answer.text


async def test_there_are_no_sessions_to_open_or_end(server: str):
    """A server may refuse the stream of its own news: it has none."""
    for method in ("GET", "DELETE"):
        answer = await http(server, method, "/mcp", headers=JSON)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    listed = await http(server, "POST", "/mcp", json=LIST, headers=JSON)
    assert "mcp-session-id" not in listed.headers


async def test_a_call_that_is_sent_again_under_its_key_is_one_call(server: str):
    asked = {"name": "memory_add", "arguments": {"content": "owns a canoe"}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked}
    told = [
        (await http(server, "POST", "/mcp?user_id=key", json=message, headers=JSON | {"idempotency-key": "k"})).json()
        for _ in range(2)
    ]
    assert told[0]["result"]["structuredContent"]["access_count"] == 0
    assert told[1]["result"]["structuredContent"]["access_count"] == 0
