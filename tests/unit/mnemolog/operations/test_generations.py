"""The pointer to the active generation, and shards that are no folds of the log at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, remember
from support.memory_log import MemoryLog
from support.workbench import Workbench

from mnemolog.operations.generations import NO_SWITCHES, Generations, active_folder
from projections.shard.rows.damage import LedgerDamaged
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("content", ["", "x", "1\x00"])
def test_a_pointer_that_was_cut_off_names_the_newest_generation_again(tmp_path: Path, content: str):
    (tmp_path / "shards" / "3").mkdir(parents=True)
    (tmp_path / "shards" / "active").write_text(content, "ascii")
    assert active_folder(tmp_path).name == "3"
    assert (tmp_path / "shards" / "active").read_text("ascii") == "3 0"


@pytest.mark.parametrize(("content", "expected"), [("4", (4, 0)), ("4 7", (4, 7))])
def test_the_pointer_counts_switches_and_one_that_does_not_yet_has_made_none(
    tmp_path: Path, content: str, expected: tuple[int, int]
):
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "active").write_text(content, "ascii")
    found = Generations(tmp_path)
    assert (found.active, found.switches) == expected
    found.activate(9, 12)
    assert (found.active, found.switches) == (9, 12)


def test_without_any_generation_the_first_one_is_active_and_follows_no_switch(tmp_path: Path):
    assert active_folder(tmp_path).name == "1"
    assert Generations(tmp_path).switches == NO_SWITCHES


async def test_a_shard_that_is_ahead_of_its_log_is_no_reason_to_believe_the_log(tmp_path: Path):
    """Somebody restored an older copy of the log, or gave the shards another one."""
    bench = Workbench(tmp_path / "one")
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    assert await bench.shards.takeover.comparison.follows_log(bench.shards.at(0))
    bench.close()
    other = Workbench(tmp_path / "one", MemoryLog(1))
    other.shards.assignment.release(0)
    with pytest.raises(LedgerDamaged, match=r"up to offset 1, and the log ends at 0 .*remove .*0\.sqlite"):
        await other.shards.takeover.hold(0)
    other.close()
    (tmp_path / "one" / "0.sqlite").unlink()  # what it says
    other = Workbench(tmp_path / "one", MemoryLog(1))
    assert other.shards.at(0).offset(LEDGER.name) == 0
    assert not other.state().memories
    await other.decides(remember("用户喜欢喝茶", "c-2"))
    assert [m.content for m in other.shards.state(XIAOMING).memories.values()] == ["用户喜欢喝茶"]
    other.close()


async def test_a_log_that_has_grown_past_a_shard_is_recognised_as_another_one_by_the_last_record(tmp_path: Path):
    bench = Workbench(tmp_path / "one")
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    bench.close()
    longer = Workbench(tmp_path / "two")
    for number in range(3):
        await longer.decides(remember(f"第{number}件事", f"d-{number}"))
    mixed = Workbench(tmp_path / "one", longer.log)
    assert not await mixed.shards.takeover.comparison.follows_log(mixed.shards.at(0))
    mixed.shards.assignment.release(0)
    with pytest.raises(LedgerDamaged, match="the record at 0 is another one by now"):
        await mixed.shards.takeover.hold(0)
    mixed.close()
    longer.close()
