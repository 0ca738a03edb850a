"""Another encoder with the index in Weaviate: what serves and what the index holds are one encoder's, come what may."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from engines.weaviate_door import door_of
from support.tiny_encoder import write_encoder

from mnemolog.operations.rebuild import RebuildInterrupted, RebuildPlan

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor
    from support.weaviate_server import WeaviateServer


async def semantic(door: FrontDoor, query: str) -> dict[str, float]:
    body = {"user_id": "u1", "query": query, "include": ["memories"], "recall": False, "limit": 20}
    found = (await door.post("/v1/search", body)).json()["results"]
    return {hit["content"]: hit["scores"]["semantic"] for hit in found}


async def test_a_switch_that_fails_half_way_goes_back_and_the_next_one_is_made(
    node: WeaviateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As when a worker dies after it has begun: what was formed meanwhile is found by the encoder that serves again."""
    tiny = f"onnx:{write_encoder(tmp_path / 'tiny')}"
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea", "u1")
        before = await semantic(door, "likes green tea")
        rebuilder, reembed = door.worker.rebuilder, door.worker.reembed
        switch = rebuilder.switch

        async def switch_and_forget(plan: RebuildPlan) -> None:
            await switch(plan)
            assert reembed.active == tiny
            await door.remember("likes black tea", "u1")
            assert set(await semantic(door, "likes black tea")) == {"likes green tea", "likes black tea"}
            await rebuilder.drop(plan.rebuild_id)

        with monkeypatch.context() as dying:
            dying.setattr(rebuilder, "switch", switch_and_forget)
            with pytest.raises(RebuildInterrupted):
                await reembed.activate(tiny)
        assert (reembed.active, door.worker.embedder.former) == ("builtin", None)
        assert (await semantic(door, "likes green tea"))["likes green tea"] == before["likes green tea"]
        async with asyncio.timeout(180):
            while (await semantic(door, "likes black tea"))["likes black tea"] < 0.99:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.2)
        await reembed.activate(tiny)
        for fact in ("likes green tea", "likes black tea"):
            assert (await semantic(door, fact))[fact] == pytest.approx(1, abs=1e-4)
        await reembed.activate("builtin")
        for fact in ("likes green tea", "likes black tea"):
            assert (await semantic(door, fact))[fact] > 0.99
    async with door_of(tmp_path, node) as door:
        assert door.worker.reembed.active == "builtin"
        assert (await semantic(door, "likes black tea"))["likes black tea"] > 0.99


async def test_a_rebuild_of_the_index_keeps_the_vectors_of_the_encoder_that_serves(
    node: WeaviateServer, tmp_path: Path
):
    tiny = f"onnx:{write_encoder(tmp_path / 'tiny')}"
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea", "u1")
        await door.worker.reembed.activate(tiny)
        after = await semantic(door, "drinks green tea")
        assert (await door.worker.rebuild.run("index"))["equal"]
        assert await semantic(door, "drinks green tea") == after
        assert (await door.worker.rebuild.run("all"))["equal"]
        assert await semantic(door, "drinks green tea") == after
