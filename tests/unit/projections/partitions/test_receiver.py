"""A shard that is copied from another worker is what folding gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.copied_shards import FACTS, CountedLog, Neighbour, hold, is_a_fold, left_over, moves_away
from support.examples import XIAOMING, remember
from support.workbench import Workbench

from projections.partitions.sender import InUse, ShardSender

if TYPE_CHECKING:
    from pathlib import Path

    from projections.partitions.shards import Shards


async def test_a_copy_holds_what_a_fold_holds_and_the_log_is_not_read(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    neighbour = await moves_away(giver)
    log.given = 0
    await hold(taker, log, neighbour)
    assert (neighbour.asked_for, taker.held(), left_over(tmp_path)) == (1, [0], [])
    assert log.given < FACTS  # the marks, and no more
    assert await is_a_fold(taker, log, tmp_path)


async def test_what_was_decided_after_the_copy_is_folded(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    neighbour = await moves_away(giver)
    between = Workbench(tmp_path / "between", log)
    await between.decides(remember("用户喜欢喝咖啡", "c-after"))
    between.close()
    await hold(taker, log, neighbour)
    assert neighbour.asked_for == 1
    assert len(taker.state(XIAOMING).memories) == FACTS + 1
    assert await is_a_fold(taker, log, tmp_path)


async def test_an_older_file_of_ones_own_gives_way_with_everything_that_was_in_memory(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    await giver.decides(remember("用户喜欢喝咖啡", "c-before"))
    neighbour = Neighbour(giver.shards.takeover.sender)
    await hold(taker, log, neighbour)
    before = taker.at(0)
    assert len(taker.state(XIAOMING).memories) == 1
    taker.assignment.release(0)
    await hold(taker, log, await moves_away(giver))
    assert before.retired
    assert len(taker.state(XIAOMING).memories) == FACTS + 1
    assert await is_a_fold(taker, log, tmp_path)


async def test_how_far_a_shared_index_has_been_brought_comes_with_the_copy(
    giver: Workbench, taker: Shards, log: CountedLog
):
    giver.shards.at(0).keep_indexed("weaviate-1", 7)
    await hold(taker, log, await moves_away(giver))
    assert (taker.at(0).indexed("weaviate-1"), taker.at(0).indexed("weaviate-2")) == (7, 0)


async def test_what_a_killed_process_left_in_the_write_ahead_log_is_lent_too(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    for number in range(FACTS):
        await giver.decides(remember(f"用户喜欢第{number}种茶", f"c-{number}"))
    (tmp_path / "killed").mkdir()
    for file in (tmp_path / "giver").glob("0.sqlite*"):  # as they stand while it is open
        (tmp_path / "killed" / file.name).write_bytes(file.read_bytes())
    assert (tmp_path / "killed" / "0.sqlite-wal").stat().st_size
    await hold(taker, log, Neighbour(ShardSender(lambda p: tmp_path / "killed" / f"{p}.sqlite", lambda _: False)))
    assert len(taker.state(XIAOMING).memories) == FACTS


async def test_a_file_that_is_open_is_not_lent(giver: Workbench):
    sender = giver.shards.takeover.sender
    for _ in range(2):  # held, then resting
        with pytest.raises(InUse):
            await sender.offer(0)
        with pytest.raises(InUse):
            await anext(sender.content(0))
        giver.shards.assignment.release(0)
    giver.shards.takeover.assign([])
    offer = await sender.offer(0)
    assert offer is not None
    assert await sender.offer(1) is None


async def test_what_is_little_is_folded_without_asking(giver: Workbench, taker: Shards, log: CountedLog):
    neighbour = await moves_away(giver)
    await hold(taker, log, neighbour, worth=FACTS * 3)
    assert (neighbour.asked_for, len(taker.state(XIAOMING).memories)) == (0, FACTS)


async def test_a_file_that_is_hardly_ahead_of_ones_own_is_not_copied(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    neighbour = await moves_away(giver, facts=3)
    between = Workbench(tmp_path / "between", log)
    await moves_away(between)
    between.close()
    await hold(taker, log, neighbour)
    assert neighbour.asked_for == 0
    assert await is_a_fold(taker, log, tmp_path)
