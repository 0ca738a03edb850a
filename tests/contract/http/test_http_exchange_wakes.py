"""Wakes to come leave with their user, and come in at another engine once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import FrontDoor, front_door
from contract.wake_calls import remind, soon, wakes

from schemas.identity import DEFAULT_TENANT, derived_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PERIODIC = {"every_seconds": 3600.0, "text": "look around", "query": "plans", "memory_limit": 3, "agent_id": "luna"}
REMINDER = {"type": "Reminder", "user_id": "u1", "due_at": "2100-01-01T00:00:00Z", "content": "call mum"}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path, wake_memory_limit=1) as opened:
        yield opened


async def left(door: FrontDoor, user_id: str = "u1") -> list[dict[str, Any]]:
    """Return the lines of a user's export that an import takes."""
    lines = map(orjson.loads, (await door.get(f"/v1/users/{user_id}/export")).content.splitlines())
    return [line for line in lines if line["type"] in {"Memory", "Reminder", "PeriodicWake"}]


async def came_in(door: FrontDoor, lines: list[dict[str, Any]], **query: object) -> dict[str, Any]:
    response = await door.http.post("/v1/import", json=lines, params={k: str(v) for k, v in query.items()})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def waiting(door: FrontDoor, user_id: str = "u1") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await door.get(f"/v1/users/{user_id}/reminders")).json()["items"]
    return items


async def test_a_user_that_moves_keeps_the_reminders_that_wait_and_how_its_agent_is_woken(tmp_path: Path):
    async with front_door(tmp_path / "old") as old:
        await old.remember("likes tea")
        gone = await remind(old, "u1", soon(old, days=1), "gone")
        await old.http.delete(f"/v1/users/u1/reminders/{gone['reminder_id']}")
        await remind(old, "u1", soon(old, seconds=-1), "raised")
        await wakes(old, "u1", 1)
        kept = [await remind(old, "u1", soon(old, days=n), f"n {n}", agent_id="luna") for n in (2, 1)]
        configured = (await old.http.put("/v1/users/u1/wake", json=PERIODIC)).json()
        lines = await left(old)
        assert [line["type"] for line in lines] == ["Memory", "Reminder", "Reminder", "PeriodicWake"]
        again = await came_in(old, lines)
        assert (again["imported"], again["known"]) == (0, 4), "where it is from it is known"
        assert len(await waiting(old)) == 2
    async with front_door(tmp_path / "new", wake_memory_limit=1) as new:
        first = await came_in(new, lines)
        assert [item["action"] for item in first["items"]] == ["formed", "scheduled", "scheduled", "configured"]
        assert (first["imported"], first["refused"]) == (4, 0)
        assert [(r["content"], r["due_at"]) for r in await waiting(new)] == [
            (r["content"], r["due_at"]) for r in kept[::-1]
        ]
        here = (await new.get("/v1/users/u1/wake")).json()
        assert here | {"next_at": None} == configured | {"next_at": None}
        again = await came_in(new, lines)
        assert {item["reason"] for item in again["items"]} == {"imported before"}
        assert (len(await waiting(new)), again["known"]) == (2, 4)
        assert [line for line in await left(new) if line["type"] != "Memory"] == lines[1:]


async def test_what_was_raised_or_cancelled_since_is_not_scheduled_again(door: FrontDoor):
    await remind(door, "u1", soon(door, seconds=2), "soon raised")
    late = await remind(door, "u1", soon(door, days=1), "soon cancelled")
    lines = await left(door)
    assert (await came_in(door, lines, user_id="u2"))["imported"] == 2
    for user in ("u1", "u2"):
        await wakes(door, user, 1)
        for one in await waiting(door, user):
            await door.http.delete(f"/v1/users/{user}/reminders/{one['reminder_id']}")
        assert (await came_in(door, lines, user_id=user))["known"] == 2
        assert await waiting(door, user) == []
        assert [w["content"] for w in await wakes(door, user, 1)] == ["soon raised"]
    assert late["reminder_id"] not in {one["reminder_id"] for one in await waiting(door, "u2")}


@pytest.mark.parametrize("from_elsewhere", [False, True])
async def test_what_comes_back_from_another_user_is_known_at_home(door: FrontDoor, *, from_elsewhere: bool):
    if from_elsewhere:
        lines: list[dict[str, Any]] = [
            REMINDER | {"reminder_id": "r-1"},
            PERIODIC | {"type": "PeriodicWake", "command_id": "p-1"},
        ]
        assert (await came_in(door, lines, user_id="u1"))["imported"] == 2
    else:
        await remind(door, "u1", soon(door, days=1))
        await door.http.put("/v1/users/u1/wake", json=PERIODIC)
    assert (await came_in(door, await left(door), user_id="u2"))["imported"] == 2
    await door.http.delete("/v1/users/u1/wake")
    assert (await came_in(door, await left(door, "u2"), user_id="u1"))["known"] == 2
    assert (len(await waiting(door)), len(await waiting(door, "u2"))) == (1, 1)
    assert (await door.get("/v1/users/u1/wake")).status_code == 404


