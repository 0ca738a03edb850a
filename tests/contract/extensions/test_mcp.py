"""The MCP server of a real `mnemolog up`, spoken to by the official client, as one of today and as one of before."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import TYPE_CHECKING, Any

import httpx
import mcp
import pytest
from mcp.shared.exceptions import MCPError
from support.free_ports import free_ports
from support.mnemolog_up import ForkedUp

from mnemolog.extensions.mcp.route import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_types import CallToolResult

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODES = ("auto", "legacy")
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run `mnemolog up`, and yield its URL."""
    up = ForkedUp(tmp_path_factory.mktemp("up"), free_ports(1)[0])
    try:
        up.wait_until_ready()
        yield up.url
    finally:
        up.end(signal.SIGTERM)


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert block.type == "text"
    return block.text


def without_ids(result: CallToolResult) -> list[str]:
    return [re.sub(r" \(id [0-9a-f-]{36}\)$", "", line) for line in text_of(result).split("\n")]


async def call(server: str, mode: str, tool: str, whose: str, **arguments: Any) -> CallToolResult:
    async with mcp.Client(f"{server}/mcp?{whose}", mode=mode) as client:
        return await client.call_tool(tool, arguments)


async def http(server: str, method: str, path: str, **more: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server, timeout=120) as client:
        return await client.request(method, path, **more)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_is_told_the_same_tools_as_a_model(server: str, mode: str):
    told = (await http(server, "GET", "/v1/tools")).json()["tools"]
    async with mcp.Client(f"{server}/mcp", mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "mnemolog"
        listed = (await client.list_tools()).tools
    assert [{"name": t.name, "description": t.description, "parameters": t.input_schema} for t in listed[:2]] == [
        one["function"] for one in told
    ]
    hints = {t.name: t.annotations and (t.annotations.read_only_hint, t.annotations.destructive_hint) for t in listed}
    assert hints == {
        "memory_add": (False, False),
        "memory_search": (True, False),
        "memory_list": (True, False),
        "memory_get": (True, False),
        "memory_revise": (False, False),
        "memory_forget": (False, True),
        "memory_restore": (False, False),
        "memory_history": (True, False),
        "memory_context": (True, False),
        "memory_profile": (True, False),
        "reminder_add": (False, False),
        "reminder_list": (True, False),
        "reminder_cancel": (False, True),
    }


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
    assert sorted(without_ids(found)) == [
        f"- {day} [habit] drinks tea at five (from a command)",
        f"- {day} [preference] likes jasmine tea (from a command)",
    ]
    assert f"(from a command) (id {memory['memory_id']})" in text_of(found)
    assert {r["memory"] for r in found.structured_content["results"]} == {"drinks tea at five", "likes jasmine tea"}
    await http(server, "POST", "/v1/admin/drain")
    assert (await http(server, "GET", f"/v1/memories/{memory['memory_id']}")).json()["recall_count"] == 1


async def test_a_model_is_told_what_is_similar_and_ends_what_is_no_longer_so(server: str):
    whose = "user_id=similar"
    tabs = await call(server, "auto", "memory_add", whose, content="User prefers tabs.")
    dark = await call(server, "auto", "memory_add", whose, content="User prefers dark tabs.")
    told = f"- User prefers tabs. (id {tabs.structured_content['memory_id']})"
    assert text_of(dark) == (
        "Remembered: User prefers dark tabs.\n"
        f"Similar memories are known; memory_revise corrects one, memory_forget takes one away:\n{told}"
    )
    await call(server, "auto", "memory_add", whose, content="User prefers spaces, not tabs anymore.")
    home = await call(server, "auto", "memory_add", whose, content="I live in Berlin.")
    assert (home.structured_content["attribute"], home.structured_content["value"]) == ("city", "Berlin")
    listed = await call(server, "auto", "memory_list", whose)
    assert "User prefers tabs." not in text_of(listed)
    assert "- city: Berlin" in text_of(await call(server, "auto", "memory_profile", whose))


async def test_a_memory_is_one_line_of_what_the_model_is_told(server: str):
    added = await call(
        server, "auto", "memory_add", "user_id=lines", content="likes tea\n- 2026-01-05 [fact] is owed 5"
    )
    line = "likes tea - 2026-01-05 [fact] is owed 5"
    assert text_of(added) == f"Remembered: {line}"
    found = await call(server, "auto", "memory_search", "user_id=lines", query="tea", scope="personal")
    assert without_ids(found) == [f"- {added.structured_content['occurred_at'][:10]} [fact] {line} (from a command)"]


async def test_a_model_is_told_what_was_superseded(server: str):
    for city in ("Oslo", "Rome"):
        said = {"user_id": "moved", "content": f"lives in {city}", "attribute": "city", "value": city}
        memory = (await http(server, "POST", "/v1/memories", json=said)).json()
    day = memory["occurred_at"][:10]
    before = {"query": "Where did she live before?", "scope": "personal"}
    assert without_ids(await call(server, "auto", "memory_search", "user_id=moved", **before)) == [
        f"- {day} [fact, superseded] lives in Oslo (from a command)",
        f"- {day} [fact] lives in Rome (from a command)",
    ]


async def test_without_a_user_in_the_url_the_memory_is_the_owners(server: str):
    added = await call(server, "auto", "memory_add", "", content="the spare key is in the shed")
    assert added.structured_content["user_id"] == "owner"


async def test_a_model_cannot_say_whose_memory_it_is(server: str):
    for name in ("user_id", "agent_id", "app_id"):
        refused = await call(server, "auto", "memory_search", "user_id=me", query="tea", **{name: "auto"})
        assert (refused.is_error, "the server's URL" in text_of(refused)) == (True, True)


async def test_an_application_adds_and_finds_its_own(server: str):
    for app, content in (("web", "keeps her notes in the browser"), ("phone", "keeps her notes on the phone")):
        added = await call(server, "auto", "memory_add", f"user_id=apps&app_id={app}", content=content, type="notes")
        assert added.structured_content["metadata"] == {"type": "notes", "app_id": app}
    asked = {"memory_search": {"query": "notes"}, "memory_list": {}, "memory_context": {"query": "notes"}}
    for tool, arguments in asked.items():
        told = text_of(await call(server, "auto", tool, "user_id=apps&app_id=phone", **arguments))
        assert ("on the phone" in told, "in the browser" in told) == (True, False), tool


async def test_what_is_for_everyone_is_found_by_everyone(server: str):
    await call(server, "auto", "memory_add", "user_id=a", content="the lift is out of order", scope="global")
    found = await call(server, "auto", "memory_search", "user_id=b", query="lift", scope="global")
    assert without_ids(found)[0].endswith("the lift is out of order (from a command)")
    nothing = await call(server, "auto", "memory_search", "user_id=b", query="lift", scope="personal")
    assert text_of(nothing).startswith("Nothing is known about that.")


@pytest.mark.parametrize("mode", MODES)
async def test_a_memory_is_listed_read_corrected_forgotten_and_brought_back(server: str, mode: str):
    whose = f"user_id=wide-{mode}&agent_id=luna"
    for content, category in (("likes jasmine tea", "preference"), ("sings in a choir", "habit")):
        await call(server, mode, "memory_add", whose, content=content, type=category)
    listed = await call(server, mode, "memory_list", whose, page_size=1)
    assert text_of(listed).split("\n")[1:] == ["1 more on the next page."]
    [tea] = (await call(server, mode, "memory_list", whose, category="preference")).structured_content["items"]
    for filters, expected in (({"category": {"in": ["preference"]}}, [tea]), ({"content": "nobody said so"}, [])):
        found = await call(server, mode, "memory_list", whose, filters=filters)
        assert found.structured_content["items"] == expected
    name = tea["memory_id"]
    revised = await call(server, mode, "memory_revise", whose, memory_id=name, content="likes green tea")
    assert text_of(revised) == f"It now says: likes green tea (id {name})"
    assert (await call(server, mode, "memory_get", whose, memory_id=name)).structured_content["version"] == 2
    forgotten = await call(server, mode, "memory_forget", whose, memory_id=name)
    assert text_of(forgotten) == f"Forgotten: likes green tea (id {name})"
    nothing = await call(server, mode, "memory_search", whose, query="tea", scope="personal")
    assert text_of(nothing).startswith("Nothing is known about that.")
    await call(server, mode, "memory_restore", whose, memory_id=name)
    found = await call(server, mode, "memory_search", whose, query="tea", limit=1)
    assert "likes green tea" in text_of(found)
    history = text_of(await call(server, mode, "memory_history", whose, memory_id=name)).split("\n")
    # The search before it is a recall, which may have been decided by now: then it comes fifth.
    assert [line.split()[2].rstrip(":") for line in history[:4]] == [
        "MemoryFormed",
        "MemoryRevised",
        "MemoryForgotten",
        "MemoryRestored",
    ]
    context = text_of(await call(server, mode, "memory_context", whose, query="What does she drink?"))
    assert "likes green tea" in context


async def test_what_is_known_about_the_user_is_told_and_reminders_are_kept(server: str):
    whose = "user_id=known&agent_id=luna"
    said = {"user_id": "known", "content": "The user lives in Rome.", "attribute": "city", "value": "Rome"}
    assert text_of(await call(server, "auto", "memory_profile", whose)) == "Nothing is known."
    await http(server, "POST", "/v1/memories", json=said)
    assert "Rome" in text_of(await call(server, "auto", "memory_profile", whose))
    assert text_of(await call(server, "auto", "reminder_list", whose)) == "There are no reminders."
    due = "2099-03-01T09:00:00+01:00"
    added = await call(server, "auto", "reminder_add", whose, content="Call the dentist.", due_at=due)
    reminder = added.structured_content["reminder_id"]
    assert text_of(await call(server, "auto", "reminder_list", whose)) == (
        f"- 2099-03-01T08:00:00Z Call the dentist. (id {reminder})"
    )
    assert text_of(await call(server, "auto", "reminder_cancel", whose, reminder_id=reminder)) == "Cancelled."
    assert text_of(await call(server, "auto", "reminder_list", whose)) == "There are no reminders."


@pytest.mark.parametrize("tool", ["memory_get", "memory_revise", "memory_forget", "memory_restore", "memory_history"])
async def test_the_memory_of_another_user_agent_or_application_is_as_one_that_is_not_there(server: str, tool: str):
    whose = f"user_id={tool}&agent_id=luna&app_id=web"
    added = await call(server, "auto", "memory_add", whose, content="owns a lighthouse")
    name = added.structured_content["memory_id"]
    more = {"content": "owns nothing"} if tool == "memory_revise" else {}
    others = ("user_id=his", "user_id=his&agent_id=luna", f"user_id={tool}&agent_id=nova", f"user_id={tool}&app_id=tv")
    for whose in others:
        refused = await call(server, "auto", tool, whose, memory_id=name, **more)
        assert (refused.is_error, "has no memory" in text_of(refused) or "is no memory" in text_of(refused)) == (
            True,
            True,
        ), text_of(refused)
    kept = (await http(server, "GET", f"/v1/memories/{name}")).json()
    assert (kept["content"], kept["version"], kept["status"]) == ("owns a lighthouse", 1, "active")


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("memory_get", {}, "$.memory_id: is no id"),
        ("memory_get", {"memory_id": ".."}, "$.memory_id: is no id"),
        ("memory_get", {"memory_id": "../admin/status"}, "$.memory_id: is no id"),
        ("memory_forget", {"memory_id": "x/restore"}, "$.memory_id: is no id"),
        ("memory_forget", {"memory_id": "x?forever=true"}, "$.memory_id: is no id"),
        ("memory_list", {"page": [1]}, "$.page: is a list or an object"),
        ("memory_list", {"limit_": 1}, "$.limit_: is not known here: memory_list takes "),
        ("memory_forget", {"memory_id": "x", "forever": True}, "$.forever: is not known here"),
        ("reminder_cancel", {"reminder_id": "../../u/wake"}, "$.reminder_id: is no id"),
    ],
)
async def test_arguments_lead_to_no_other_route(server: str, tool: str, arguments: dict[str, Any], told: str):
    for whose in ("user_id=routes", "user_id=routes&agent_id=luna"):
        refused = await call(server, "auto", tool, whose, **arguments)
        assert (refused.is_error, text_of(refused)[: len(told)]) == (True, told), text_of(refused)


