"""observe and remember around an erasure: what it takes is dropped wherever it is, and what outlives it is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.examples import envelope, later, remember
from support.workbench import Workbench

from schemas import codec
from schemas.messages.erasure import Cut, EraseUser
from schemas.messages.inbox import CandidatesExtracted
from schemas.topics import CONVERSATIONS, INBOX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


COFFEE = "用户喜欢喝咖啡"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one")
    yield bench
    bench.close()
    assert bench.failures == []


def erasing(before: int, *key_ids: bytes, name: str = "erase") -> EraseUser:
    """Return the item that erases what stands before an offset of the conversations."""
    cut = [Cut(topic=CONVERSATIONS.name, before=before)]
    return EraseUser(envelope=envelope(name, later(days=1)), cut=cut, key_ids=list(key_ids), observations=0)


def covered(bench: Workbench) -> list[str]:
    return sorted(bench.state().covered)


async def decides_answers(bench: Workbench, start: int = 0) -> None:
    """Decide on the answers in the inbox from an offset on, as remember does that reads it."""
    for record in await bench.log.read(INBOX.name, 0, start):
        if isinstance(codec.decode(record.value), CandidatesExtracted):
            await bench.remembers(record)


async def test_a_turn_that_comes_after_its_erasure_is_acknowledged_and_no_more(bench: Workbench):
    turn = await bench.says("t-0")
    await bench.decides(erasing(turn.position.offset + 1))
    await bench.observes(turn, await bench.ends("e-1"))
    assert (bench.extractor.asked, str(turn.position) in bench.acked) == ([], True)
    assert ("observe", "erased") in bench.counts


async def test_an_open_window_keeps_what_outlives_the_erasure(bench: Workbench):
    old, new = await bench.says("t-old"), await bench.says("t-new")
    await bench.observes(old, new)
    await bench.decides(erasing(new.position.offset))
    await bench.observes(await bench.ends("e-1"))
    assert bench.extractor.asked == [["t-new#0"]]
    assert {str(old.position), str(new.position)} <= set(bench.acked)
    await decides_answers(bench)
    assert covered(bench) == ["t-new#0"]


async def test_an_answer_to_both_is_void_and_what_outlives_is_asked_again(bench: Workbench):
    old, new = await bench.says("t-old"), await bench.says("t-new")
    await bench.observes(old, new, await bench.ends("e-1"))
    both = await bench.answers()
    assert [c.piece_id for c in both[0].covered] == ["t-old#0", "t-new#0"]
    erasure = await bench.asks(erasing(new.position.offset))
    # Appended by a worker that did not know of the erasure, behind it.
    late = await bench.asks(replace(both[0], envelope=replace(both[0].envelope, event_id="late")))
    await bench.remembers(erasure, late)
    assert (covered(bench), list(bench.state().memories)) == ([], [])
    await bench.observe.resumption.run()
    await bench.asking_pool.settle()
    assert bench.extractor.asked == [["t-old#0", "t-new#0"], ["t-new#0"]]
    await decides_answers(bench, late.position.offset + 1)
    assert covered(bench) == ["t-new#0"]
    assert len(bench.state().memories) == 1


async def test_who_gets_the_partition_resumes_what_its_former_worker_left(bench: Workbench, tmp_path: Path):
    turn = await bench.says("t-new")
    await bench.observes(turn, await bench.ends("e-1"))
    erasure = await bench.asks(erasing(turn.position.offset))
    await bench.remembers(erasure)  # the answer stands before it, and is decided no more
    after = Workbench(tmp_path / "two", bench.log)
    await after.remembers()
    await after.observe.resumption.run()
    await after.asking_pool.settle()
    assert after.extractor.asked == [["t-new#0"]]
    await after.observe.resumption.run()
    await after.asking_pool.settle()
    assert len(after.extractor.asked) == 1
    await decides_answers(after, erasure.position.offset + 1)
    assert covered(after) == ["t-new#0"]
    after.close()


async def test_an_item_that_is_delivered_again_after_the_erasure_is_no_dead_letter(bench: Workbench):
    item = await bench.decides(remember(COFFEE, "c-1"))
    await bench.decides(erasing(0))
    await bench.remembers(item)
    assert (await bench.dead(), list(bench.state().memories)) == ([], [])
    assert ("remember", "erased") in bench.counts
    assert bench.acked.count(str(item.position)) == 2


async def test_an_erasure_that_was_appended_twice_destroys_the_keys_of_the_first_only(bench: Workbench):
    await bench.decides(erasing(0, b"old"))
    await bench.decides(erasing(0, b"old", b"of what was accepted since"))
    assert set(bench.destroyed) == {b"old"}
