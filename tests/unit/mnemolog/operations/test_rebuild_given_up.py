"""A rebuild that is given up is built no further, and leaves nothing that could be switched to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.examples import remember
from support.memory_log import MemoryLog
from support.workbench import Workbench

from mnemolog.operations.rebuild import Rebuilder, RebuildInterrupted, RebuildPlan
from schemas.topics import GLOBALS

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.log import Record

SECONDS = 120.0
GIVEN_UP = RebuildPlan("all", 2, "given up", 1)
WANTED = RebuildPlan("all", 2, "wanted", 1)


class HeldUpLog(MemoryLog):
    """A read waits while `goes_on` is not set; `asked` tells that one does, and `read_from` lists their topics."""

    def __init__(self) -> None:
        """Hold up nothing at first."""
        super().__init__(1)
        self.goes_on, self.asked = asyncio.Event(), asyncio.Event()
        self.goes_on.set()
        self.read_from: list[str] = []

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """Return records when it may."""
        self.read_from.append(topic)
        if not self.goes_on.is_set():
            self.asked.set()
            await self.goes_on.wait()
        return await super().read(topic, partition, start, limit)


async def test_a_rebuild_that_is_given_up_while_it_folds_is_built_no_further(tmp_path: Path):
    log = HeldUpLog()
    bench = Workbench(tmp_path / "shards" / "1", log)
    rebuilder = Rebuilder(tmp_path, log, bench.shards, bench.index_sync)
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    log.goes_on.clear()
    log.read_from.clear()
    building = asyncio.create_task(rebuilder.build(GIVEN_UP))
    async with asyncio.timeout(SECONDS):
        await log.asked.wait()
        dropping = asyncio.create_task(rebuilder.drop(GIVEN_UP.rebuild_id))
        await asyncio.sleep(0)
        log.goes_on.set()
        with pytest.raises(RebuildInterrupted, match="the caller has given the rebuild up"):
            await building
        await dropping
    assert GLOBALS.name not in log.read_from, log.read_from
    assert (rebuilder.is_running, rebuilder.progress.ratio) == (False, 1.0)
    assert rebuilder.generations.complete() == [1]
    with pytest.raises(RebuildInterrupted, match="the caller has given the rebuild up"):
        await rebuilder.switch(GIVEN_UP)
    await rebuilder.build(WANTED)
    await rebuilder.switch(WANTED)
    assert (rebuilder.generations.active, rebuilder.generations.complete()) == (2, [1, 2])
    assert [one.content for one in bench.state().memories.values()] == ["用户喜欢喝咖啡"]
    bench.close()
