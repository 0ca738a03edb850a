"""`explain` of a search: the parts of each result's order, and what was left out by which rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker"), retention_days=30) as opened:
        yield opened


async def explained(door: FrontDoor, user_id: str, query: str, **more: object) -> dict[str, Any]:
    body = {"user_id": user_id, "query": query, "recall": False, "include_global": False, "explain": True}
    answer = await door.post("/v1/search", body | more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def cut(answer: dict[str, Any], kind: str) -> dict[str, int]:
    """Return the numbers of what was cut of a kind, by the rule."""
    return {one["rule"]: one["count"] for one in answer["cut"] if one["kind"] == kind}


async def test_without_being_asked_an_answer_explains_nothing(door: FrontDoor):
    await door.remember("drinks green tea", user_id="plain")
    answer = (await door.post("/v1/search", {"user_id": "plain", "query": "tea"})).json()
    assert "cut" not in answer
    assert ["why" in one for one in answer["results"]] == [False]


async def test_each_result_has_the_parts_of_its_order(door: FrontDoor):
    await door.remember("drinks green tea", user_id="parts")
    await door.remember("keeps bees on the roof", user_id="parts")
    for answer in (await explained(door, "parts", "green tea"), await explained(door, "parts", "tea", limit=1)):
        best = answer["results"][0]
        assert best["memory"] == "drinks green tea"
        assert {name: best["why"][name] for name in ("keyword", "importance", "recency")} == {
            "keyword": pytest.approx(best["scores"]["keyword"], abs=1e-6),
            "importance": pytest.approx(best["scores"]["importance"], abs=1e-6),
            "recency": pytest.approx(best["scores"]["recency"], abs=1e-6),
        }
        assert best["why"]["semantic"] == pytest.approx(best["scores"]["semantic"], abs=1e-6)
        assert (best["why"]["slot"], best["why"]["time"], best["why"]["literal"]) == (None, None, None)
        assert best["why"]["hub"] is not None


async def test_a_slot_a_time_a_literal_and_the_turns_say_so(door: FrontDoor):
    await door.remember("lives in Berlin", user_id="shares", attribute="city", value="Berlin")
    await door.remember("The order is 100821", user_id="shares", occurred_at="2026-01-02T08:00:00Z")
    city = (await explained(door, "shares", "Where do I live?"))["results"][0]
    assert (city["memory"], city["why"]["slot"]) == ("lives in Berlin", 1.0)
    order = (await explained(door, "shares", "100821"))["results"][0]
    assert (order["memory"], order["why"]["literal"]) == ("The order is 100821", True)
    then = (await explained(door, "shares", "what about the order in January 2026?"))["results"]
    assert {one["memory"]: one["why"]["time"] for one in then}["The order is 100821"] is True


async def test_each_memory_is_found_or_cut_by_one_rule(door: FrontDoor):
    for number in range(8):
        await door.remember(f"drinks tea number {number} in the garden", user_id="counted", agent_id="luna")
    gone = await door.remember("drinks tea with Ann", user_id="counted", agent_id="luna")
    await door.http.delete(f"/v1/memories/{gone['memory_id']}")
    await door.remember("drinks tea at the office", user_id="counted", agent_id="nova")
    for more in (
        {},
        {"agent_id": "luna"},
        {"limit": 2},
        {"min_score": 0.9},
        {"min_relevance": 0.99},
        {"include": ["turns"]},
        {"as_of": "2025-01-01T00:00:00Z"},
    ):
        answer = await explained(door, "counted", "tea in the garden", **more)
        memories = [one for one in answer["results"] if "memory_id" in one]
        known = 0 if "as_of" in more else 10
        assert len(memories) + sum(cut(answer, "memory").values()) == known, more
    assert cut(await explained(door, "counted", "tea", limit=2), "memory") == {"status": 1, "limit": 7}
    assert cut(await explained(door, "counted", "tea", agent_id="luna", limit=3), "memory") == {
        "status": 1,
        "filters": 1,
        "limit": 5,
    }
    assert cut(await explained(door, "counted", "tea", include=["turns"]), "memory") == {"include": 10}


async def test_each_turn_is_found_or_cut_by_one_rule(door: FrontDoor):
    said = ["The zebra crossed the runway", "The zebra sleeps", "Zebra and lion", "The weather is fine", "Is it noon?"]
    events = [
        turn(f"e-{number}", text, user_id="turns") | {"session_id": f"s-{number}", "infer": False, "agent_id": "luna"}
        for number, text in enumerate(said)
    ]
    await door.http.post("/v1/events?wait=10", json=events)
    for more in ({}, {"limit": 1}, {"min_score": 0.99}, {"min_relevance": 1.0}, {"include": ["memories"]}):
        answer = await explained(door, "turns", "zebra", **more)
        turns = [one for one in answer["results"] if "turn_id" in one]
        assert len(turns) + sum(cut(answer, "turn").values()) == len(said), more
        assert all(one["why"]["lasting"] is not None for one in turns)
    assert cut(await explained(door, "turns", "zebra", include=["memories"]), "turn") == {"include": len(said)}
    assert cut(await explained(door, "turns", "zebra", agent_id="nova"), "turn")["agent_or_time"] == len(said)
