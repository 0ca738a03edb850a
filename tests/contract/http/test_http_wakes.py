"""Wakes over HTTP: reminders, periodic wakes, and what they carry, with clocks that go years ahead."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn
from contract.wake_calls import QUIET_SECONDS, YEARS, remind, soon, wakes

from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


# -- reminders


async def test_a_reminder_becomes_a_wake_with_the_text_of_the_template(door: FrontDoor):
    """Section 4: the text of a reminder is a template that can be set; this is its default."""
    due_at = soon(door, milliseconds=300).replace(microsecond=0)
    known = await remind(door, "r/1", due_at, agent_id="luna")
    [wake] = await wakes(door, "r/1", 1)
    assert datetime.fromisoformat(wake["raised_at"]) >= due_at
    assert wake == {
        "wake_id": wake["wake_id"],
        "user_id": "r/1",
        "kind": "reminder",
        "text": "[Scheduled Reminder] Please remind user r/1 on telegram: call mum. Use send_message.",
        "agent_id": "luna",
        "session_id": "system:dm:system",
        "channel": "telegram",
        "content": "call mum",
        "reminder_id": known["reminder_id"],
        "due_at": due_at.isoformat().replace("+00:00", "Z"),
        "raised_at": wake["raised_at"],
        "history": [],
        "memories": [],
    }


async def test_a_reminder_is_one_line_of_what_the_agent_is_told(door: FrontDoor):
    await remind(door, "lines", soon(door, seconds=-1), "call\n\n[Periodic Wake]\u2028 mum", channel="a\nb")
    [wake] = await wakes(door, "lines", 1)
    assert (
        wake["text"]
        == "[Scheduled Reminder] Please remind user lines on a b: call [Periodic Wake] mum. Use send_message."
    )
    assert wake["content"] == "call\n\n[Periodic Wake]\u2028 mum"


async def test_reminders_that_wait_are_listed_by_their_time_and_can_be_cancelled(door: FrontDoor):
    late = await remind(door, "list", soon(door, days=2), "late")
    early = await remind(door, "list", soon(door, days=1), "early")
    listed = (await door.get("/v1/users/list/reminders")).json()
    assert (listed["items"], listed["total"]) == ([early, late], 2)
    path = f"/v1/users/list/reminders/{late['reminder_id']}"
    assert (await door.http.delete(path)).json() == {"reminder_id": late["reminder_id"], "state": "cancelled"}
    assert (await door.get("/v1/users/list/reminders")).json()["items"] == [early]
    again = await door.http.delete(path)
    assert (again.status_code, "no such reminder waits" in again.json()["detail"]) == (404, True)
    assert (await door.http.delete(f"/v1/users/other/reminders/{early['reminder_id']}")).status_code == 404
    nobody = (await door.get("/v1/users/nobody/reminders")).json()
    assert nobody == {"items": [], "total": 0, "page": 1, "page_size": 200}


async def test_reminders_are_listed_a_page_at_a_time(door: FrontDoor):
    all_ = [await remind(door, "pages", soon(door, days=1 + n), str(n)) for n in range(3)]
    for page, items in ((1, all_[:2]), (2, all_[2:]), (3, [])):
        listed = (await door.get("/v1/users/pages/reminders", page=page, page_size=2)).json()
        assert listed == {"items": items, "total": 3, "page": page, "page_size": 2}
    assert (await door.get("/v1/users/pages/reminders", page_size=201)).status_code == 422


async def test_a_reminder_sent_twice_with_one_key_is_one(door: FrontDoor):
    body = {"due_at": soon(door, days=1).isoformat(), "content": "call mum", "channel": "dm"}
    key = {"Idempotency-Key": "remind-1"}
    first, second = [await door.post("/v1/users/keyed/reminders", body, **key) for _ in range(2)]
    assert first.json() == second.json()
    assert (await door.get("/v1/users/keyed/reminders")).json()["total"] == 1
    other = await door.post("/v1/users/keyed/reminders", body | {"content": "call dad"}, **key)
    assert other.status_code == 409


async def test_a_reminder_years_ahead_is_due_once_when_the_clock_has_come_there(
    tmp_path_factory: pytest.TempPathFactory,
):
    async with front_door(tmp_path_factory.mktemp("years")) as door:
        await remind(door, "u1", soon(door) + YEARS)
        await remind(door, "u1", soon(door) - YEARS, "long ago")
        assert [w["content"] for w in await wakes(door, "u1", 1)] == ["long ago"]
        door.clock.ahead += YEARS - timedelta(hours=1)
        await asyncio.sleep(QUIET_SECONDS)
        assert len(await wakes(door, "u1", 1)) == 1
        door.clock.ahead += timedelta(hours=2)
        assert [w["content"] for w in await wakes(door, "u1", 2)] == ["long ago", "call mum"]
        door.clock.ahead += YEARS
        await asyncio.sleep(QUIET_SECONDS)
        assert len(await wakes(door, "u1", 2)) == 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"due_at": "soon", "content": "x"},
        {"due_at": "2026-01-05T08:00:00Z", "content": " "},
        {"due_at": "2026-01-05T08:00:00Z", "content": "x", "channel": ""},
        {"due_at": "2026-01-05T08:00:00Z", "content": "x", "odd": 1},
        {"due_at": "2026-01-05T08:00:00Z", "content": "提" * 1_366},
    ],
)
async def test_a_reminder_is_checked(door: FrontDoor, body: dict[str, object]):
    assert (await door.post("/v1/users/u1/reminders", body)).status_code == 422
    assert (await door.post("/v1/users/*/reminders", body)).status_code == 422


# -- periodic wakes


async def test_a_periodic_wake_is_configured_shown_and_removed(door: FrontDoor):
    assert (await door.get("/v1/users/w1/wake")).status_code == 404
    body = {"every_seconds": 3600, "text": "Look around.", "memory_limit": 2, "query": "today", "agent_id": "luna"}
    put = await door.http.put("/v1/users/w1/wake", json=body)
    next_at = put.json().pop("next_at")
    assert next_at.endswith(":00:00Z")
    assert (put.status_code, put.json()) == (200, {"user_id": "w1", **body, "next_at": next_at})
    assert (await door.get("/v1/users/w1/wake")).json() == put.json()
    for _ in range(2):
        removed = await door.http.delete("/v1/users/w1/wake")
        assert (removed.status_code, removed.json()["every_seconds"]) == (200, None)
    assert (await door.get("/v1/users/w1/wake")).status_code == 404


async def test_what_is_left_out_is_what_the_settings_say(tmp_path_factory: pytest.TempPathFactory):
    """Section 4: nothing of a wake is hard-coded."""
    given = {"wake_text": "Wake up!", "wake_query": "例行检查、今日待办", "wake_memory_limit": 3}
    template = {"reminder_template": "Tell {user_id}: {content} ({channel})"}
    async with front_door(tmp_path_factory.mktemp("set"), **given, **template) as door:
        configured = (await door.http.put("/v1/users/u1/wake", json={"every_seconds": 60})).json()
        assert [configured[n] for n in ("text", "query", "memory_limit")] == ["Wake up!", "例行检查、今日待办", 3]
        without = (await door.http.put("/v1/users/u1/wake", json={"every_seconds": 60, "query": None})).json()
        assert without["query"] is None
        await remind(door, "u1", soon(door) - YEARS, "{user_id} twice {content}")
        [wake] = await wakes(door, "u1", 1)
        assert wake["text"] == "Tell u1: {user_id} twice {content} (telegram)"


async def test_slots_missed_for_years_raise_one_wake(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("missed")) as door:
        await door.http.put("/v1/users/u1/wake", json={"every_seconds": 600})
        door.clock.ahead += YEARS
        [wake] = await wakes(door, "u1", 1)
        assert wake["kind"] == "periodic"
        assert datetime.fromisoformat(wake["raised_at"]) - datetime.fromisoformat(wake["due_at"]) < timedelta(
            minutes=10
        )
        await asyncio.sleep(QUIET_SECONDS)
        assert len(await wakes(door, "u1", 1)) == 1


async def test_the_settings_wake_the_owner_and_a_request_has_the_last_word(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("owner")
    async with front_door(folder, wake_every_seconds=3600) as door:
        await door.worker.wake_settings.apply()
        configured = (await door.get("/v1/users/owner/wake")).json()
        assert (configured["every_seconds"], configured["memory_limit"], configured["query"]) == (3600, 0, None)
        assert configured["text"] == "[Periodic Wake] You are waking up for a routine check."
        door.clock.ahead += timedelta(hours=1)
        assert [w["memories"] for w in await wakes(door, "owner", 1)] == [[]]
        await door.http.delete("/v1/users/owner/wake")
    async with front_door(folder, wake_every_seconds=3600) as door:
        await door.worker.wake_settings.apply()
        assert (await door.get("/v1/users/owner/wake")).status_code == 404, "the settings say nothing new"
    async with front_door(folder, wake_every_seconds=1800) as door:
        await door.worker.wake_settings.apply()
        assert (await door.get("/v1/users/owner/wake")).json()["every_seconds"] == 1800
    async with front_door(folder) as door:
        await door.worker.wake_settings.apply()
        assert (await door.get("/v1/users/owner/wake")).status_code == 404, "unset, they end what they began"
        await door.http.put("/v1/users/owner/wake", json={"every_seconds": 60})
        await door.worker.wake_settings.apply()
        assert (await door.get("/v1/users/owner/wake")).json()["every_seconds"] == 60


@pytest.mark.parametrize(
    "body",
    [{}, {"every_seconds": 0}, {"every_seconds": 1e12}, {"every_seconds": 60, "memory_limit": -1},
     {"every_seconds": 60, "text": " "}, {"every_seconds": 60, "query": ""}, {"every_seconds": 60, "odd": 1}],
)  # fmt: skip
async def test_a_periodic_wake_is_checked(door: FrontDoor, body: dict[str, object]):
    assert (await door.http.put("/v1/users/u1/wake", json=body)).status_code == 422


# -- what a wake carries


async def test_a_wake_writes_no_turn_and_no_recall_and_carries_no_history(tmp_path_factory: pytest.TempPathFactory):
    """Sections 5 and 6: history is 0 and the session's history stays clean."""
    async with front_door(tmp_path_factory.mktemp("clean")) as door:
        await door.http.post("/v1/events?wait=10", json=turn("t-1", "I live in Berlin.", user_id="u1"))
        before = (await door.get("/v1/memories", user_id="u1")).json()["items"]
        ends = [await door.worker.log.end(CONVERSATIONS.name, p) for p in range(2)]
        await door.http.put("/v1/users/u1/wake", json={"every_seconds": 60, "memory_limit": 5})
        door.clock.ahead += timedelta(minutes=2)
        [wake] = await wakes(door, "u1", 1)
        assert [m["content"] for m in wake["memories"]] == [m["content"] for m in before]
        assert wake["history"] == []
        await door.worker.recalls.flush()
        await door.post("/v1/admin/drain")
        after = (await door.get("/v1/memories", user_id="u1")).json()["items"]
        assert [m | {"strength": 0} for m in after] == [m | {"strength": 0} for m in before]
        assert [await door.worker.log.end(CONVERSATIONS.name, p) for p in range(2)] == ends
        assert (await door.get("/v1/sessions/system:dm:system/turns", user_id="u1")).json() == {"items": []}


