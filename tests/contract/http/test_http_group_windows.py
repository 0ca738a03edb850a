"""A group's talk whose turns fall into different windows and sessions: whose a turn is stays the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)
Turns = tuple[tuple[int, str | None, str], ...]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker"), idle_seconds=30.0) as opened:
        yield opened


async def cities(door: FrontDoor, user_id: str, turns: Turns, **more: Any) -> set[tuple[str | None, str]]:
    """Publish turns, each with its seconds since the beginning and its name; return who lives where now."""
    fields = {"user_id": user_id, "session_id": f"{user_id}-s"} | more
    events = [
        turn(f"{fields['session_id']}-{at}", text)
        | fields
        | {"occurred_at": (BEGIN + timedelta(seconds=at)).isoformat(), "metadata": {}}
        | ({"name": name} if name else {})
        for at, name, text in turns
    ]
    answer = await door.post("/v1/events", events)
    assert answer.status_code in (200, 202), answer.text
    await door.post("/v1/admin/drain")
    items = (await door.get("/v1/memories", user_id=user_id, page_size=200)).json()["items"]
    return {(item["speaker"], item["value"]) for item in items if item["attribute"] == "city"}


PORTO, TURIN = "I live in Porto.", "I live in Turin."


@pytest.mark.parametrize("gap", [1, 5, 31, 600])
async def test_who_begins_alone_is_the_user_however_long_the_pauses_are(door: FrontDoor, gap: int):
    talk = (
        (0, "Amy", PORTO),
        (60, "Bob", TURIN),
        (60 + gap, "Cid", "I live in Lyon."),
        (60 + 2 * gap, "Amy", "I moved to Faro."),
        (60 + 3 * gap, "Bob", "I moved to Rome."),
    )
    assert await cities(door, f"pauses-{gap}", talk) == {(None, "Faro"), ("Bob", "Rome"), ("Cid", "Lyon")}


async def test_nobody_is_the_user_where_two_begin(door: FrontDoor):
    talk = ((0, "Amy", PORTO), (5, "Bob", TURIN), (90, "Amy", "I moved to Faro."), (600, "Bob", "I moved to Rome."))
    assert await cities(door, "two-begin", talk) == {("Amy", "Faro"), ("Bob", "Rome")}


async def test_turns_without_a_name_are_the_users_in_every_window(door: FrontDoor):
    talk = ((0, None, PORTO), (60, "Bob", TURIN), (120, None, "I moved to Faro."), (180, "Bob", "I moved to Rome."))
    assert await cities(door, "nameless", talk) == {(None, "Faro"), ("Bob", "Rome")}


async def test_the_end_of_a_session_ends_its_first_window(door: FrontDoor):
    assert await cities(door, "ended", ((0, "Amy", PORTO),)) == {(None, "Porto")}
    assert await cities(door, "ended", ((5, "Bob", TURIN),)) == {(None, "Porto"), ("Bob", "Turin")}
    assert await cities(door, "ended", ((9, "Amy", "I moved to Faro."),)) == {(None, "Faro"), ("Bob", "Turin")}


async def test_the_name_that_is_the_users_id_is_the_users(door: FrontDoor):
    talk = ((0, "Bob", TURIN), (5, "Amy", PORTO), (90, "Bob", "I moved to Rome."), (180, "Amy", "I moved to Faro."))
    assert await cities(door, "amy", talk) == {(None, "Faro"), ("Bob", "Rome")}


async def test_who_introduced_themselves_is_the_user_of_later_sessions(door: FrontDoor):
    first = ((0, "al99", "My name is Alma."), (60, "al99", PORTO))
    assert await cities(door, "introduced", first) == {(None, "Porto")}
    of_bob = await cities(door, "introduced", ((900, "Bob", TURIN),), session_id="of-bob")
    assert of_bob == {(None, "Porto"), ("Bob", "Turin")}
    own = await cities(door, "introduced", ((1800, "al99", "I moved to Faro."),), session_id="own")
    assert own == {(None, "Faro"), ("Bob", "Turin")}


@pytest.mark.parametrize("gap", [5, 60])
async def test_the_same_holds_of_turns_that_are_kept_as_they_are(door: FrontDoor, gap: int):
    talk = ((0, "Amy", PORTO), (gap, "Bob", TURIN), (2 * gap, "Amy", "I have a cat."))
    await cities(door, f"as-is-{gap}", talk, infer=False)
    items = (await door.get("/v1/memories", user_id=f"as-is-{gap}")).json()["items"]
    said = {(item["speaker"], item["content"]) for item in items}
    assert said == {(None, PORTO), ("Bob", TURIN), (None, "I have a cat.")}


async def test_the_end_of_another_session_ends_no_window_of_this_one(door: FrontDoor):
    amy, bob = (
        turn(f"apart-{number}", text)
        | {"user_id": "apart", "session_id": "apart-s", "name": name, "occurred_at": f"2026-11-02T09:00:0{number}Z"}
        for number, name, text in ((1, "Amy", PORTO), (5, "Bob", TURIN))
    )
    end = {"type": "SessionEnded", "event_id": "apart-end", "user_id": "apart", "session_id": "another"}
    await door.post("/v1/events", [amy, end, bob])
    assert await cities(door, "apart", ((90, "Amy", "I moved to Faro."),)) == {("Amy", "Faro"), ("Bob", "Turin")}


async def test_a_users_id_is_one_persons_name_only(door: FrontDoor):
    talk = ((0, "Amy", PORTO), (5, "Bob Lee", TURIN))
    assert await cities(door, "amy bob lee", talk) == {("Amy", "Porto"), ("Bob Lee", "Turin")}
    assert await cities(door, "bob_lee", talk) == {("Amy", "Porto"), (None, "Turin")}
