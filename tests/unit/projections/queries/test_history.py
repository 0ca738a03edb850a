"""The history of a memory is read while others have their turn: also who erases the memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, envelope, later, remember
from support.workbench import CharacterEmbedder, Workbench

from projections import turns
from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.queries.queries import Queries, UnknownMemory
from schemas.messages.erasure import EraseMemory

if TYPE_CHECKING:
    from pathlib import Path

DECISIONS = 100
"""So many take more steps to read than an erasure takes."""


async def test_a_memory_that_is_erased_while_its_history_is_read_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "TURN_SECONDS", -1.0)
    bench = Workbench(tmp_path)
    queries = Queries(bench.shards, IndexSync(EmbeddedIndex, ShardIndexSource(bench.shards)), CharacterEmbedder())
    for number in range(DECISIONS):
        await bench.decides(remember(f"用户有一只猫{number}", f"c-{number}"))
    memory_id = next(iter(bench.state().memories))
    reading = asyncio.ensure_future(queries.history(XIAOMING.tenant, memory_id))
    await asyncio.sleep(0)
    assert not reading.done()
    erase = EraseMemory(envelope=envelope("e-1", later(hours=1)), memory_id=memory_id, event_ids=[], letters=[])
    await bench.decides(erase)
    assert memory_id not in bench.state().memories
    assert not reading.done()
    with pytest.raises(UnknownMemory, match=memory_id):
        await reading
    bench.close()
