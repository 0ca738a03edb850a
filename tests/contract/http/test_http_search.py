"""Search over HTTP: found by words and meaning, narrowed by filters, and reported as recalled."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from projections.embedding.embedder import EmbedderRefused
from projections.index.protocol import Legs
from projections.queries.search import IndexSearch, Question
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from projections.index.protocol import IndexQuery
    from projections.queries.search import SearchedIndex

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def search(door: FrontDoor, user_id: str, query: str, **more: object) -> list[dict[str, Any]]:
    response = await door.post("/v1/search", {"user_id": user_id, "query": query} | more)
    assert response.status_code == 200, response.text
    results: list[dict[str, Any]] = response.json()["results"]
    return results


async def test_a_result_is_the_memory_with_its_scores(door: FrontDoor):
    memory = await door.remember("likes green tea", "shape")
    del memory["similar"]
    [result] = await search(door, "shape", "tea", recall=False)
    assert {name: result[name] for name in memory if name != "strength"} == {
        name: value for name, value in memory.items() if name != "strength"
    }
    assert result["memory"] == "likes green tea"
    assert set(result["scores"]) == {"semantic", "keyword", "importance", "recency"}
    assert 0 < result["score"] <= 1


async def test_a_session_narrows_a_search_before_its_limit_as_the_filter_does(door: FrontDoor):
    for number in range(12):
        await door.remember(f"likes tea of the kind {number}", "session", session_id="mornings")
    evening = await door.remember("likes a tea at night, which is of the weaker kind", "session", session_id="evenings")
    await door.remember("likes tea of no session", "session")
    found = await search(door, "session", "kind of tea", session_id="evenings", limit=2)
    assert [one["memory_id"] for one in found] == [evening["memory_id"]]
    filtered = await search(door, "session", "kind of tea", filters={"session_id": "evenings"}, limit=2)
    assert [one["memory_id"] for one in filtered] == [evening["memory_id"]]
    both = {"session_id": "mornings", "filters": {"content": {"contains": "11"}}}
    assert [one["content"] for one in await search(door, "session", "tea", **both)] == ["likes tea of the kind 11"]
    assert await search(door, "session", "tea", session_id="nights") == []


async def test_the_best_come_first_and_the_limit_holds(door: FrontDoor):
    for content in ("likes green tea", "plays the cello", "lives in Berlin", "owns a red bicycle"):
        await door.remember(content, "best")
    assert (await search(door, "best", "cello"))[0]["memory"] == "plays the cello"
    assert len(await search(door, "best", "cello", limit=2)) == 2
    assert [r["memory"] for r in await search(door, "best", "plays the cello", min_score=0.9)] == ["plays the cello"]


async def test_a_search_sees_what_an_agent_may_see(door: FrontDoor):
    await door.remember("likes tea in the morning", "agents", agent_id="luna")
    await door.remember("likes tea in the evening", "agents")
    seen = {r["memory"] for r in await search(door, "agents", "tea", agent_id="aria")}
    assert seen == {"likes tea in the evening"}
    assert len(await search(door, "agents", "tea", agent_id="luna")) == 2
    assert len(await search(door, "agents", "tea")) == 2


async def test_global_memories_are_found_by_everyone_unless_told_otherwise(door: FrontDoor):
    await door.remember("the office serves jasmine tea", "giver", scope="global")
    await door.remember("likes jasmine tea", "taker")
    everything = {r["memory"] for r in await search(door, "taker", "jasmine")}
    assert everything == {"the office serves jasmine tea", "likes jasmine tea"}
    own = [r["memory"] for r in await search(door, "taker", "jasmine", include_global=False)]
    assert (
        own == ["likes jasmine tea"] == [r["memory"] for r in await search(door, "taker", "jasmine", scope="personal")]
    )
    shared = await search(door, "taker", "jasmine", scope="global")
    assert [(r["memory"], r["user_id"]) for r in shared] == [("the office serves jasmine tea", "*")]


async def test_a_search_is_narrowed_by_its_filters(door: FrontDoor):
    await door.remember("tea with Anna", "filters", category="people", importance=0.9)
    await door.remember("tea on Monday", "filters", memory_type="short_term", importance=0.2)
    for filters, expected in [
        ({"category": "people"}, {"tea with Anna"}),
        ({"memory_type": "short_term"}, {"tea on Monday"}),
        ({"min_importance": 0.5}, {"tea with Anna"}),
        ({"kind": "episodic"}, set()),
        ({"source_type": "manual"}, {"tea with Anna", "tea on Monday"}),
        ({"until": "2020-01-01T00:00:00Z"}, set()),
        ({"since": "2020-01-01T00:00:00Z"}, {"tea with Anna", "tea on Monday"}),
    ]:
        found = {r["memory"] for r in await search(door, "filters", "tea", scope="personal", filters=filters)}
        assert found == expected, filters


async def test_a_question_for_a_slot_is_answered_by_what_fills_it(door: FrontDoor):
    await door.remember("on the card: which company does she work for? Acme", "slots")
    await door.remember("她在哪家公司工作？公司：云杉", "slots")
    await door.remember("员工于蓝鲸", "slots", attribute="employer", value="蓝鲸", agent_id="luna")
    for question in ("她在哪家公司工作？", "Which company does she work for?"):
        first, second, *_ = await search(door, "slots", question, recall=False)
        assert first["memory"] == "员工于蓝鲸"
        assert first["score"] > 0.5 > second["score"]
        for narrowed in ({"agent_id": "aria"}, {"filters": {"category": "people"}}):
            found = await search(door, "slots", question, recall=False, **narrowed)
            assert "员工于蓝鲸" not in {r["memory"] for r in found}
            assert not found or found[0]["score"] > 0.5  # no share is kept for a slot that nothing fills


async def test_a_question_for_what_was_before_is_answered_by_what_was_superseded(door: FrontDoor):
    old = await door.remember("lives in Oslo", "moved", attribute="city", value="Oslo")
    new = await door.remember("lives in Rome", "moved", attribute="city", value="Rome")
    asked = await search(door, "moved", "Where did she live before?", recall=False)
    assert [(r["memory_id"], r["status"]) for r in asked if r["user_id"] == "moved"] == [
        (old["memory_id"], "superseded"),
        (new["memory_id"], "active"),
    ]
    assert [r["memory"] for r in await search(door, "moved", "Where does she live?", include_global=False)] == [
        "lives in Rome"
    ]
    context = (await door.post("/v1/context", {"user_id": "moved", "query": "Where did she live before?"})).json()
    assert "Oslo" not in str(context)


async def test_a_slot_at_a_time_that_is_named_is_filled_by_what_was_true_then(door: FrontDoor):
    for city, day in (("Oslo", "2026-03-02"), ("Bergen", "2026-07-05")):
        said_at = f"{day}T08:00:00Z"
        await door.remember(f"User lives in {city}", "then", attribute="city", value=city, occurred_at=said_at)
    for question, city in (
        ("Where did she live in April 2026?", "Oslo"),
        ("Where did she live in August 2026?", "Bergen"),
        ("2026年5月她住在哪里？", "Oslo"),
    ):
        found = await search(door, "then", question, recall=False, include_global=False, as_of=None)
        assert found[0]["memory"] == f"User lives in {city}", question
    asked = {"recall": False, "include_global": False, "understand_time": False}
    blind = await search(door, "then", "Where did she live in April 2026?", **asked)
    assert [result["memory"] for result in blind] == ["User lives in Bergen"]


async def test_a_time_that_is_named_decides_between_what_matches_equally(door: FrontDoor):
    places = {"2023-05-12": "Ghent", "2025-11-20": "Bath", "2026-09-03": "Delft", "2026-10-15": "Mainz"}
    for day, place in places.items():
        await door.remember(f"用户去看了朋友，地点是{place}。", "visits", occurred_at=f"{day}T08:00:00Z")
    for question, place in (
        ("2026年九月去看了谁", "Delft"),
        ("2023年5月去看了谁", "Ghent"),
        ("2026年10月15日去看了谁", "Mainz"),
        ("2025年11月去看了谁", "Bath"),
    ):
        found = await search(door, "visits", question, recall=False, include_global=False)
        assert place in found[0]["memory"], question


async def test_what_an_agent_was_shown_is_reported(door: FrontDoor):
    memory = await door.remember("likes tea", "recalled")
    shared = await door.remember("everyone likes tea", "recalled", scope="global")
    await search(door, "recalled", "tea", recall=False)
    await search(door, "recalled", "tea", as_of="2027-01-01T00:00:00Z", recall=False)
    await door.worker.recalls.flush()
    await search(door, "recalled", "tea")
    await door.post("/v1/admin/drain")
    after = (await door.get(f"/v1/memories/{memory['memory_id']}")).json()
    assert (after["recall_count"], after["access_count"]) == (1, 1)
    assert (await door.get(f"/v1/memories/{shared['memory_id']}")).json()["recall_count"] == 0


async def test_a_look_into_the_past_is_no_recall(door: FrontDoor):
    memory = await door.remember("likes tea", "no-recall")
    before = door.worker.clock.now().isoformat()
    assert len(await search(door, "no-recall", "tea", as_of=before, include_global=False)) == 1
    await door.post("/v1/admin/drain")
    assert (await door.get(f"/v1/memories/{memory['memory_id']}")).json()["recall_count"] == 0
    assert await search(door, "no-recall", "tea", as_of="2020-01-01T00:00:00Z", include_global=False) == []


async def test_an_unknown_user_finds_nothing(door: FrontDoor):
    assert await search(door, "nobody", "tea", include_global=False) == []


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"limit": 101}, "$.limit"),
        ({"limit": 0}, "$.limit"),
        ({"limit": "5"}, "$.limit"),
        ({"scope": "odd"}, "$.scope"),
        ({"query": " "}, "$.query"),
        ({"min_score": 2}, "$.min_score"),
        ({"filters": {"category": "odd"}}, "$.filters.category"),
        ({"filters": {"colour": 1}}, "$.filters"),
        ({"as_of": "2026-01-05T08:00:00"}, "$.as_of"),
        ({"known_at": "2026-01-05T08:00:00Z"}, "$.known_at"),
        ({"recall": "yes"}, "$.recall"),
        ({"user": "u"}, "$.user"),
    ],
)
async def test_a_search_refuses_what_it_does_not_know(door: FrontDoor, more: dict[str, object], path: str):
    response = await door.post("/v1/search", {"user_id": "u", "query": "tea"} | more)
    assert (response.status_code, [e["path"] for e in response.json()["errors"]]) == (422, [path])


@contextmanager
def without_embedder(door: FrontDoor) -> Iterator[None]:
    door.embedder.is_down = True
    try:
        yield
    finally:
        door.embedder.is_down = False


async def degraded(door: FrontDoor, user_id: str, query: str, **more: object) -> list[dict[str, Any]]:
    with without_embedder(door):
        response = await door.post("/v1/search", {"user_id": user_id, "query": query, "recall": False} | more)
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["degraded"] == ["semantic"]
    results: list[dict[str, Any]] = body["results"]
    return results


async def test_while_the_embedder_is_away_a_search_finds_by_words_and_says_so(door: FrontDoor):
    await door.remember("likes green tea", "words")
    await door.remember("plays the cello on Sundays", "words")
    with_meaning = await door.post("/v1/search", {"user_id": "words", "query": "green tea", "recall": False})
    assert "degraded" not in with_meaning.json()
    [result] = await degraded(door, "words", "green tea", include_global=False)
    assert result["memory"] == "likes green tea"
    assert (result["scores"]["semantic"], result["scores"]["keyword"]) == (0.0, 1.0)
    assert result["score"] > 0.97, "the words have the weight of the meaning"
    assert await degraded(door, "words", "violoncello") == []
    assert (await search(door, "words", "green tea", recall=False))[0]["memory"] == "likes green tea"


async def test_while_the_embedder_is_away_what_fills_a_slot_and_what_was_said_is_found_too(door: FrontDoor):
    await door.remember("The user's name is Mara", "slots", attribute="user_name", value="Mara")
    said = turn("said-1", "what does the opera choir sing?", user_id="slots")
    assert (await door.post("/v1/events", said)).status_code == 202
    assert (await door.post("/v1/admin/drain")).status_code == 200
    [named] = await degraded(door, "slots", "what am I called?", include_global=False)
    assert named["value"] == "Mara"
    [found] = await degraded(door, "slots", "opera choir", include=["turns"])
    assert (found["content"], found["scores"]) == (said["content"], {"semantic": 0.0, "keyword": 1.0})


async def test_while_the_embedder_is_away_filters_hops_the_past_and_the_least_score_hold(door: FrontDoor):
    await door.remember("likes green tea", "held", category="preference")
    tea = await door.remember("drinks green tea at the Lotus house", "held", category="habit")
    house = await door.remember("the Lotus house is in Bern", "held", category="fact")
    filtered = await degraded(door, "held", "green tea", filters={"category": "habit"})
    assert [one["memory_id"] for one in filtered] == [tea["memory_id"]]
    assert house["memory_id"] in {one["memory_id"] for one in await degraded(door, "held", "drinks tea", hops=2)}
    assert await degraded(door, "held", "green tea", as_of="2020-01-01T00:00:00Z") == []
    assert await degraded(door, "held", "green tea", min_score=1.0) == []
    assert len(await degraded(door, "held", "green tea", min_score=0.5)) == 2


async def test_searches_without_the_embedder_are_counted(door: FrontDoor):
    async def count() -> float:
        lines = (await door.get("/metrics")).text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("mnemolog_searches_by_words_total ")))

    before = await count()
    await degraded(door, "counted", "tea")
    await search(door, "counted", "tea")
    assert await count() - before == 1


async def test_a_text_that_the_embedder_refuses_is_not_searched_by_its_words(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    async def refuses(*_: object, **__: object) -> None:
        raise EmbedderRefused("this text is refused")

    monkeypatch.setattr(door.embedder, "embed", refuses)
    response = await door.post("/v1/search", {"user_id": "refused", "query": "tea"})
    assert (response.status_code, response.json()["detail"]) == (422, "this text is refused")


class IndexOnAServer:
    """Answers as another index does, without the vectors."""

    def __init__(self, index: SearchedIndex) -> None:
        self._index = index

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        legs = await self._index.search(owner, query)
        return Legs(legs.keyword, legs.semantic)

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        self._index.mark_dirty(owner, ids)


@pytest.mark.parametrize("hops", [1, 2])
async def test_hubs_are_told_by_the_vectors_of_the_index_or_of_the_shard_alike(door: FrontDoor, hops: int):
    said = ("likes green tea", "likes black tea", "likes tea and coffee", "plays the cello", "lives near the sea")
    for text in said:
        await door.remember(text, f"hubs-{hops}")
    here = door.worker.queries.index_search
    there = IndexSearch(door.worker.shards, IndexOnAServer(door.worker.index_sync), door.worker.embedder)
    held = door.worker.shards.resolve(Owner("default", f"hubs-{hops}"))
    question = Question(text="which tea", hops=hops)
    now = door.clock.now()
    pools = [await search.pool(held, question, await search.views("which tea"), now=now) for search in (here, there)]
    hubness = [pool.parts.hubness for pool in pools]
    assert hubness[0] == pytest.approx(hubness[1], abs=0)
    assert hubness[0].sum() == pytest.approx(0, abs=1e-4)
    assert hubness[0].any()
    assert pools[0].best(5) == pools[1].best(5)
    assert len(pools[0].best(5)) == len(said)
