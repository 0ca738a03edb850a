"""Residue among many users: of those who were erased no byte of a word stays, of the others nothing is missing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from contract.scripted_model import ScriptedModel
from support.canaries import answers, caption, letter, published, user, word, words

from mnemolog.diagnostics.residue import find_residue
from mnemolog.settings import from_environment
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from contract.front_door import FrontDoor
    from contract.scripted_model import Mode

USERS, AT_ONCE = 100, 10
ERASED = range(0, USERS, 5)
KEPT = [number for number in range(USERS) if number not in ERASED]


class SeeingModel(ScriptedModel):
    """Says also what a picture shows."""

    def _spell(self, mode: Mode, messages: list[dict[str, Any]]) -> str:
        shown = messages[-1]["content"]
        if isinstance(shown, str):
            return super()._spell(mode, messages)
        return json.dumps({"memories": caption(shown[1]["image_url"]["url"])})


async def lives(door: FrontDoor, number: int) -> None:
    """Publish, set, change, and let something fail."""
    own = user(number)
    answer = await door.post("/v1/events", published(number))
    assert answer.status_code == 202, answer.text
    memory = await door.remember(f"keeps a {word('memory', number)}", own, metadata={"note": word("metadata", number)})
    revised = {"content": word("revised", number)}
    answer = await door.http.patch(f"/v1/memories/{memory['memory_id']}?user_id={own}", json=revised)
    assert answer.status_code == 200, answer.text
    reminder = {"content": f"call {word('reminder', number)}", "due_at": "2030-01-01T00:00:00Z"}
    answer = await door.post(f"/v1/users/{own}/reminders", reminder)
    assert answer.status_code in {200, 201}, answer.text
    key = Owner("default", own).key
    partition = door.worker.shards.partition(Owner("default", own))
    broken = NewRecord(topic=CONVERSATIONS.name, partition=partition, key=key, value=letter(number))
    await door.worker.log.append([broken])


async def speaks(door: FrontDoor, number: int, session: str, place: str) -> None:
    said = turn(f"{session}-{user(number)}", f"I love {word(place, number)}.", user_id=user(number), session_id=session)
    answer = await door.post("/v1/events", said)
    assert answer.status_code == 202, answer.text


async def found_lines(folder: Path, sought: list[str]) -> set[str]:
    """Return which of some words lie anywhere in a data directory."""
    found = await find_residue(from_environment({}, data_dir=folder), sought)
    return {sought[one.line - 1] for one in found}


async def each(numbers: range, live: Callable[[int], Awaitable[None]]) -> None:
    for start in range(0, len(numbers), AT_ONCE):
        await asyncio.gather(*(live(number) for number in numbers[start : start + AT_ONCE]))


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_of_twenty_of_a_hundred_who_are_erased_no_word_stays(tmp_path: Path, encryption: str):
    everyone = [one for number in range(USERS) for one in words(number)]
    gone = [one for number in ERASED for one in words(number)]
    left = {one for number in KEPT for one in words(number)}
    ids = [user(number) for number in range(USERS)]
    with SeeingModel(answers) as model:
        seeing = {"extractor": "model", "llm_base_url": model.base_url, "llm_vision": True, "encryption": encryption}
        async with front_door(tmp_path, **seeing) as door:
            await each(range(USERS), lambda number: lives(door, number))
            assert (await door.post("/v1/admin/drain")).status_code == 200
            model.play("prose")  # twice, and the answer is given up
            await each(range(USERS), lambda number: speaks(door, number, "s2", "rejected"))
            assert (await door.post("/v1/admin/drain")).status_code == 200
            model.play("ok")
            await each(range(USERS), lambda number: speaks(door, number, "s3", "open"))
            before = await found_lines(tmp_path, [*everyone, *ids])
            assert before == (set() if encryption == "on" else {*everyone, *ids})
            for number in ERASED:
                answer = await door.http.delete(f"/v1/users/{user(number)}")
                assert (answer.status_code, answer.json().get("remains")) == (200, []), answer.text
            assert await found_lines(tmp_path, gone) == set()
            assert (await door.post("/v1/admin/drain")).status_code == 200
            assert (await door.post("/v1/admin/rebuild")).json()["equal"]
            kept = (await door.get("/v1/memories", user_id=user(KEPT[0]))).json()["items"]
            assert any(word("caption", KEPT[0]) in one["content"] for one in kept), kept
        after = await found_lines(tmp_path, [*everyone, *(ids if encryption == "on" else ())])
        assert after == (set() if encryption == "on" else left)
