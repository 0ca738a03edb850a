"""Past states are made one at a time, so that the event loop has the interpreter to itself but for one thread."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from support.examples import XIAOMING, later, remember
from support.workbench import CharacterEmbedder, Workbench

from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.queries import search
from projections.queries.queries import Queries
from projections.state.time_travel import state_at

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from projections.state.memory import UserState


async def test_past_states_are_made_one_at_a_time_and_one_that_is_given_up_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    making, most = 0, 0

    def slow_state(*args: Any) -> UserState:
        nonlocal making, most
        making += 1
        most = max(most, making)
        time.sleep(0.05)
        making -= 1
        return state_at(*args)

    monkeypatch.setattr(search, "state_at", slow_state)
    bench = Workbench(tmp_path)
    queries = Queries(bench.shards, IndexSync(EmbeddedIndex, ShardIndexSource(bench.shards)), CharacterEmbedder())
    await bench.decides(remember("用户有一只猫", "c-1"))
    held = bench.shards.resolve(XIAOMING)
    asked = [asyncio.ensure_future(queries.state(held, later(hours=2), later(hours=1))) for _ in range(4)]
    await asyncio.sleep(0)
    asked.pop(1).cancel()
    assert [len(state.memories) for state in await asyncio.gather(*asked)] == [1, 1, 1]
    assert most == 1
    bench.close()
