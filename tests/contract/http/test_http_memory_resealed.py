"""The erasure of one memory from a log that is never rewritten: what stays is sealed anew, and the key is destroyed."""

from __future__ import annotations

from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from contract.http.test_http_memory_erasure import (
    USER,
    WORD,
    Crash,
    digest,
    erased,
    erased_with_its_user_meanwhile,
    forgotten_while_its_words_are_removed,
    is_whole,
    lives,
    memories,
    memory_with,
    where_said,
)

from mnemolog.operations.erasing.erasure import Copies
from mnemolog.operations.erasing.memory_erasures import MemoryErasures
from mnemolog.operations.erasing.words_of_memories import ResealedWords
from schemas.identity import Owner
from schemas.log import LogUnavailable
from schemas.topics import KEYS, REPLACEMENTS, TOPICS
from streams.sealing import sealed_record
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

OWNER = Owner("default", USER)


@pytest.fixture(autouse=True)
def never_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the embedded log treated as Kafka's: its records are not changed where they lie."""
    made = SealedLog.__init__

    def with_replacements(self: SealedLog, log: Any, keys: UserKeys, **more: Any) -> None:
        made(self, log, keys, **(more | {"replacements": Replacements(log, keys)}))

    def resealed(self: MemoryErasures) -> ResealedWords:
        parts, replacements = self._parts, self._parts.sealing.log.replacements
        assert replacements is not None
        return ResealedWords(parts.inner, parts.sealing, replacements, parts.shards)

    monkeypatch.setattr(SealedLog, "__init__", with_replacements)
    monkeypatch.setattr(MemoryErasures, "_words", resealed)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as door:
        yield door


async def lying(door: FrontDoor) -> dict[str, bytes]:
    """Return every record but the keys as it lies, by its place."""
    found = {}
    for topic in TOPICS:
        if topic.compacted:
            continue
        for partition in range(await door.worker.log.partitions(topic.name)):
            end = await door.worker._inner_log.end(topic.name, partition)
            for record in await door.worker._inner_log.read(topic.name, partition, 0, max(1, end)):
                found[str(record.position)] = record.value
    return found


async def test_the_words_can_be_opened_nowhere_and_nothing_was_rewritten(door: FrontDoor, tmp_path: Path):
    memory = await lives(door)
    keys = door.worker.sealing.keys
    [former] = keys.ring.ids_of(OWNER)
    before = await lying(door)
    others = [one for one in await memories(door) if one["memory_id"] != memory["memory_id"]]
    await erased(door, memory["memory_id"])
    after = await lying(door)
    assert {place: after[place] for place in before} == before
    assert sum(sealed_record.key_id_of(value) == former for value in before.values()) > 3
    assert await where_said(door, tmp_path, WORD) == []
    assert await where_said(door, tmp_path, "Zorblattia")
    assert [one["memory_id"] for one in await memories(door)] == [one["memory_id"] for one in others]
    left = [one for one in await door.worker._inner_log.read(KEYS.name, 0, 0) if one.key == former]
    assert left[-1].value == b""
    assert await is_whole(door)
    assert await where_said(door, tmp_path, WORD) == []


