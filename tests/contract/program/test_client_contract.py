"""Both clients against a whole worker: PowerMem's three methods, the routes, and what failures become."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from contract.front_door import front_door, turn

from mnemolog import AsyncClient, Client, Conflict, MnemologError, NotFound, Refused, Unavailable
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "You are kind."},
    {"role": "user", "content": "My name is Ann. I love hiking.", "own_field": 1},
    {"role": "assistant", "content": "Nice to meet you!"},
    {"role": "user", "content": [{"type": "image_url"}]},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "content": "sunny"},
]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    """Give a client of a worker in this process."""
    async with front_door(tmp_path) as door:
        transport = httpx.ASGITransport(make_http(door.worker))
        async with AsyncClient("http://127.0.0.1", transport=transport) as client:
            yield client


async def test_a_voice_agent_adds_searches_and_reads_the_profile(memory: AsyncClient) -> None:
    added = await memory.add(CONVERSATION, user_id="u1", agent_id="luna", wait_seconds=20)
    assert len(added["accepted"]) == 3, "two messages, and the session's end"
    found = await memory.search(user_id="u1", agent_id="luna", query="hiking")
    assert any("hiking" in result["memory"] for result in found["results"])
    assert "Ann" in await memory.get_user_profile(user_id="u1", agent_id="luna")


async def test_what_is_added_has_its_metadata_and_expires_when_they_say(memory: AsyncClient) -> None:
    said = [{"role": "user", "content": "I live in Basel.", "metadata": {"of": "the agent's own"}}]
    about = {"channel": "web", "expires_at": "2090-05-01T00:00:00Z"}
    await memory.add(said, user_id="dated", session_id="s", metadata=about, wait_seconds=20)
    [found] = (await memory.memories("dated"))["items"]
    assert (found["metadata"], found["expires_at"]) == ({"channel": "web"}, "2090-05-01T00:00:00Z")


async def test_instructions_go_with_what_is_added(memory: AsyncClient) -> None:
    added = await memory.add(CONVERSATION[:2], user_id="u1", instructions="Remember the mountains.")
    assert added["accepted"]
    with pytest.raises(Refused, match="instructions"):
        await memory.add(CONVERSATION[:2], user_id="u1", instructions="x" * 4_001)


async def test_a_search_takes_filters_with_null_and_with_times(memory: AsyncClient) -> None:
    await memory.remember("likes oat milk", "filtered", metadata={"shelf": 2})
    await memory.remember("likes rye bread", "filtered")
    for filters in (
        {"metadata.shelf": None},
        {"NOT": {"metadata.shelf": 2}, "since": datetime(2020, 1, 1, tzinfo=UTC)},
    ):
        found = await memory.search(user_id="filtered", query="milk", filters=filters)
        assert [result["memory"] for result in found["results"]] == ["likes rye bread"]


async def test_the_same_context_again_adds_nothing(memory: AsyncClient) -> None:
    first = await memory.add(CONVERSATION, user_id="u1", agent_id="luna")
    again = await memory.add(CONVERSATION, user_id="u1", agent_id="luna")
    assert again["accepted"] == [item | {"known": True} for item in first["accepted"]]


async def test_nothing_to_add_asks_nobody() -> None:
    async with AsyncClient("http://127.0.0.1:9") as nowhere:
        assert await nowhere.add([], user_id="u1", agent_id="luna") == {"accepted": [], "session_id": None}
        nothing = await nowhere.add(CONVERSATION[3:], user_id="u1", agent_id="luna", session_id="s1")
        assert nothing == {"accepted": [], "session_id": "s1"}


def test_an_address_without_http_is_none() -> None:
    for client in (Client, AsyncClient):
        with pytest.raises(ValueError, match=r"'127\.0\.0\.1:8441' is no address of a server: it begins with http://"):
            client("127.0.0.1:8441")


async def test_the_routes_of_events(memory: AsyncClient) -> None:
    event_id = "a/b %"
    published = await memory.publish([turn(event_id, "I love tea."), turn(None, "I love jam.")], wait_seconds=0)
    assert published["accepted"][0]["event_id"] == event_id
    counts = await memory.drain(20)
    assert counts["observations"] == 2
    assert (await memory.event(event_id, "u1"))["state"] == "remembered"
    assert (await memory.events_status([event_id, "other"], "u1"))["unknown"] == ["other"]
    assert [t["content"] for t in (await memory.turns("s1", "u1"))["items"]] == ["I love tea.", "I love jam."]


async def test_the_routes_of_wakes(memory: AsyncClient) -> None:
    with pytest.raises(NotFound):
        await memory.wake("u1")
    configured = await memory.configure_wake(3600, "u1", "luna", query="today", memory_limit=2)
    assert await memory.wake("u1") == configured
    assert await memory.wake("u1", "luna") == configured
    for of_another in (memory.wake("u1", "nova"), memory.remove_wake("u1", "nova")):
        with pytest.raises(NotFound):
            await of_another
    assert (await memory.remove_wake("u1", "luna"))["every_seconds"] is None
    late = await memory.remind("2100-01-01T00:00:00Z", "the century", "u1", channel="telegram")
    assert (await memory.reminders("u1"))["items"] == [late]
    assert (await memory.cancel_reminder(late["reminder_id"], "u1"))["state"] == "cancelled"
    await memory.remind("2026-01-05T08:00:00Z", "call mum", "u1", "luna", key="once")
    await memory.remind("2026-01-05T08:00:00Z", "call mum", "u1", "luna", key="once")
    await memory.tick("2026-01-06T08:00:00Z", policy="wake")
    page = await memory.wakes("u1", "luna")
    assert [wake["content"] for wake in page["items"]] == ["call mum"]
    with pytest.raises(Refused, match="after: is no place in the wakes: give the `next` of the answer before"):
        await memory.wakes("u1", after="zzz")
    assert await memory.wakes("u1", after=page["next"]) == {"items": [], "next": page["next"]}


async def test_the_feed_of_changes(memory: AsyncClient) -> None:
    made = await memory.remember("likes plums", "changer")
    page = await memory.changes(user_id="changer", types=["MemoryFormed", "MemoryForgotten"])
    assert [item["memory_id"] for item in page["items"]] == [made["memory_id"]]
    assert (await memory.changes(page["next"], "changer"))["items"] == []
    with pytest.raises(Refused, match="is not of this feed: give the `next` of its last answer"):
        await memory.changes("zzz")


async def test_the_routes_of_memories(memory: AsyncClient) -> None:
    known = await memory.remember("the key is under the mat", "u1", importance=0.75)
    memory_id = known["memory_id"]
    assert (await memory.memories("u1"))["total"] == 1
    assert (await memory.memory(memory_id))["importance"] == 0.75
    revised = await memory.revise(memory_id, content="the key is on the hook", expected_version=known["version"])
    assert revised["content"] == "the key is on the hook"
    with pytest.raises(Conflict):
        await memory.revise(memory_id, content="the key is lost", expected_version=known["version"])
    assert (await memory.forget(memory_id))["status"] == "forgotten"
    assert (await memory.memories("u1"))["total"] == 0
    assert (await memory.restore(memory_id))["status"] == "active"
    assert (await memory.stats("u1"))["total"] == 1
    for name in ("red", "blue", "green"):
        await memory.remember(f"the {name} box", "u3", metadata={"colour": name})
    not_red = {"metadata.colour": {"ne": "red"}, "formed_at": {"gt": datetime(2020, 1, 1, tzinfo=UTC)}}
    assert (await memory.memories("u3", filters=not_red))["total"] == 2
    assert (await memory.query_memories("u3", not_red))["total"] == 2
    assert len((await memory.forget_memories("u3", filters=not_red, preview=True))["items"]) == 2
    assert len((await memory.forget_memories("u3", filters={"metadata.colour": "blue"}))["items"]) == 1
    assert (
        len((await memory.forget_memories("u3", filters={"metadata.colour": "green"}, forever=True))["receipts"]) == 1
    )
    assert [m["content"] for m in (await memory.memories("u3"))["items"]] == ["the red box"]
    lines = [line async for line in memory.export("u3", filters={"metadata.colour": "blue"})]
    assert [line["type"] for line in lines] == ["Memory", "MemoryFormed", "MemoryForgotten", "Exported"]
    assert (await memory.context("u3", filters={"metadata.colour": "blue"}))["total_memories"] == 0
    await memory.remember("lives in Oslo", "u2", attribute="city", value="Oslo")
    [oslo] = (await memory.entities("u2", kind="place"))["items"]
    assert (await memory.entity("u2", oslo["entity_id"]))["facts"][0]["value"] == "Oslo"
    await memory.remember("met at the sea", "u1", "aria", kind="episodic")
    assert [(await memory.stats("u1", agent))["total"] for agent in ("luna", "aria")] == [1, 2]
    assert [(await memory.episodes("u1", agent))["total"] for agent in ("luna", "aria")] == [0, 1]
    assert (await memory.forget((await memory.episodes("u1"))["items"][0]["memory_id"]))["status"] == "forgotten"
    assert "lineage" in await memory.history(memory_id)
    assert len((await memory.importance(memory_id, points=3))["points"]) == 3
    assert (await memory.episodes("u1"))["items"] == []
    assert (await memory.profile("u1"))["text"] == ""
    told = await memory.context("u1", "key", top_k=1, working_memory=[{"role": "user", "content": "where is it?"}])
    assert "the key is on the hook" in told["message"]
    assert await memory.greeting("u1") == ""
    assert (await memory.emotions("u1", since="2026-01-01"))["by_emotion"] == {}
    assert (await memory.upcoming("u1", days=7))["items"] == []
    assert (await memory.report("u1", lang="zh"))["episodes"] == 0
    assert told["working_memory"] == [{"role": "user", "content": "where is it?"}]


async def test_the_routes_of_operators(memory: AsyncClient) -> None:
    await memory.remember("the key is under the mat", "u1")
    before = await memory.digest()
    rebuilt = await memory.rebuild()
    assert rebuilt["equal"]
    assert rebuilt["digest_after"] == before["total"]
    assert (await memory.reextract())["windows"] == 0
    assert (await memory.set_policy({"never": ["salary"]}))["version"] == 1
    assert (await memory.policy(agent_id="luna"))["never"] == ["salary"]
    assert (await memory.set_policy({}))["policy_id"] is None
    webhook = await memory.add_webhook("https://receiver.invalid/", user_id="u1", types=["MemoryFormed"])
    assert (await memory.webhook(webhook["webhook_id"]))["user_id"] == "u1"
    assert (await memory.replay_webhook(webhook["webhook_id"], None))["webhook_id"] == webhook["webhook_id"]
    assert len((await memory.webhooks())["items"]) == 1
    assert (await memory.remove_webhook(webhook["webhook_id"]))["removed"]
    assert (await memory.reembed(what="forecast"))["memories"] == 0
    assert (await memory.reembed())["encoder"] == "builtin" == (await memory.reembedding())["active"]
    asked = [{"user_id": "u1", "query": "key", "expected": ["none"]}]
    assert (await memory.compare_encoders("builtin", asked))["other"]["recall_at_5"] == 0
    assert (await memory.tick("2020-01-01T00:00:00Z", policy="ladder"))["changed"] == 0
    assert {check["name"] for check in (await memory.checks())["checks"]} >= {"data directory", "log", "index"}
    assert (await memory.dead_letters())["items"] == []
    assert await memory.retry_dead_letters() == {"retried": []}
    assert "mnemolog_" in await memory.metrics()


async def test_failures_are_raised_by_what_the_caller_can_do(memory: AsyncClient) -> None:
    with pytest.raises(NotFound, match="nope"):
        await memory.event("nope", "u1")
    with pytest.raises(Refused, match="content") as refused:
        await memory.publish([{"type": "TurnRecorded", "session_id": "s", "role": "user"}])
    assert [fault["path"] for fault in refused.value.errors] == ["$[0].content"]
    assert refused.value.status == 422
    await memory.publish([turn("t-1", "one thing")])
    with pytest.raises(Conflict, match="another body"):
        await memory.publish([turn("t-1", "another thing")])
    assert issubclass(Unavailable, MnemologError)


@pytest.mark.parametrize("conversation", ["I love tea.", CONVERSATION[1], ["I love tea."]])
def test_what_is_no_list_of_messages_is_refused(conversation: Any) -> None:
    with Client("http://127.0.0.1:9") as memory, pytest.raises(Refused, match="a list of messages"):
        memory.add(conversation, user_id="u1")


async def test_a_closed_client_says_so() -> None:
    memory, awaited = Client("http://127.0.0.1:9"), AsyncClient("http://127.0.0.1:9")
    memory.close()
    await awaited.close()
    with pytest.raises(Refused, match="this client is closed"):
        memory.digest()
    with pytest.raises(Refused, match="this client is closed"):
        await awaited.digest()


def scripted(*answers: int | type[Exception]) -> tuple[Callable[[httpx.Request], httpx.Response], list[httpx.Request]]:
    """Return a server that answers with these statuses, or breaks the connection, and the requests that it got."""
    left, seen = list(answers), list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        status = left.pop(0)
        if not isinstance(status, int):
            raise httpx.ConnectError("refused")
        return httpx.Response(status, json={"detail": f"status {status}"}, headers={"Retry-After": "0"})

    return answer, seen


def test_what_is_safe_to_repeat_is_repeated_under_the_same_key() -> None:
    answer, seen = scripted(503, httpx.ConnectError, 202)
    with Client("http://mnemolog", "secret", transport=httpx.MockTransport(answer)) as memory:
        memory.publish([turn(None, "I love tea.")])
    assert len(seen) == 3
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 1
    assert {request.headers["Authorization"] for request in seen} == {"Bearer secret"}


def test_the_patience_of_a_client_ends() -> None:
    answer, seen = scripted(*[503] * 9)
    with (
        Client("http://mnemolog", retries=1, transport=httpx.MockTransport(answer)) as memory,
        pytest.raises(Unavailable, match="status 503"),
    ):
        memory.digest()
    assert len(seen) == 2


def test_what_may_not_be_repeated_is_sent_once() -> None:
    answer, seen = scripted(503, 200)
    with (
        Client("http://mnemolog", transport=httpx.MockTransport(answer)) as memory,
        pytest.raises(Unavailable),
    ):
        memory.rebuild()
    assert len(seen) == 1


async def test_the_client_without_await_does_the_same(tmp_path: Path) -> None:
    """The worker lives in this thread's loop, the client in a thread of its own."""

    class Across(httpx.BaseTransport):
        def __init__(self, inner: httpx.ASGITransport, loop: asyncio.AbstractEventLoop) -> None:
            self._inner, self._loop = inner, loop

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()

        async def _answer(self, request: httpx.Request) -> httpx.Response:
            answer = await self._inner.handle_async_request(request)
            return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

    def talk(transport: httpx.BaseTransport) -> dict[str, Any]:
        assert threading.current_thread() is not threading.main_thread()
        with Client("http://127.0.0.1", transport=transport) as memory:
            memory.add(CONVERSATION, user_id="u1", agent_id="luna", wait_seconds=20)
            assert "Ann" in memory.get_user_profile(user_id="u1", agent_id="luna")
            return memory.search("u1", "luna", "hiking")

    async with front_door(tmp_path) as door:
        across = Across(httpx.ASGITransport(make_http(door.worker)), asyncio.get_running_loop())
        found = await asyncio.to_thread(talk, across)
    assert any("hiking" in result["memory"] for result in found["results"])
