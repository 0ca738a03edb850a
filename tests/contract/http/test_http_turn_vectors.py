"""Vectors of turns are made as turns come, outlive a rebuild, and go with the words they are of."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from contract.front_door import FrontDoor, front_door, turn

from projections.encrypted_files import open_database, sqlite3
from projections.queries.turns import making
from projections.queries.turns.index import TurnIndex
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as door:
        yield door


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(folder) as door:
        yield door


async def say(door: FrontDoor, *said: tuple[str, str], user_id: str = "u1", **more: object) -> None:
    """Publish what a user says in one session, and have all of it done."""
    assert (
        await door.post("/v1/events", [turn(name, words, user_id=user_id, **more) for name, words in said])
    ).status_code == 202
    assert (await door.post("/v1/admin/drain")).status_code == 200


def vectors(folder: Path) -> set[str]:
    """Return the turns that have a vector on disk, in the live generation and others."""
    found: set[str] = set()
    for path in folder.glob("shards/**/*.sqlite"):
        with closing(open_database(path, "ro")) as connection:
            found |= {name for (name,) in connection.execute("select event_id from turn_vectors")}
    return found


async def test_they_are_made_without_a_search(door: FrontDoor, tmp_path: Path):
    await say(door, ("t-1", "Is the ferry late?"), ("t-2", "And the bus?"))
    assert vectors(tmp_path) == {"t-1", "t-2"}


async def test_what_was_said_while_they_were_not_made_is_caught_up_after_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(making.TurnVectorMaking, "catch_up", never)
        async with started(tmp_path) as door:
            await say(door, *((f"t-{number}", f"Is the ferry {number} late?") for number in range(100)))
        assert vectors(tmp_path) == set()
    async with started(tmp_path) as door:
        await door.post("/v1/admin/drain")
    assert len(vectors(tmp_path)) == 100


async def never(_: making.TurnVectorMaking) -> None:
    """Make nothing."""


async def test_of_a_user_who_was_not_searched_only_the_last_turns_are_read(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await say(door, *((f"t-{number}", f"Is the ferry {number} late?") for number in range(10)))
    monkeypatch.setattr(making, "LAST_TURNS", 4)
    turn_index = door.worker.queries.index_search.turn_index
    turn_index._users.clear()
    await say(door, ("t-10", "And the bus?"))
    assert len(vectors(tmp_path)) == 11
    assert len(turn_index._users) == 0


async def test_after_a_start_turns_of_those_who_said_much_are_read_ahead_of_their_first_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(making, "AHEAD_TURNS", 5)
    monkeypatch.setattr(making, "PART", 2)
    async with started(tmp_path) as door:
        await say(door, *((f"t-{number}", f"Is the ferry {number} late?") for number in range(7)))
        await say(door, ("o-1", "Is the bus late?"), user_id="other")
        usual = (await door.post("/v1/search", {"user_id": "u1", "query": "ferry 3", "recall": False})).json()
    async with started(tmp_path) as door:
        search = door.worker.queries.index_search
        await search.turn_vectors.read_ahead()
        much, little = (door.worker.shards.resolve(Owner("default", user)) for user in ("u1", "other"))
        assert (search.turn_index.has(much), search.turn_index.has(little)) == (True, False)
        words = await search.turn_index.current(much)
        assert words.meanings is not None
        assert (len(words.meanings), words.unmade) == (7, set())
        found = (await door.post("/v1/search", {"user_id": "u1", "query": "ferry 3", "recall": False})).json()
        assert [one["turn_id"] for one in found["results"]] == [one["turn_id"] for one in usual["results"]]


async def test_no_more_is_read_ahead_than_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(making, "AHEAD_TURNS", 1)
    monkeypatch.setattr(making, "AHEAD_BYTES", 0)
    async with started(tmp_path) as door:
        for user in ("u1", "u2", "u3"):
            await say(door, (f"{user}-1", "Is the ferry late?"), user_id=user)
    async with started(tmp_path) as door:
        search = door.worker.queries.index_search
        await search.turn_vectors.read_ahead()
        assert len(search.turn_index._users) == 1, "what has room is not known before it is read"


async def test_a_rebuild_keeps_them_and_makes_none_again(door: FrontDoor, tmp_path: Path):
    await say(door, ("t-1", "Is the ferry late?"), ("t-2", "And the bus?"))
    made = list(door.embedder.embedded)
    assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
    await door.post("/v1/admin/drain")
    found = (await door.post("/v1/search", {"user_id": "u1", "query": "ferry", "recall": False})).json()
    assert ("degraded" in found, door.embedder.embedded) == (False, made)
    assert vectors(tmp_path) == {"t-1", "t-2"}


async def test_what_was_asked_not_to_keep_never_has_one(door: FrontDoor, tmp_path: Path):
    await say(door, ("t-1", "Off the record, I was fired."), ("t-2", "Is the ferry late?"))
    assert vectors(tmp_path) == {"t-2"}


async def test_what_is_taken_back_later_loses_it(door: FrontDoor, tmp_path: Path):
    await say(door, ("t-1", "I was fired from the bakery."))
    assert vectors(tmp_path) == {"t-1"}
    await say(door, ("t-2", "Please don't save that."))
    assert vectors(tmp_path) == set()
    found = (await door.post("/v1/search", {"user_id": "u1", "query": "bakery", "recall": False})).json()
    assert [one for one in found["results"] if one["kind"] == "turn"] == []


@pytest.mark.parametrize("again", [False, True])
async def test_an_erased_user_has_none_and_what_is_said_afterwards_has_one(
    door: FrontDoor,
    tmp_path: Path,
    again: bool,  # noqa: FBT001 - a case
):
    await say(door, ("t-1", "Is the ferry late?"))
    await say(door, ("o-1", "Is the bus late?"), user_id="other")
    assert (await door.http.delete("/v1/users/u1")).status_code == 200
    if again:
        assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
    assert vectors(tmp_path) == {"o-1"}
    await say(door, ("t-2", "Is the tram late?"))
    assert vectors(tmp_path) == {"o-1", "t-2"}


async def test_they_go_with_an_erased_memory_and_with_retention(door: FrontDoor, tmp_path: Path):
    await say(door, ("t-1", "I live in Lisbon."), ("t-2", "Is the ferry late?"), session_id="one")
    [memory] = (await door.get("/v1/memories", user_id="u1")).json()["items"]
    erased = await door.http.delete(f"/v1/memories/{memory['memory_id']}", params={"forever": "true"})
    assert erased.status_code == 200, erased.text
    assert vectors(tmp_path) == {"t-2"}
    until = instant(door.clock.now() + timedelta(days=31))
    await door.post("/v1/admin/ticks", {"policy": "retention", "as_of": until, "force": True})
    assert vectors(tmp_path) == set()


@pytest.mark.parametrize("error", [ShardUnavailable("the disk is full"), sqlite3.ProgrammingError("closed")])
async def test_a_shard_that_cannot_be_read_ends_no_worker(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    with monkeypatch.context() as patch:
        patch.setattr(TurnIndex, "newest", raises(error))
        await say(door, ("t-1", "Is the ferry late?"))
    assert vectors(tmp_path) == set()
    await say(door, ("t-2", "And the bus?"))
    assert vectors(tmp_path) == {"t-1", "t-2"}


def raises(error: Exception) -> Callable[..., Awaitable[None]]:
    async def fail(*_: object) -> None:
        raise error

    return fail
