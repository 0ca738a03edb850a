"""What a turn says of the turns before it, which were extracted before: an answer, and a word that is taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("before")) as opened:
        yield opened


async def say(door: FrontDoor, user: str, role: str, text: str) -> str:
    """Say something in a window of its own, and return the id of its event."""
    talk = {"user_id": user, "session_id": "s", "messages": [{"role": role, "content": text}]}
    answer = await door.http.post("/v1/conversations?wait=20", json=talk)
    assert answer.status_code == 200, answer.text
    event_id: str = answer.json()["accepted"][0]["event_id"]
    return event_id


async def active(door: FrontDoor, user: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await door.get("/v1/memories", user_id=user)).json()["items"]
    return items


async def test_an_answer_cites_the_question_and_both_are_erased_with_it(door: FrontDoor):
    asked = await say(door, "ada", "assistant", "Where do you live?")
    said = await say(door, "ada", "user", "Basel.")
    [memory] = await active(door, "ada")
    assert (memory["attribute"], memory["value"], memory["source_ids"]) == ("city", "Basel", [said, asked])
    erased = await door.http.delete(f"/v1/memories/{memory['memory_id']}", params={"user_id": "ada", "forever": "true"})
    assert erased.status_code == 200, erased.text
    asked_for = {"user_id": "ada", "query": "Where do you live?", "include": ["memories", "turns"]}
    assert (await door.post("/v1/search", asked_for)).json()["results"] == []


async def test_an_answer_long_after_the_question_is_none(door: FrontDoor):
    await say(door, "bea", "assistant", "Where do you live?")
    door.clock.ahead += timedelta(hours=2)
    await say(door, "bea", "user", "Basel.")
    assert [memory["attribute"] for memory in await active(door, "bea")] in ([], [None])


async def test_a_word_that_is_taken_back_cites_the_turn_that_it_mends(door: FrontDoor):
    wrong = await say(door, "cleo", "user", "My dog is called Rex.")
    right = await say(door, "cleo", "user", "Sorry, I mean Max.")
    [memory] = [one for one in await active(door, "cleo") if "Max" in one["content"]]
    assert set(memory["source_ids"]) == {wrong, right}
