"""A log that is restored from a copy of before an erasure: who is on the list of erasures is erased again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from contract.front_door import FrontDoor, front_door, turn

from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, DEAD_LETTERS

if TYPE_CHECKING:
    from pathlib import Path

ZARA = Owner("default", "zara")
SAID = "I love Ximbertwo."


def restore(folder: Path, copy: Path) -> None:
    """Put the copy of a log into its place; the shards are folded anew."""
    shutil.rmtree(folder / "log")
    shutil.rmtree(folder / "shards")
    shutil.copytree(copy, folder / "log")


async def said_by_zara(door: FrontDoor) -> list[object]:
    turns = await door.get("/v1/sessions/s1/turns", user_id=ZARA.user_id)
    memories = await door.get("/v1/memories", user_id=ZARA.user_id)
    return [*turns.json()["items"], *memories.json()["items"]]


async def letters_of_zara(door: FrontDoor) -> list[bytes]:
    partition = door.worker.shards.partition(ZARA)
    records = await door.worker.log.read(DEAD_LETTERS.name, partition, 0)
    return [one.value for one in records if not one.is_erased]


async def erased(door: FrontDoor) -> None:
    answer = await door.http.delete(f"/v1/users/{ZARA.user_id}")
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_who_has_said_something_and_nothing_was_decided_is_erased_again(
    tmp_path: Path, encryption: str, caplog: pytest.LogCaptureFixture
):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    settings = {"encryption": encryption, "idle_seconds": 3600.0}
    async with front_door(folder, **settings) as door:
        assert (await door.post("/v1/events", turn("t1", SAID, user_id=ZARA.user_id))).status_code == 202
    shutil.copytree(folder / "log", copy)
    async with front_door(folder, **settings) as door:
        assert await said_by_zara(door)
        await erased(door)
    restore(folder, copy)
    async with front_door(folder, **settings) as door:
        await door.worker.erasure_recovery.repeat()
        assert await said_by_zara(door) == []
        assert len((await door.get("/v1/erasures")).json()["items"]) == 2
        assert "is repeated, because the log was restored from before it" in caplog.text
        await door.worker.erasure_recovery.repeat()  # once is enough
        assert len((await door.get("/v1/erasures")).json()["items"]) == 2


async def test_who_has_left_nothing_but_a_dead_letter_is_erased_again(tmp_path: Path):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    async with front_door(folder) as door:
        partition = door.worker.shards.partition(ZARA)
        broken = NewRecord(topic=CONVERSATIONS.name, partition=partition, key=ZARA.key, value=SAID.encode())
        await door.worker.log.append([broken])
        assert (await door.post("/v1/admin/drain")).status_code == 200
    shutil.copytree(folder / "log", copy)
    async with front_door(folder) as door:
        assert await letters_of_zara(door)
        await erased(door)
    restore(folder, copy)
    async with front_door(folder) as door:
        await door.worker.erasure_recovery.repeat()
        assert await letters_of_zara(door) == []


@pytest.mark.parametrize(
    ("before", "meanwhile", "afterwards"),
    [("off", "on", "on"), ("off", "on", "off"), ("off", "off", "on"), ("on", "on", "off"), ("on", "off", "on")],
)
async def test_who_was_erased_is_erased_again_whether_the_log_was_encrypted_then_or_is_now(
    tmp_path: Path, before: str, meanwhile: str, afterwards: str
):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    async with front_door(folder, encryption=before) as door:
        memory = await door.remember("yuri keeps a quokka", "yuri")
        await door.remember("keeps a Mirvandel", ZARA.user_id)
    shutil.copytree(folder / "log", copy)
    async with front_door(folder, encryption=meanwhile) as door:
        await erased(door)
        gone = await door.http.delete(f"/v1/memories/{memory['memory_id']}", params={"forever": "true"})
        assert gone.status_code == 200, gone.text
    restore(folder, copy)
    async with front_door(folder, encryption=afterwards) as door:
        await door.worker.erasure_recovery.repeat()
        assert await said_by_zara(door) == []
        assert (await door.get("/v1/memories", user_id="yuri")).json()["items"] == []
