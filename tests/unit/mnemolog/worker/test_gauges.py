"""Gauges are there when they are wanted most."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from support.examples import remember
from support.failing_disk import failing_disk
from support.workbench import Workbench

from mnemolog.worker.gauges import Gauges
from projections.shard.errors import ShardUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.operations.rebuild import Rebuilder
    from mnemolog.worker.lag import Lag, Lags


class NoLags:
    """Nothing waits."""

    async def here(self) -> list[Lag]:
        return []


def active(gauges: Gauges) -> float:
    [memories] = [one for one in gauges.collect() if one.name == "mnemolog_memories"]
    return next(sample.value for sample in memories.samples if sample.labels["status"] == "active")


async def test_while_a_shard_cannot_be_written_its_memories_are_counted_as_they_were(tmp_path: Path):
    bench = Workbench(tmp_path)
    gauges = Gauges(bench.log, bench.shards, cast("Rebuilder", None), cast("Lags", NoLags()))
    await bench.decides(remember("喜欢咖啡", "c-1"))
    bench.shards.at(0).committed_file()
    await bench.decides(remember("喜欢茶", "c-2"))
    with failing_disk():
        with pytest.raises(ShardUnavailable):
            bench.shards.at(0).committed_file()
        await gauges.look()
    assert active(gauges) == 1
    await gauges.look()
    assert active(gauges) == 2
    bench.close()
