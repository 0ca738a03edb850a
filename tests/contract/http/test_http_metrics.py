"""Metrics over HTTP: names and labels of the contract, true after what happened, and never an id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract.front_door import FrontDoor, front_door, turn
from contract.scripted_model import ScriptedModel
from prometheus_client.parser import text_string_to_metric_families

from schemas.log import NewRecord
from schemas.topics import ARTICLES

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {
    "items", "step_seconds", "lag_items", "lag_seconds", "redeliveries", "void_decisions", "retries", "rejections",
    "dead_letters", "model_requests", "model_tokens", "index_errors", "ticks", "memories", "rebuild_progress_ratio",
    "http_requests", "http_seconds", "event_loop_lag_seconds",
}  # fmt: skip


async def samples(door: FrontDoor) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample by its name without prefix, and its labels in order."""
    text = (await door.get("/metrics")).text
    return {
        (sample.name.removeprefix("mnemolog_"), tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_all_metrics_of_the_contract_are_there(tmp_path: Path):
    async with front_door(tmp_path) as door:
        text = (await door.get("/metrics")).text
    found = {family.name.removeprefix("mnemolog_") for family in text_string_to_metric_families(text)}
    assert found >= NAMES


async def test_what_happened_is_counted(tmp_path: Path):
    async with front_door(tmp_path) as door:
        events = [turn("m-1", "I live in Berlin."), turn("m-2", "Hello", role="system")]
        await door.http.post("/v1/events?wait=10", json=events)
        await door.worker.log.append([NewRecord(topic=ARTICLES.name, partition=0, key=None, value=b"{}")])
        await door.post("/v1/search", {"user_id": "u1", "query": "Berlin"})
        await door.post("/v1/admin/drain")
        await door.post("/v1/admin/ticks", {"as_of": "2026-02-05T08:00:00Z", "policy": "off"})
        counted = await samples(door)
    expected = {
        ("items_total", (("outcome", "taken"), ("step", "observe"))): 1,
        ("items_total", (("outcome", "nothing"), ("step", "observe"))): 1,
        ("items_total", (("outcome", "CandidatesExtracted"), ("step", "extract"))): 1,
        ("items_total", (("outcome", "formed"), ("step", "remember"))): 1,
        ("items_total", (("outcome", "found"), ("step", "query"))): 1,
        ("step_seconds_count", (("step", "extract"),)): 1,
        ("step_seconds_count", (("step", "query"),)): 1,
        ("lag_items", (("topic", "mnemolog.conversations"),)): 0,
        ("lag_items", (("topic", "mnemolog.inbox"),)): 0,
        ("lag_seconds", (("step", "extract"),)): 0,
        ("void_decisions_total", ()): 0,
        ("dead_letters_total", (("reason", "decode"), ("topic", "mnemolog.articles"))): 1,
        ("ticks_total", (("outcome", "applied"), ("policy", "off"))): 2,
        ("memories", (("status", "active"),)): 1,
        ("memories", (("status", "forgotten"),)): 0,
        ("rebuild_progress_ratio", ()): 1,
        ("http_requests_total", (("route", "/v1/events"), ("status", "200"))): 1,
        ("http_seconds_count", (("route", "/v1/search"),)): 1,
    }
    assert {name: counted.get(name) for name in expected} == expected


async def test_what_waits_for_its_session_to_end_is_behind(tmp_path: Path):
    async with front_door(tmp_path, idle_seconds=60) as door:
        await door.post("/v1/events", [turn("l-1", "I live in Berlin."), turn("l-2", "I like tea.")])
        counted = await samples(door)
        assert counted["lag_items", (("topic", "mnemolog.conversations"),)] == 2
        assert counted["lag_seconds", (("step", "extract"),)] >= 0


async def test_a_route_is_named_by_its_template_and_never_by_an_id(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.get("/v1/memories/secret-id")
        await door.get("/secret-path")
        await door.get("/v1/users/secret-user/profile")
        text = (await door.get("/metrics")).text
        counted = await samples(door)
    assert "secret" not in text
    assert counted["http_requests_total", (("route", "/v1/memories/{memory_id}"), ("status", "404"))] == 1
    assert counted["http_requests_total", (("route", "/v1/users/{user_id}/profile"), ("status", "200"))] == 1
    assert counted["http_requests_total", (("route", "unknown"), ("status", "404"))] == 1


async def test_two_workers_in_one_process_count_for_themselves(tmp_path: Path):
    async with front_door(tmp_path / "one") as one, front_door(tmp_path / "two") as two:
        await one.get("/health/live")
        name = ("http_requests_total", (("route", "/health/live"), ("status", "200")))
        assert (await samples(one))[name] == 1
        assert name not in await samples(two)


async def test_dead_letters_are_counted_over_a_restart(tmp_path: Path):
    name = ("dead_letters_total", (("reason", "decode"), ("topic", "mnemolog.articles")))
    async with front_door(tmp_path) as door:
        await door.worker.log.append([NewRecord(topic=ARTICLES.name, partition=0, key=None, value=b"{}")])
        await door.post("/v1/admin/drain")
        assert (await samples(door))[name] == 1
    async with front_door(tmp_path) as door:
        assert (await samples(door))[name] == 1


async def test_what_the_model_was_asked_and_what_it_cost_is_counted(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            await door.http.post("/v1/events?wait=10", json=turn("a-1", "I live in Berlin."))
            model.play("prose")
            await door.http.post("/v1/events?wait=10", json=turn("a-2", "I like tea.", session_id="s2"))
            model.play("500", 1)
            await door.http.post("/v1/events?wait=10", json=turn("a-3", "I like coffee.", session_id="s3"))
            counted = await samples(door)
    expected = {
        ("model_requests_total", (("outcome", "ok"),)): 2,
        ("model_requests_total", (("outcome", "repair"),)): 2,
        ("model_requests_total", (("outcome", "rejected"),)): 1,
        ("model_requests_total", (("outcome", "outage"),)): 1,
        ("model_tokens_total", (("direction", "in"),)): 500,
        ("model_tokens_total", (("direction", "out"),)): 50,
        ("rejections_total", (("reason", "not JSON"),)): 1,
        ("retries_total", (("reason", "unavailable"), ("step", "extract"))): 1,
    }
    assert {name: counted.get(name) for name in expected} == expected
