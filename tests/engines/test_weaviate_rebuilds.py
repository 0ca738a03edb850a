"""Rebuilds with the index in Weaviate: what is searched is always a generation that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.index_examples import COFFEE, FOOD, query
from engines.weaviate_door import door_of, found

from mnemolog.operations.rebuild import RebuildInterrupted, RebuildPlan
from projections.shard.errors import ShardUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from support.weaviate_server import WeaviateServer


async def test_a_rebuild_of_the_index_leaves_everything_to_be_found(node: WeaviateServer, tmp_path: Path):
    async with door_of(tmp_path, node) as door:
        assert (await door.worker.rebuild.run("all"))["equal"]  # of nothing yet
        await door.remember("likes green tea")
        assert (await door.worker.rebuild.run("index"))["equal"]
        assert await found(door, "u1", "tea") == ["likes green tea"]
        assert (await door.worker.rebuild.run("all"))["equal"]
        assert await found(door, "u1", "tea") == ["likes green tea"]


async def test_a_rebuild_whose_switch_fails_leaves_the_collections_as_they_were(node: WeaviateServer, tmp_path: Path):
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea")
        generations = door.worker.index_sync.generations
        assert generations is not None
        assert await found(door, "u1", "tea") == ["likes green tea"]
        before = await generations.known()
        in_the_way = tmp_path / "worker" / "shards" / "active.new"  # the pointer cannot be written
        in_the_way.mkdir()
        with pytest.raises(ShardUnavailable, match="look at its disk"):
            await door.worker.rebuild.run("all")
        assert await generations.known() == before
        assert await found(door, "u1", "tea") == ["likes green tea"]
        in_the_way.rmdir()
        assert (await door.worker.rebuild.run("all"))["equal"]
        assert await found(door, "u1", "tea") == ["likes green tea"]


async def test_an_index_that_a_worker_does_not_follow_any_more_is_not_switched_to(
    node: WeaviateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As when a worker that has switched is killed and comes back while others still switch."""
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea")
        rebuilder, generations = door.worker.rebuilder, door.worker.index_sync.generations
        assert generations is not None
        before, switch = await generations.known(), rebuilder.switch

        async def switch_and_forget(plan: RebuildPlan) -> None:
            await switch(plan)
            await rebuilder.drop(plan.rebuild_id)

        with monkeypatch.context() as dying:
            dying.setattr(rebuilder, "switch", switch_and_forget)
            with pytest.raises(RebuildInterrupted):
                await door.worker.rebuild.run("all")
        assert await generations.known() == before
        await door.remember("likes black tea")
        assert set(await found(door, "u1", "tea")) == {"likes green tea", "likes black tea"}
        assert (await door.worker.rebuild.run("all"))["equal"]
        assert set(await found(door, "u1", "tea")) == {"likes green tea", "likes black tea"}


async def test_other_memories_in_the_index_are_dropped_by_a_rebuild(node: WeaviateServer, tmp_path: Path):
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea", "u1")
        await door.worker.index_sync.index.put([COFFEE])
        assert (await door.worker.index_sync.index.search(query(vector=FOOD))).semantic
        await door.worker.rebuild.run("index")
        assert not (await door.worker.index_sync.index.search(query(vector=FOOD))).semantic
        assert await found(door, "u1", "tea") == ["likes green tea"]


async def test_a_generation_that_others_gave_up_and_deleted_keeps_no_search_waiting(
    node: WeaviateServer, tmp_path: Path
):
    """As for a worker that froze in a rebuild, whose partitions others had until it woke."""
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea")
        following = door.worker.index_sync
        assert following.generations is not None
        await following.build(7, door.worker.shards.users.owners())
        await following.generations.drop(7)
        await door.remember("plays the cello")
        assert sorted(await found(door, "u1", "cello tea")) == ["likes green tea", "plays the cello"]
