"""A page of what is kept in order is that of the whole list, and as many are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.examples import LUNA, XIAOMING, later, remember
from support.workbench import CharacterEmbedder, Workbench

from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.queries.filters import Filters
from projections.queries.queries import Queries

if TYPE_CHECKING:
    from pathlib import Path

MANY = 23


@pytest.mark.parametrize("agent_id", [None, LUNA, "another"])
async def test_a_page_is_a_part_of_the_list(tmp_path: Path, agent_id: str | None):
    bench = Workbench(tmp_path)
    for number in range(MANY):
        more: dict[str, Any] = {"memory_type": "short_term"} if number % 5 == 0 else {}
        agent = LUNA if number % 2 else None
        await bench.decides(remember(f"事实{number}", f"c-{number}", agent_id=agent, importance=number % 4 / 4, **more))
    queries = Queries(bench.shards, IndexSync(EmbeddedIndex, ShardIndexSource(bench.shards)), CharacterEmbedder())
    held = bench.shards.resolve(XIAOMING)
    for now in (later(hours=1), later(hours=1_000)):  # by then what is short-lived is over
        listed = await queries.memories(await queries.state(held, now), Filters(agent_id=agent_id), now)
        for begin in range(0, MANY + 5, 5):
            page, total = await queries.page(held, agent_id, now=now, begin=begin, end=begin + 5)
            assert (page, total) == (listed[begin : begin + 5], len(listed))
    bench.close()
