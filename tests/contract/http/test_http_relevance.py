"""How relevant results are over HTTP: searches mark what is no evidence, contexts and tools leave it out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, context_of, front_door, turn

from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SAID = ("My violin teacher lives in Lisbon.", "Is the piano for sale?", "The heron stood still.")


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as door:
        await door.post("/v1/events", [turn(f"t-{number}", words) for number, words in enumerate(SAID)])
        await door.remember("owns a red bicycle")
        await door.post("/v1/admin/drain")
        yield door


async def search(door: FrontDoor, query: str, **more: object) -> dict[str, Any]:
    answer = await door.post("/v1/search", {"user_id": "u1", "query": query, "recall": False} | more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_search_looks_at_memories_and_turns_and_says_how_relevant_each_is(door: FrontDoor):
    answer = await search(door, "violin teacher in Lisbon")
    [first, *others] = answer["results"]
    assert "Lisbon" in first["memory"]
    assert answer["evidence"] == "strong"
    assert all(0 <= one["relevance"] <= first["relevance"] <= 1 for one in others)
    assert first["relevance"] >= answer["line"]
    assert answer["relevance_version"]
    [heron] = [one for one in (await search(door, "heron"))["results"] if one["relevance"] > 0.5]
    assert "heron" in heron["memory"]
    assert (await search(door, "bicycle"))["results"][0]["content"] == "owns a red bicycle"


async def test_what_nobody_spoke_of_is_marked_in_a_search_and_has_no_evidence(door: FrontDoor):
    answer = await search(door, "chromodynamics")
    assert answer["evidence"] == "none"
    assert all(one["below_line"] for one in answer["results"])
    assert (await search(door, "chromodynamics", min_relevance=answer["line"]))["results"] == []


async def test_a_context_and_a_tool_have_nothing_of_it(door: FrontDoor):
    told = await context_of(door, "u1", "chromodynamics")
    assert (told["memories"], told["turns"], told["relevant_episodes"], told["evidence"]) == ([], [], [], "none")
    assert told["message"] == "chromodynamics"
    body = {"user_id": "u1", "query": "chromodynamics"}
    found = (await door.post("/v1/tools/memory_search", body)).json()
    assert (found["results"], found["note"]) == ([], "Nothing is known about that.")
    found = (await door.post("/v1/tools/memory_search", body | {"query": "violin"})).json()
    assert found["results"]
    assert "note" not in found
    assert not any(one["below_line"] for one in found["results"])


async def test_a_caller_may_ask_for_less_or_for_more(door: FrontDoor):
    body = {"user_id": "u1", "query": "chromodynamics", "min_relevance": 0}
    assert (await door.post("/v1/tools/memory_search", body)).json()["results"]
    assert (await context_of(door, "u1", "chromodynamics", min_relevance=0))["memories"]
    assert (await context_of(door, "u1", "violin", min_relevance=1))["memories"] == []
    for least in (-0.1, 1.1, "high"):
        answer = await door.post("/v1/search", {"user_id": "u1", "query": "tea", "min_relevance": least})
        assert answer.status_code == 422, least


async def test_include_narrows_a_context(door: FrontDoor):
    kinds = {}
    for include in (["memories"], ["turns"], ["memories", "turns"]):
        told = await context_of(door, "u1", "heron bicycle", include=include, min_relevance=0)
        kinds[tuple(include)] = bool(told["memories"]), bool(told["turns"])
    assert list(kinds.values()) == [(True, False), (False, True), (True, True)]


async def test_a_context_without_a_query_says_nothing_of_evidence(door: FrontDoor):
    assert "evidence" not in await context_of(door, "u1")


async def test_a_plan_says_whether_it_lies_ahead_of_the_question(door: FrontDoor):
    day = door.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    await door.remember("dentist in the old town", category="schedule", occurred_at=instant(day))
    asked = {"include": ["memories"], "limit": 1}
    assert (await search(door, "dentist old town", **asked))["results"][0]["when"] == "upcoming"
    door.clock.ahead = timedelta(days=9)
    assert (await search(door, "dentist old town", **asked))["results"][0]["when"] == "past"
    assert "when" not in (await search(door, "red bicycle", **asked))["results"][0]


async def test_a_memory_that_says_all_of_a_turn_stands_in_its_place(door: FrontDoor):
    for query in ("violin teacher in Lisbon", "heron", "Does she smoke?"):
        said = [one["memory"] for one in (await search(door, query))["results"]]
        assert len(set(said)) == len(said)


async def test_who_is_asked_about_is_told_from_others(door: FrontDoor):
    [teacher] = [
        one for one in (await search(door, "Where does my teacher live?"))["results"] if "Lisbon" in one["memory"]
    ]
    answer = await search(door, "Where does my brother live?")
    [other] = [one for one in answer["results"] if "Lisbon" in one["memory"]]
    assert other["relevance"] < teacher["relevance"]
