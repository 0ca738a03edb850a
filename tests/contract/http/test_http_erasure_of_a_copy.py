"""A copy of the log that is put back after an erasure brings nobody back: the list beside the keys erases again."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
from contract.front_door import FrontDoor, front_door

from mnemolog.operations.erasing.receipts import LIST_FILE
from streams.agents.remember import Remember

if TYPE_CHECKING:
    from pathlib import Path


async def erase(door: FrontDoor) -> None:
    assert (await door.http.delete("/v1/users/zara")).status_code == 200


async def memories(door: FrontDoor) -> list[str]:
    found = (await door.get("/v1/memories", user_id="zara")).json()
    return sorted(memory["content"] for memory in found["items"])


def put_back(copy: Path, folder: Path, shards: Path | None = None) -> None:
    """Replace the log of a worker that has stopped by a copy, and its shards by those of that time, or by none."""
    shutil.rmtree(folder / "log")
    shutil.copytree(copy, folder / "log")
    shutil.rmtree(folder / "shards")
    if shards is not None:
        shutil.copytree(shards, folder / "shards")


@pytest.mark.parametrize("with_shards", [True, False])
async def test_who_is_in_a_copy_is_erased_again(tmp_path: Path, *, with_shards: bool):
    folder, copy, shards = tmp_path / "var", tmp_path / "copy", tmp_path / "shards"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await door.remember("yuri keeps a heron", "yuri")
    shutil.copytree(folder / "log", copy)
    shutil.copytree(folder / "shards", shards)
    async with front_door(folder) as door:
        await erase(door)
    put_back(copy, folder, shards if with_shards else None)
    async with front_door(folder) as door:
        assert await memories(door) == []
        assert (await door.get("/v1/memories", user_id="yuri")).json()["total"] == 1
        [first, again] = (await door.get("/v1/erasures")).json()["items"]
        assert first["public_key"] == again["public_key"]


@pytest.mark.parametrize("was_on", [True, False])
async def test_who_is_in_a_copy_of_before_encryption_is_erased_again(tmp_path: Path, *, was_on: bool):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    in_clear = {"encryption": "off"}
    async with front_door(folder, **in_clear) as door:
        await door.remember("zara keeps a quokka", "zara")
    shutil.copytree(folder / "log", copy)
    async with front_door(folder, **({} if was_on else in_clear)) as door:
        await erase(door)
        public_key = (await door.get("/v1/erasures")).json()["public_key"]
    put_back(copy, folder)
    async with front_door(folder) as door:
        assert await memories(door) == []
        items = (await door.get("/v1/erasures")).json()["items"]
        assert items[0]["public_key"] == public_key


async def test_an_erased_memory_in_a_copy_of_before_encryption_is_erased_again(tmp_path: Path):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    async with front_door(folder, encryption="off") as door:
        memory = await door.remember("zara keeps a quokka", "zara")
        await door.remember("zara keeps a heron", "zara")
    shutil.copytree(folder / "log", copy)
    async with front_door(folder) as door:
        forever = await door.http.delete(f"/v1/memories/{memory['memory_id']}", params={"forever": "true"})
        assert forever.status_code == 200
    put_back(copy, folder)
    async with front_door(folder) as door:
        assert await memories(door) == ["zara keeps a heron"]


async def test_the_latest_of_several_erasures_counts_in_whatever_order_they_were_learned(tmp_path: Path):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await erase(door)
        await door.remember("zara keeps a heron", "zara")
    shutil.copytree(folder / "log", copy)
    async with front_door(folder) as door:
        assert await memories(door) == ["zara keeps a heron"]
        await erase(door)
    put_back(copy, folder)
    listed = folder / "keys" / LIST_FILE
    listed.write_text("".join(reversed(listed.read_text().splitlines(keepends=True))))  # as other workers may tell it
    async with front_door(folder) as door:
        await door.worker.erasure_recovery.repeat()
        assert await memories(door) == []


async def test_who_returned_after_the_erasure_is_not_erased_by_a_copy(tmp_path: Path):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await erase(door)
        await door.remember("zara keeps a heron", "zara")
    shutil.copytree(folder / "log", copy)
    put_back(copy, folder)
    async with front_door(folder) as door:
        await door.worker.erasure_recovery.repeat()
        assert await memories(door) == ["zara keeps a heron"]


async def test_an_erasure_that_a_crash_left_undecided_is_on_the_list_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async with front_door(tmp_path) as door:
        await door.remember("zara keeps a quokka", "zara")
        monkeypatch.setattr(Remember, "_remember", never)
        assert (await door.http.delete("/v1/users/zara")).status_code == 503
    monkeypatch.undo()
    async with front_door(tmp_path) as door:
        async with asyncio.timeout(120):
            while not (await door.get("/v1/erasures")).json()["items"]:  # noqa: ASYNC110 - over HTTP
                await asyncio.sleep(0.05)
        assert await memories(door) == []
