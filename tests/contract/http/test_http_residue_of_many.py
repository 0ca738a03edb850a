"""Residue among many users: of those who were erased no byte of a word stays, of the others nothing is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door
from contract.seeing_model import SeeingModel
from support.canaries import letter, user, word, words
from support.canary_lives import each, lives, speaks

from mnemolog.diagnostics.residue import find_residue
from mnemolog.settings import from_environment
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor


USERS = 20
"""Enough for some of both kinds in each partition; `tests/engines/test_residue_on_kafka.py` has a hundred."""
ERASED = range(0, USERS, 4)
KEPT = [number for number in range(USERS) if number not in ERASED]


async def fails(door: FrontDoor, number: int) -> None:
    """Let a record of a user stand in the log that nobody can decode."""
    owner = Owner("default", user(number))
    partition = door.worker.shards.partition(owner)
    broken = NewRecord(topic=CONVERSATIONS.name, partition=partition, key=owner.key, value=letter(number))
    await door.worker.log.append([broken])


async def found_lines(folder: Path, sought: list[str]) -> set[str]:
    """Return which of some words lie anywhere in a data directory."""
    found = await find_residue(from_environment({}, data_dir=folder), sought)
    return {sought[one.line - 1] for one in found}


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_of_five_of_twenty_who_are_erased_no_word_stays(tmp_path: Path, encryption: str):
    everyone = [one for number in range(USERS) for one in words(number)]
    gone = [one for number in ERASED for one in words(number)]
    left = {one for number in KEPT for one in words(number)}
    ids = [user(number) for number in range(USERS)]
    with SeeingModel() as model:
        seeing = {"extractor": "model", "llm_base_url": model.base_url, "llm_vision": True, "encryption": encryption}
        async with front_door(tmp_path, **seeing) as door:

            async def ask(method: str, path: str, body: Any) -> Any:
                answer = await door.http.request(method, path, json=body)
                assert answer.is_success, answer.text
                return answer.json()

            await each(range(USERS), lambda number: lives(ask, number))
            await each(range(USERS), lambda number: fails(door, number))
            await ask("POST", "/v1/admin/drain", None)
            model.play("prose")  # twice, and the answer is given up
            await each(range(USERS), lambda number: speaks(ask, number, "s2", "rejected"))
            await ask("POST", "/v1/admin/drain", None)
            model.play("ok")
            await each(range(USERS), lambda number: speaks(ask, number, "s3", "open"))
            before = await found_lines(tmp_path, [*everyone, *ids])
            assert before == (set() if encryption == "on" else {*everyone, *ids})
            for number in ERASED:
                answer = await door.http.delete(f"/v1/users/{user(number)}")
                assert (answer.status_code, answer.json().get("remains")) == (200, []), answer.text
            assert await found_lines(tmp_path, gone) == set()
            await ask("POST", "/v1/admin/drain", None)
            assert (await ask("POST", "/v1/admin/rebuild", None))["equal"]
            kept = (await door.get("/v1/memories", user_id=user(KEPT[0]))).json()["items"]
            assert any(word("caption", KEPT[0]) in one["content"] for one in kept), kept
        after = await found_lines(tmp_path, [*everyone, *(ids if encryption == "on" else ())])
        assert after == (set() if encryption == "on" else left)
