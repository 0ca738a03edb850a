"""While the embedder is away a search finds by words where the vectors are in Weaviate too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.weaviate_door import door_of

if TYPE_CHECKING:
    from pathlib import Path

    from support.weaviate_server import WeaviateServer


async def test_while_the_embedder_is_away_the_words_are_searched(tmp_path: Path, weaviate: WeaviateServer):
    async with door_of(tmp_path, weaviate) as door:
        await door.remember("likes green tea", "words", category="preference")
        await door.remember("drinks green tea at the Lotus house", "words", category="habit")
        await door.remember("plays the cello", "words")
        asked = {"user_id": "words", "query": "green tea", "recall": False}
        whole = (await door.post("/v1/search", asked)).json()
        door.embedder.is_down = True
        found = (await door.post("/v1/search", asked)).json()
        filtered = (await door.post("/v1/search", asked | {"filters": {"category": "habit"}})).json()
        door.embedder.is_down = False
        again = (await door.post("/v1/search", asked)).json()
    assert found["degraded"] == ["semantic"]
    assert {one["memory"] for one in found["results"]} == {"likes green tea", "drinks green tea at the Lotus house"}
    assert [one["memory"] for one in filtered["results"]] == ["drinks green tea at the Lotus house"]
    assert "degraded" not in whole
    assert "degraded" not in again
    assert [one["memory_id"] for one in again["results"]] == [one["memory_id"] for one in whole["results"]]