async def test_a_reminder_that_is_due_is_raised_once_in_the_words_of_the_server_that_it_came_to(door: FrontDoor):
    await door.remember("mum is called Anna", "u2")
    line = REMINDER | {"due_at": "2026-01-01T00:00:00Z", "channel": "telegram"}
    for action in ("scheduled", "nothing"):
        [item] = (await came_in(door, [line], user_id="u2"))["items"]
        assert (item["memory_id"], item["action"]) == (None, action)
    [wake] = await wakes(door, "u2", 1)
    assert wake["text"] == "[Scheduled Reminder] Please remind user u2 on telegram: call mum. Use send_message."
    assert [memory["content"] for memory in wake["memories"]] == ["mum is called Anna"]


async def test_who_is_woken_here_stays_woken_as_it_is(door: FrontDoor):
    await door.http.put("/v1/users/u1/wake", json={"every_seconds": 60, "text": "mine"})
    [item] = (await came_in(door, [{"type": "PeriodicWake", "user_id": "u1", "every_seconds": 5, "text": "other"}]))[
        "items"
    ]
    assert (item["action"], "is woken here already" in item["reason"]) == ("nothing", True)
    assert (await door.get("/v1/users/u1/wake")).json()["text"] == "mine"


async def test_of_several_ways_to_be_woken_the_first_is_taken(door: FrontDoor):
    lines = [PERIODIC | {"type": "PeriodicWake", "user_id": user, "text": f"of {user}"} for user in ("u1", "u2")]
    for actions in (["configured", "nothing", "nothing"], ["nothing"] * 3):
        answer = await came_in(door, [*lines, lines[0]], user_id="u3")
        assert [item["action"] for item in answer["items"]] == actions
        assert (await door.get("/v1/users/u3/wake")).json()["text"] == "of u1"


async def test_what_the_settings_say_is_not_exported(tmp_path: Path):
    async with front_door(tmp_path, wake_every_seconds=3600) as door:
        await door.worker.wake_settings.apply()
        assert (await door.get("/v1/users/owner/wake")).status_code == 200
        assert await left(door, "owner") == []


async def test_more_reminders_than_may_wait_are_refused_and_counted(door: FrontDoor):
    lines = [REMINDER | {"content": f"n {n}"} for n in range(1_000)]
    assert (await came_in(door, lines, wait=60))["imported"] == 1_000
    for _ in range(2):
        answer = await came_in(door, [REMINDER, *lines[:2]])
        assert (answer["imported"], answer["refused"], answer["known"]) == (0, 1, 2)
        assert "cancel some first" in answer["items"][0]["reason"]
    first, second = (await waiting(door))[:2]
    await door.http.delete(f"/v1/users/u1/reminders/{first['reminder_id']}")
    answer = await came_in(door, [REMINDER, REMINDER | {"content": "one more"}])
    assert [item["action"] for item in answer["items"]] == ["scheduled", "refused"], "its id was not used up"
    # What was refused after it was given, because another came between, is told as it was.
    path = "/v1/users/u1/reminders"
    late = await door.post(path, {"due_at": "2100-01-01", "content": "late"}, **{"idempotency-key": "late"})
    assert late.status_code == 409, late.text
    await door.http.delete(f"{path}/{second['reminder_id']}")
    command_id = derived_id("command", DEFAULT_TENANT, "late", "POST", path)
    [item] = (await came_in(door, [REMINDER | {"source_system": "mnemolog", "command_id": command_id}]))["items"]
    assert (item["action"], "give the line another id" in item["reason"]) == ("refused", True)


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        ({"content": "\u200b"}, "$[1].content", "is blank: say what to remind of"),
        ({"content": "x" * 5_000}, "$[1].content", "a reminder has at most 4096"),
        ({"due_at": "soon"}, "$[1].due_at", ""),
        ({"colour": "red"}, "$[1].colour", "is not a field of this line"),
        ({"user_id": "*"}, "$[1].user_id", "reserved"),
        ({"type": "PeriodicWake"}, "$[1].every_seconds", "missing"),
    ],
)
async def test_a_bad_line_about_a_wake_refuses_the_request(
    door: FrontDoor, change: dict[str, Any], path: str, says: str
):
    response = await door.post("/v1/import", [REMINDER, REMINDER | change])
    errors = {error["path"]: error["message"] for error in response.json()["errors"]}
    assert (response.status_code, says in errors[path]) == (422, True)
    assert await waiting(door) == []
