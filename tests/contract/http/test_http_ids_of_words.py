"""Ids that are derived from words: where encryption is strict nobody who reads one can try a guess at the words."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import FrontDoor, front_door

from mnemolog.cli.lines.event_lines import EventLine, event_lines
from mnemolog.imports.importer import parse_line
from mnemolog.imports.snapshot import Importable
from mnemolog.imports.wake_lines import ImportableWake
from mnemolog.log.word_ids import WordIds
from schemas.identity import reminder_id_of
from schemas.instant import read_instant
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.log import Log

pytestmark = pytest.mark.asyncio

NOW = read_instant("2026-11-24")
TURN = {"type": "TurnRecorded", "user_id": "zara", "session_id": "s", "role": "user", "content": "I fear spiders."}
NAMELESS: dict[str, Any] = {"type": "Memory", "user_id": "zara", "content": "Zara fears spiders."}
"""Memories and a reminder whose ids come of what they say, as whoever knows the words and our code would guess it."""
LINES = [
    NAMELESS,
    NAMELESS | {"content": "Zara plays chess on Mondays.", "memory_id": "7"},
    NAMELESS | {"content": "用户喜欢苹果", "memory_id": "semantic_memories-1-a-hash", "source_system": "luna"},
    {"type": "Reminder", "user_id": "zara", "due_at": "2030-01-05T08:00:00Z", "content": "Fetch the spider."},
]


class NoKeys:
    """A log without any record."""

    async def partitions(self, _topic: str) -> int:
        return 1

    async def end(self, _topic: str, _partition: int) -> int:
        return 0


def guessed_ids() -> list[str]:
    log: Log = NoKeys()  # type: ignore[assignment]
    ids = WordIds(UserKeys(log, None))
    lines = [parse_line(line, tenant="default", user_id=None, accepted_at=NOW, ids=ids) for line in LINES]
    commands = [line.command_id for line in lines if isinstance(line, Importable)]
    memories = [line.memory_id for line in lines if isinstance(line, Importable)]
    reminders = [reminder_id_of(line.owner, line.command_id) for line in lines if isinstance(line, ImportableWake)]
    return [*commands, *memories, *reminders]


def guessed_line() -> EventLine:
    [line] = event_lines("file", BytesIO(orjson.dumps(TURN)), NOW)
    assert isinstance(line, EventLine)
    return line


async def published(door: FrontDoor, query: str = "derived_ids=true&") -> str:
    """Send a line as `mnemolog publish` does, and return the id that it got."""
    response = await door.http.post(f"/v1/events?{query}wait=10", json=[guessed_line().event])
    assert response.status_code == 200, response.text
    [accepted] = response.json()["accepted"]
    event_id: str = accepted["event_id"]
    return event_id


async def imported(door: FrontDoor) -> list[dict[str, Any]]:
    response = await door.http.post("/v1/import?wait=60", json=LINES)
    assert response.status_code == 200, response.text
    items: list[dict[str, Any]] = response.json()["items"]
    return items


async def all_that_is_there(door: FrontDoor) -> str:
    """Return what the API says of the user, history and all."""
    return (await door.http.get("/v1/users/zara/export")).text


async def test_a_published_line_has_a_keyed_id_which_stays(tmp_path: Path):
    async with front_door(tmp_path / "one", encryption="strict") as door:
        event_id = await published(door)
        assert event_id != guessed_line().event["event_id"]
        assert await published(door) == event_id
        assert len((await door.get("/v1/sessions/s/turns", user_id="zara")).json()["items"]) == 1
        assert guessed_line().event["event_id"] not in await all_that_is_there(door)
    async with front_door(tmp_path / "another", encryption="strict") as door:
        assert await published(door) != event_id


async def test_an_id_that_the_caller_chose_stays(tmp_path: Path):
    async with front_door(tmp_path, encryption="strict") as door:
        assert await published(door, "") == guessed_line().event["event_id"]


async def test_where_encryption_is_not_strict_a_line_has_the_id_that_it_always_had(tmp_path: Path):
    async with front_door(tmp_path) as door:
        assert await published(door) == guessed_line().event["event_id"]


async def test_what_is_imported_has_keyed_ids_which_stay(tmp_path: Path):
    async with front_door(tmp_path, encryption="strict") as door:
        first = await imported(door)
        assert [one["action"] for one in first] == ["formed", "formed", "formed", "scheduled"]
        assert [one["action"] for one in await imported(door)] == ["nothing"] * len(LINES)
        told = await all_that_is_there(door)
    assert [guess for guess in guessed_ids() if guess in told] == []
    assert "semantic_memories-1-a-hash" not in told


async def test_where_encryption_is_not_strict_what_is_imported_has_the_ids_that_it_always_had(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await imported(door)
        told = await all_that_is_there(door)
    assert [guess for guess in guessed_ids() if guess not in told] == []
    assert "semantic_memories-1-a-hash" in told


async def test_who_has_memories_goes_on_with_the_ids_of_imports(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        await imported(door)
    async with front_door(tmp_path, encryption="strict") as door:
        assert [one["action"] for one in await imported(door)] == ["nothing"] * len(LINES)
