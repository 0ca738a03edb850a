"""What the model cost, by user, agent and day: counted from the log, once an answer, and found again by a rebuild."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from contract.front_door import FrontDoor, front_door, turn
from contract.scripted_model import ScriptedModel

from schemas import codec
from schemas.instant import instant
from schemas.log import NewRecord
from schemas.messages.inbox import CandidatesExtracted
from schemas.topics import INBOX

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = {"items": [], "calls": 0, "tokens_in": 0, "tokens_out": 0}


async def usage(door: FrontDoor, **query: str | None) -> dict[str, Any]:
    answer = await door.get("/v1/admin/usage", **query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_what_the_model_cost_is_summed_by_user_agent_and_day(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            before = door.worker.clock.now()
            await door.http.post("/v1/events?wait=10", json=turn("a-1", "I live in Berlin."))
            model.play("prose", 3)  # asked again twice, then rejected: it costs as well
            await door.http.post("/v1/events?wait=10", json=turn("a-2", "I like tea.", session_id="s2"))
            await door.http.post("/v1/events?wait=10", json=turn("a-3", "I like tea.", user_id="u2", agent_id="zoe"))
            by_user = await usage(door)
            by_agent = await usage(door, by="agent")
            by_day = await usage(door, by="day")
            later = instant(door.worker.clock.now() + timedelta(seconds=1))
            assert await usage(door, since=later) == NOTHING
            assert await usage(door, until=instant(before)) == NOTHING
            assert await usage(door, since=instant(before), until=later) == by_user
        shutil.rmtree(tmp_path / "shards")
        async with front_door(tmp_path, **settings) as door:
            assert await usage(door) == by_user
    sums = {"calls": 3, "tokens_in": 500, "tokens_out": 50}
    assert {name: by_user[name] for name in sums} == sums
    assert by_user["items"] == [
        {"tenant": "default", "user_id": "u1", "calls": 2, "tokens_in": 400, "tokens_out": 40},
        {"tenant": "default", "user_id": "u2", "calls": 1, "tokens_in": 100, "tokens_out": 10},
    ]
    assert [row["agent_id"] for row in by_agent["items"]] == [None, "zoe"]
    assert by_day == {"items": [{"day": before.date().isoformat(), **sums}], **sums}


async def test_an_answer_that_is_repeated_is_counted_once(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k", "partitions": 1}
        async with front_door(tmp_path, **settings) as door:
            await door.http.post("/v1/events?wait=10", json=turn("a-1", "I live in Berlin."))
            once = await usage(door)
            [record] = await door.worker.log.read(INBOX.name, 0, 0)
            codec.decode_as(record.value, CandidatesExtracted)
            await door.worker.log.append([NewRecord(topic=INBOX.name, partition=0, key=record.key, value=record.value)])
            await door.post("/v1/admin/drain")
            assert await usage(door) == once


async def test_what_each_of_two_models_took_is_told_apart(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k", "llm_model": "small"}
        async with front_door(tmp_path, **settings, llm_second_model="large") as door:
            model.play("prose", 3)  # three times of the first, and then the second answers
            await door.http.post("/v1/events?wait=10", json=turn("a-1", "I live in Berlin."))
            by_model = await usage(door, by="model")
            metrics = (await door.get("/metrics")).text
            assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
            assert await usage(door, by="model") == by_model
    assert by_model == {
        "items": [
            {"model": "large", "calls": 1, "tokens_in": 100, "tokens_out": 10},
            {"model": "small", "calls": 1, "tokens_in": 300, "tokens_out": 30},
        ],
        "calls": 2,
        "tokens_in": 400,
        "tokens_out": 40,
    }
    assert 'mnemolog_tokens_by_model_total{direction="in",model="small"} 300.0' in metrics
    assert 'mnemolog_model_tokens_total{direction="in"} 400.0' in metrics


async def test_rules_cost_nothing(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.http.post("/v1/events?wait=10", json=turn("a-1", "I live in Berlin."))
        assert await usage(door) == NOTHING
        assert (await door.get("/v1/admin/usage", by="month")).status_code == 422