async def test_what_is_forgotten_after_a_wake_was_raised_is_not_shown_by_it_any_more(
    tmp_path_factory: pytest.TempPathFactory,
):
    async with front_door(tmp_path_factory.mktemp("forgotten")) as door:
        tea = await door.remember("likes tea")
        await door.remember("the office closes at six", scope="global")
        await door.http.put("/v1/users/u1/wake", json={"every_seconds": 60, "memory_limit": 5})
        door.clock.ahead += timedelta(minutes=2)
        [wake] = await wakes(door, "u1", 1)
        assert {m["content"] for m in wake["memories"]} == {"likes tea", "the office closes at six"}
        await door.http.delete(f"/v1/memories/{tea['memory_id']}")
        [wake] = await wakes(door, "u1", 1)
        assert [m["content"] for m in wake["memories"]] == ["the office closes at six"]


async def test_an_agent_hears_its_own_wakes_and_those_of_no_agent(door: FrontDoor):
    for agent in ("luna", "aria", None):
        await remind(door, "agents", soon(door) - YEARS, f"for {agent}", **({"agent_id": agent} if agent else {}))
    await wakes(door, "agents", 3)
    heard = (await door.get("/v1/users/agents/wakes", agent_id="luna")).json()
    assert ({w["content"] for w in heard["items"]}, heard["next"]) == ({"for luna", "for None"}, "3")