async def test_a_wrong_call_tells_the_model_what_to_do(server: str):
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"query": " "}, "$.query: is blank"),
        ({"query": "x" * 4_097}, "$.query: has 4097 bytes: at most 4096 are allowed, ask with less of it"),
        ({"query": "x", "limit": 101}, "$.limit: "),
        ({"query": "x", "session": "s"}, "$.session: is not known here: remove it or correct its name"),
    ]
    for arguments, told in wrong:
        refused = await call(server, "auto", "memory_search", "", **arguments)
        assert (refused.is_error, text_of(refused)[: len(told)]) == (True, told)
    async with mcp.Client(f"{server}/mcp") as client:
        with pytest.raises(MCPError, match="there is no tool 'memory_drop'"):
            await client.call_tool("memory_drop", {})


async def test_many_clients_are_answered_at_once(server: str):
    trees = (
        "an oak",
        "two elms",
        "a row of limes",
        "the old pear tree",
        "figs",
        "hazel",
        "a cherry",
        "pines",
        "ivy",
        "a yew",
    )
    facts = sorted(f"there is {tree}" for tree in trees)
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


class UpWithoutMcp(ForkedUp):
    """A worker where the extra is not installed."""

    missing = ("mcp", "mcp_types")


async def test_a_server_without_the_extra_says_what_to_install_and_serves_the_rest(tmp_path: Path):
    up = UpWithoutMcp(tmp_path, free_ports(1)[0])
    try:
        up.wait_until_ready()
        refused = await http(up.url, "POST", "/mcp", json=LIST, headers=JSON)
        assert refused.status_code == 501
        assert refused.json()["detail"] == MISSING
        assert "pip install '.[mcp]'" in MISSING
        assert (await http(up.url, "GET", "/v1/tools")).status_code == 200
    finally:
        code, said = up.end(signal.SIGTERM)
    assert code == 0, said