async def test_a_shard_that_is_folded_from_nothing_comes_to_the_same(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await erased(door, (await lives(door))["memory_id"])
        live = await digest(door)
    rmtree(tmp_path / "shards")
    async with front_door(tmp_path) as door:
        assert await digest(door) == live
        assert await is_whole(door)


async def test_one_after_the_other_goes_and_the_rest_stays(door: FrontDoor, tmp_path: Path):
    words = ["Mirvandel", "Bexomoor", "Dranfolio", "Yalquist"]
    ids = [(await door.remember(f"keeps a {word}", USER))["memory_id"] for word in words]
    for gone, memory_id in enumerate(ids[:3], 1):
        await erased(door, memory_id)
        for word in words[:gone]:
            assert await where_said(door, tmp_path, word) == []
        assert sorted(one["memory_id"] for one in await memories(door)) == sorted(ids[gone:])
        assert await is_whole(door)
    assert len(door.worker.sealing.keys.ring.ids_of(OWNER)) == 1


async def test_asked_again_nothing_is_sealed_again(door: FrontDoor):
    memory_id = (await lives(door))["memory_id"]
    receipt = await erased(door, memory_id)
    keys = door.worker.sealing.keys.ring.ids_of(OWNER)
    assert await erased(door, memory_id) == receipt
    assert door.worker.sealing.keys.ring.ids_of(OWNER) == keys


async def test_what_a_sealing_that_was_cut_off_had_replaced_before_cannot_be_opened_either(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    """All that still says the word is a replacement that another has superseded: nothing that is read says it."""
    home = await lives(door)
    original, puts = Replacements.put, 0

    async def away(*_: Any) -> None:
        raise LogUnavailable("away")

    async def away_after_the_decisions(*given: Any) -> None:
        nonlocal puts
        puts += 1
        await (original if puts == 1 else away)(*given)

    async def cut_off(whose: type, method: str, instead: Callable[..., Awaitable[None]]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(whose, method, instead)
            with pytest.raises(LogUnavailable):
                await door.worker.memory_erasures.erase(OWNER, home["memory_id"], "once")

    others = [(await memory_with(door, word))["memory_id"] for word in ("Quirinius", "Zorblattia")]
    await cut_off(UserKeys, "renew", away)  # decided, and all of it is still to be removed
    for memory_id in others:  # the first with the turn that both came from; then every decision is replaced
        await erased(door, memory_id)
    await cut_off(Replacements, "put", away_after_the_decisions)
    await erased(door, home["memory_id"])
    for record in await door.worker._inner_log.read(REPLACEMENTS.name, 0, 0):
        place, _, _ = (record.key or b"").decode().rpartition("/")
        key_id = sealed_record.key_id_of(record.value)
        cipher = await door.worker.sealing.keys.opening(key_id) if key_id else None
        if cipher is not None:
            _, value = sealed_record.open_sealed(cipher, place, record.value)
            assert WORD.encode() not in value


async def test_replacements_that_nobody_reads_are_deleted(door: FrontDoor):
    first = (await door.remember("keeps a Mirvandel", USER))["memory_id"]
    second = (await door.remember("keeps a Bexomoor", USER))["memory_id"]
    await erased(door, first)
    await erased(door, second)
    replacements = door.worker.log.replacements
    assert replacements is not None
    living = set(door.worker.sealing.keys.ring.ids_of(OWNER))
    assert {key for found in replacements._offsets.values() for key in found} == living


async def test_its_user_can_be_erased_afterwards(door: FrontDoor, tmp_path: Path):
    empty = await digest(door)
    await erased(door, (await lives(door))["memory_id"])
    assert (await door.http.delete(f"/v1/users/{USER}")).status_code == 200
    assert await digest(door) == empty
    assert await where_said(door, tmp_path, "Zorblattia") == []
    assert await is_whole(door)


async def test_its_user_can_be_erased_meanwhile(door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    empty = await digest(door)
    await erased_with_its_user_meanwhile(door, monkeypatch, Replacements, "put")
    for word in (WORD, "Zorblattia", "likes tea"):
        assert await where_said(door, tmp_path, word) == []
    held = [one for one in await door.worker._inner_log.read(REPLACEMENTS.name, 0, 0) if one.value]
    living = door.worker.sealing.keys.ring.ids_of(OWNER)
    assert [one for one in held if sealed_record.key_id_of(one.value) in living] == []
    assert await digest(door) == empty


@pytest.mark.parametrize("call", [1, 2, 3])
async def test_what_is_decided_while_its_words_are_removed_stays_as_it_was(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
):
    await forgotten_while_its_words_are_removed(door, monkeypatch, call)
    assert await where_said(door, tmp_path, WORD) == []


async def test_two_of_one_user_at_once_both_go(door: FrontDoor, tmp_path: Path):
    memory = await lives(door)
    work = await memory_with(door, "Zorblattia")
    await door.remember("likes tea", USER)
    await door.worker.memory_erasures.erase(OWNER, memory["memory_id"], "one")
    await erased(door, work["memory_id"])
    for word in (WORD, "Zorblattia"):
        assert await where_said(door, tmp_path, word) == []
    assert await where_said(door, tmp_path, "likes tea")
    assert await is_whole(door)


@pytest.mark.parametrize(
    ("whose", "method", "call"),
    [
        (UserKeys, "renew", 1),
        (Replacements, "put", 1),
        (Replacements, "put", 2),
        (Replacements, "put", 3),
        (UserKeys, "destroy", 1),
        (Replacements, "trim", 1),
        (Copies, "delete", 1),
    ],
)
@pytest.mark.parametrize("is_after", [False, True])
async def test_what_a_crash_cut_off_is_finished_at_the_next_start(
    tmp_path: Path, whose: type, method: str, call: int, *, is_after: bool
):
    with pytest.MonkeyPatch.context() as patch:
        async with front_door(tmp_path) as door:
            memory = await lives(door)
            await door.remember("likes tea", USER)
            original, calls = getattr(whose, method), 0

            async def crash(*given: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls < call:
                    return await original(*given)
                if is_after:
                    await original(*given)
                raise Crash

            patch.setattr(whose, method, crash)
            with pytest.raises(Crash):
                await door.worker.memory_erasures.erase(OWNER, memory["memory_id"], "once")
            assert await memory_with(door, "likes tea")
    async with front_door(tmp_path) as door:
        await door.worker.erasure_recovery.repeat()
        assert await where_said(door, tmp_path, WORD) == []
        assert await where_said(door, tmp_path, "Zorblattia")
        assert len((await door.get("/v1/erasures")).json()["items"]) == 1
        await door.post("/v1/events", turn("t3", "I live in Ulmwick.", user_id=USER, session_id="s3"))
        assert (await door.post("/v1/admin/drain")).status_code == 200
        assert await is_whole(door)
