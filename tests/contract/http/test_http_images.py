"""Pictures through the front door: a model that sees describes them once, and without one they are refused."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import front_door
from contract.scripted_model import ScriptedModel

from schemas.log import NewRecord
from schemas.topics import SCREENSHOTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
IMAGE = b64encode(PNG).decode()


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(lambda lines: [{"content": "A bill of 42 euros", "sources": [n]} for n, _ in lines]) as scripted:
        yield scripted


def picture(event_id: str, **more: object) -> dict[str, Any]:
    return {"type": "ScreenshotAnalysed", "event_id": event_id, "user_id": "u1", "app": "Bank"} | more


async def test_a_picture_is_described_once_and_a_rebuild_asks_nobody(tmp_path: Path, model: ScriptedModel):
    seeing = {
        "llm_vision": True,
        "image_hosts": "img.example.org",
        "llm_base_url": model.base_url,
        "extractor": "model",
    }
    async with front_door(tmp_path, **seeing) as door:
        done = await door.http.post("/v1/events?wait=60", json=picture("p-1", image=IMAGE))
        assert done.status_code == 200, done.text
        [accepted] = done.json()["accepted"]
        assert (accepted["state"], len(accepted["memory_ids"])) == ("remembered", 1)
        [asked] = model.requests
        [said, shown] = asked["messages"][-1]["content"]
        assert said["text"].endswith("Bank: (see the picture)")
        assert shown["image_url"]["url"] == f"data:image/png;base64,{IMAGE}"
        [memory] = (await door.get("/v1/memories", user_id="u1")).json()["items"]
        assert (memory["content"], memory["source_type"], memory["source_ids"]) == (
            "A bill of 42 euros",
            "photo",
            ["p-1"],
        )
        assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
        linked = await door.http.post("/v1/events", json=picture("p-2", image_url="https://evil.example.net/a.png"))
        assert linked.status_code == 422
        assert linked.json()["errors"][0]["path"] == "$.image_url"
        assert len(model.requests) == 1


async def test_without_a_model_that_sees_a_picture_is_refused_and_one_of_low_relevance_is_kept(tmp_path: Path):
    async with front_door(tmp_path) as door:
        refused = await door.http.post("/v1/events", json=[picture("p-1", image=IMAGE)])
        assert refused.status_code == 422
        [error] = refused.json()["errors"]
        assert error["path"] == "$[0].image"
        assert "set MNEMOLOG_LLM_VISION=true" in error["message"]
        low = await door.http.post("/v1/events?wait=60", json=picture("p-2", image=IMAGE, relevance="low"))
        assert low.json()["accepted"][0]["state"] == "nothing"


async def test_a_picture_on_the_topic_that_nobody_sees_is_rejected_with_the_reason(tmp_path: Path):
    async with front_door(tmp_path, partitions=1) as door:
        value = orjson.dumps(picture("p-1", image=IMAGE))
        await door.worker.log.append([NewRecord(topic=SCREENSHOTS.name, partition=0, key=b"default/u1", value=value)])
        await door.post("/v1/admin/drain", {})
        state = (await door.get("/v1/events/p-1", user_id="u1")).json()
        assert state["state"] == "rejected"
        assert "no model here sees images" in state["reason"]
