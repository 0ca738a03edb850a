"""Search of what was said: turns beside memories, each once, and only those that the asker may see."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from schemas.identity import Owner
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOTH = ["memories", "turns"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker"), retention_days=30) as opened:
        yield opened


async def say(door: FrontDoor, event_id: str, content: str, user_id: str, **more: object) -> dict[str, Any]:
    """Publish a turn, end its session, and return what became of it."""
    event = turn(event_id, content, user_id=user_id) | {"session_id": f"{user_id}-s"} | more
    end = {"type": "SessionEnded", "event_id": f"{event_id}-end", "user_id": user_id}
    ended = end | {"session_id": event["session_id"], "agent_id": event.get("agent_id")}
    answer = await door.http.post("/v1/events?wait=10", json=[event, ended])
    assert answer.status_code in (200, 202), answer.text
    became: dict[str, Any] = answer.json()["accepted"][0]
    return became


async def search(door: FrontDoor, user_id: str, query: str, **more: object) -> list[dict[str, Any]]:
    body = {"user_id": user_id, "query": query, "recall": False, "include": BOTH}
    answer = await door.post("/v1/search", body | more)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def ids(results: list[dict[str, Any]]) -> list[str]:
    return [result.get("turn_id") or result["memory_id"] for result in results]


async def test_the_time_zone_is_read_once_until_something_else_is_said(door: FrontDoor):
    held, zone_of = door.worker.shards.resolve(Owner("default", "zoned")), door.worker.queries.zone_of
    await say(door, "z-1", "The zebra is late?", "zoned", metadata={"timezone": "Asia/Tokyo"})
    assert str(zone_of(held)) == "Asia/Tokyo"
    await say(door, "z-2", "The zebra is here?", "zoned", metadata={"timezone": "Europe/Rome"})
    read: list[str] = []
    held.shard._connection.set_trace_callback(read.append)
    assert [str(zone_of(held)) for _ in range(3)] == ["Europe/Rome"] * 3
    held.shard._connection.set_trace_callback(None)
    assert len(read) == 1
    await door.http.delete("/v1/users/zoned")
    assert str(zone_of(held)) == "UTC"


async def test_what_was_said_and_not_remembered_is_found(door: FrontDoor):
    became = await say(door, "w-1", "The zebra crossed the runway at noon?", "said", name="Ana")
    assert became["state"] == "nothing"
    [found] = await search(door, "said", "zebra")
    assert (found["kind"], found["turn_id"], found["role"], found["name"]) == ("turn", "w-1", "user", "Ana")
    assert found["memory"] == "Ana: The zebra crossed the runway at noon?"
    assert (found["source_ids"], found["session_id"], found["provenance"]) == (["w-1"], "said-s", "chat")
    assert 0 < found["score"] <= 1
    assert await search(door, "said", "zebra", include=["memories"]) == []
    assert await search(door, "said", "giraffe") == []


async def test_a_turn_comes_once_behind_the_memory_that_it_led_to(door: FrontDoor):
    became = await say(door, "o-1", "I live in Berlin.", "once")
    assert ids(await search(door, "once", "Berlin")) == became["memory_ids"]
    assert ids(await search(door, "once", "Berlin", include=["turns"])) == ["o-1"]


@pytest.mark.parametrize(
    ("said", "query", "answer"),
    [
        ("I love tea, and the wifi password is sunflower42.", "wifi password", "sunflower42"),
        ("I flew to Lisbon with my colleague Priya for a ceramics fair.", "Lisbon", "Lisbon"),
        ("My sister Clara is a vet in Cork.", "vet", "vet"),
        ("My son Ben is seven.", "How old is Ben?", "seven"),
        ("我喜欢爬山，门禁密码是8812。", "门禁密码", "8812"),
    ],
)
async def test_a_turn_is_not_hidden_by_a_memory_that_says_something_else(
    door: FrontDoor, said: str, query: str, answer: str
):
    user_id = f"unsaid-{answer}"
    became = await say(door, user_id, said, user_id)
    assert became["memory_ids"], "a memory came from the turn"
    texts = [result["memory"] for result in await search(door, user_id, query)]
    assert any(answer in text for text in texts), texts
    context = (await door.post("/v1/context", {"user_id": user_id, "query": query})).json()
    assert any(answer in one["content"] for one in context["memories"] + context["turns"])


async def test_who_said_the_word_comes_before_who_answered_it(door: FrontDoor):
    long = "Did you know how the harbour looked in the fog this morning, with all of the cranes standing still?"
    for number, said in enumerate((long, "Does my wife like it at Lufthansa?", "Ben?", "Maybe?")):
        await say(door, f"l-{number}", said, "rare")
    assert ids(await search(door, "rare", "Lufthansa", include=["turns"])) == ["l-1", "l-2"]


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_time_and_recency_count_before_turns_are_cut(door: FrontDoor, limit: int):
    days = ("2025-01-10", "2025-04-10", "2025-07-10", "2025-10-10")
    for day in days:
        event_id, said_at = f"cut-{limit}-{day}", f"{day}T08:00:00Z"
        await say(door, event_id, "What about the heron?", f"cut-{limit}", occurred_at=said_at, session_id=day)
    named = await search(door, f"cut-{limit}", "heron in July 2025", include=["turns"], limit=limit)
    assert ids(named)[0] == f"cut-{limit}-2025-07-10"
    assert len(named) == limit
    newest = await search(door, f"cut-{limit}", "heron", include=["turns"], limit=limit)
    assert ids(newest) == [f"cut-{limit}-{day}" for day in reversed(days)][:limit]


async def test_an_answer_is_found_by_its_question(door: FrontDoor):
    await say(door, "q-1", "Which instrument does your sister practise?", "question")
    await say(door, "q-2", "The oboe, every evening!", "question")
    await say(door, "q-3", "How nice?", "question", session_id="another")
    assert ids(await search(door, "question", "instrument", include=["turns"])) == ["q-1", "q-2"]


async def test_a_memory_is_found_by_words_that_were_said_and_not_remembered(door: FrontDoor):
    [memory_id] = (await say(door, "m-1", "I live in Lisbon. Do you know pastéis?", "words"))["memory_ids"]
    await door.remember("owns a red bicycle", "words")
    [first, _] = await search(door, "words", "pastéis", include=["memories"])
    assert first["memory_id"] == memory_id
    assert first["scores"]["keyword"] > 0


async def test_what_somebody_else_said_counts_less(door: FrontDoor):
    await say(door, "a-1", "Marmalade recipes?", "roles", session_id="one")
    await say(door, "a-2", "Marmalade recipes?", "roles", session_id="two", role="assistant")
    mine, theirs = await search(door, "roles", "marmalade")
    assert (mine["role"], theirs["role"]) == ("user", "assistant")
    assert mine["score"] > theirs["score"]


async def test_an_agent_finds_what_was_said_to_it_or_to_none(door: FrontDoor):
    await say(door, "g-1", "Umbrella for Luna?", "agents", agent_id="luna", session_id="one")
    await say(door, "g-2", "Umbrella for everyone?", "agents", session_id="two")
    assert set(ids(await search(door, "agents", "umbrella", agent_id="luna"))) == {"g-1", "g-2"}
    assert ids(await search(door, "agents", "umbrella", agent_id="aria")) == ["g-2"]
    assert ids(await search(door, "somebody", "umbrella")) == []


async def test_the_turn_of_a_forgotten_memory_is_not_found(door: FrontDoor):
    [memory_id] = (await say(door, "f-1", "I am allergic to peanuts.", "forgotten"))["memory_ids"]
    assert ids(await search(door, "forgotten", "peanuts", include=["turns"])) == ["f-1"]
    assert (await door.http.delete(f"/v1/memories/{memory_id}")).status_code == 200
    assert await search(door, "forgotten", "peanuts") == []


async def test_filters_of_memories_leave_no_turn_and_those_of_time_choose(door: FrontDoor):
    await say(door, "t-1", "A quokka?", "filters", occurred_at="2026-01-05T08:00:00Z", session_id="one")
    await say(door, "t-2", "The quokka?", "filters", occurred_at="2026-03-05T08:00:00Z", session_id="two")
    for filters, expected in [
        ({}, {"t-1", "t-2"}),
        ({"source_type": "chat"}, {"t-1", "t-2"}),
        ({"since": "2026-02-01T00:00:00Z"}, {"t-2"}),
        ({"until": "2026-02-01T00:00:00Z"}, {"t-1"}),
        ({"category": "people"}, set()),
        ({"kind": "semantic"}, set()),
        ({"min_importance": 0.1}, set()),
        ({"source_type": "photo"}, set()),
    ]:
        assert set(ids(await search(door, "filters", "quokka", filters=filters))) == expected, filters
    assert ids(await search(door, "filters", "quokka", session_id="one")) == ["t-1"]
    assert await search(door, "filters", "quokka", session_id="three") == []
    assert await search(door, "filters", "quokka", session_id="one", filters={"category": "people"}) == []
    assert await search(door, "filters", "quokka", exclude_sources=["chat"]) == []
    assert await search(door, "filters", "quokka", scope="global") == []
    assert ids(await search(door, "filters", "quokka", as_of="2026-02-01T00:00:00Z")) == ["t-1"]
    assert len(await search(door, "filters", "quokka", limit=1)) == 1
    assert await search(door, "filters", "quokka", min_score=0.99) == []


async def test_what_comes_later_is_found_and_what_retention_removes_is_not(door: FrontDoor):
    old = instant(door.clock.now() - timedelta(days=20))
    await say(door, "r-1", "An ocelot?", "kept", occurred_at=old, session_id="one")
    assert ids(await search(door, "kept", "ocelot")) == ["r-1"]
    await say(door, "r-2", "The ocelot again?", "kept", session_id="two")
    assert set(ids(await search(door, "kept", "ocelot"))) == {"r-1", "r-2"}
    until = instant(door.clock.now() + timedelta(days=31))
    tick = await door.post("/v1/admin/ticks", {"policy": "retention", "as_of": until, "force": True})
    assert tick.status_code == 200, tick.text
    assert await search(door, "kept", "ocelot") == []


async def test_what_was_on_a_screen_or_in_an_article_is_found_too_and_no_context_has_it(door: FrontDoor):
    screen = {"type": "ScreenshotAnalysed", "user_id": "shown", "event_id": "sh-1", "screenshot_id": "i-1"}
    article = {"type": "ArticleInferred", "user_id": "shown", "event_id": "sh-2", "article_id": "a-1"}
    shown = [
        screen | {"app": "Maps", "text": "Route to the lighthouse of Arkona, 41 minutes"},
        article | {"title": "Lighthouses", "content": "The lighthouse of Arkona was built by Schinkel in 1827."},
    ]
    await door.http.post("/v1/events?wait=60", json=shown)
    await say(door, "sh-3", "Well. Is the lighthouse far?", "shown")
    found = {hit["turn_id"]: hit for hit in await search(door, "shown", "lighthouse", include=["turns"])}
    assert {name: (hit["role"], hit["provenance"], hit["name"]) for name, hit in found.items()} == {
        "sh-1": ("screenshot", "photo", "Maps"),
        "sh-2": ("article", "inferred", "Lighthouses"),
        "sh-3": ("user", "chat", None),
    }
    assert found["sh-1"]["memory"] == "Maps: Route to the lighthouse of Arkona, 41 minutes"
    only = await search(door, "shown", "lighthouse", include=["turns"], filters={"source_type": "inferred"})
    assert [hit["turn_id"] for hit in only] == ["sh-2"]
    rest = await search(door, "shown", "lighthouse", include=["turns"], exclude_sources=["photo", "inferred"])
    assert [hit["turn_id"] for hit in rest] == ["sh-3"]
    asked = {"user_id": "shown", "query": "lighthouse", "include": ["turns"]}
    assert [hit["turn_id"] for hit in (await door.post("/v1/context", asked)).json()["turns"]] == ["sh-3"]
    assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
    assert {hit["turn_id"] for hit in await search(door, "shown", "lighthouse", include=["turns"])} == {
        "sh-1",
        "sh-2",
        "sh-3",
    }


async def test_what_a_query_names_of_time_comes_first_unless_told_otherwise(door: FrontDoor):
    for number, month in enumerate(("2025-03", "2025-06", "2025-09"), start=1):
        said_at = f"{month}-05T08:00:00Z"
        await say(door, f"time-{number}", "Any walrus?", "time", occurred_at=said_at, session_id=month)
    named = ids(await search(door, "time", "the walrus in June 2025"))
    assert named[0] == "time-2"
    assert len(named) == 3
    blind = await search(door, "time", "the walrus in June 2025", understand_time=False)
    assert len({round(turn["score"], 2) for turn in blind}) == 1


async def test_a_second_hop_finds_what_the_first_memory_is_about(door: FrontDoor):
    await door.remember("Ana is married to Bernd", "hops")
    await door.remember("Bernd builds violins", "hops")
    for filler in ("the office has a red door", "coffee costs four euros", "rain fell all week"):
        await door.remember(filler, "hops")
    one, two = [
        [result["memory"] for result in await search(door, "hops", "Ana married", hops=hops, limit=2)]
        for hops in (1, 2)
    ]
    assert one[0] == two[0] == "Ana is married to Bernd"
    assert two[1] == "Bernd builds violins"


async def test_a_context_and_a_models_tool_have_turns_unless_they_are_left_out(door: FrontDoor):
    await say(door, "c-1", "Hm. The narwhal swam past?", "asked", agent_id="luna")
    body = {"user_id": "asked", "query": "narwhal", "agent_id": "luna"}
    assert (await door.post("/v1/context", body | {"include": ["memories"]})).json()["turns"] == []
    told = (await door.post("/v1/context", body)).json()
    assert [turn["turn_id"] for turn in told["turns"]] == ["c-1"]
    assert (await door.post("/v1/context", body | {"tier": "free"})).json()["turns"] == []
    found = (await door.post("/v1/tools/memory_search", body | {"include": ["turns"]})).json()["results"]
    assert ids(found) == ["c-1"]


async def test_turns_are_hidden_as_a_context_hides_them(door: FrontDoor):
    await door.remember("do not mention the former boss", "shy", attribute="sensitive_topics", value="former boss")
    await say(door, "h-1", "Hm. Lunch with my former boss?", "shy", agent_id="luna", session_id="one")
    await say(door, "h-2", "Hm. Lunch with my sister?", "shy", agent_id="luna", session_id="two")
    body = {"user_id": "shy", "query": "lunch", "agent_id": "luna", "include": BOTH}
    shown = {}
    for intimacy in (100, 40, 0):
        told = (await door.post("/v1/context", body | {"intimacy": intimacy})).json()
        shown[intimacy] = {turn["turn_id"] for turn in told["turns"]}
    assert shown == {100: {"h-1", "h-2"}, 40: {"h-2"}, 0: set()}


async def test_nothing_else_can_be_included(door: FrontDoor):
    for include in ([], ["letters"], "turns", [*BOTH, "turns"]):
        answer = await door.post("/v1/search", {"user_id": "u1", "query": "tea", "include": include})
        assert answer.status_code == 422, include


async def test_what_has_the_form_that_is_asked_for_comes_first(door: FrontDoor):
    await say(door, "f-1", "Is the mail from the garage about the address?", "form")
    await say(door, "f-2", "Is it info@fix.example?", "form")
    turns = {"include": ["turns"]}
    assert ids(await search(door, "form", "What is the mail of the garage?", **turns)) == ["f-1", "f-2"]
    assert ids(await search(door, "form", "What is the email address of the garage?", **turns)) == ["f-2", "f-1"]


@pytest.mark.parametrize(
    ("query", "formed"),
    [
        ("What is the email address of the garage?", "The garage a@fix.example"),
        ("What is the phone number of the garage?", "The garage 089 555 1234"),
        ("车库的电话号码是多少？", "The garage 089 555 1234"),
        ("What is the garage?", None),
        ("How much is the garage?", None),
    ],
)
async def test_a_memory_of_the_form_that_is_asked_for_has_a_quarter_of_the_score_for_it(
    door: FrontDoor, query: str, formed: str | None
):
    user_id = f"form-{query}"
    for content in ("The garage a@fix.example", "The garage 089 555 1234", "Tea"):
        await door.remember(content, user_id)
    found = await search(door, user_id, query, include=["memories"])
    assert {one["memory"] for one in found} >= {"The garage a@fix.example", "The garage 089 555 1234"}
    for one in found:
        parts = one["scores"]
        fused = 0.7 * parts["semantic"] + 0.3 * parts["keyword"]
        score = 0.97 * fused + 0.02 * parts["importance"] + 0.01 * parts["recency"]
        share = score if formed is None else 0.75 * score + 0.25 * (one["memory"] == formed)
        assert one["score"] == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(("query", "first"), [("order 100821?", "n-1"), ('who said "the red door"', "n-3")])
async def test_what_has_letter_by_letter_what_a_query_names_comes_first(door: FrontDoor, query: str, first: str):
    user_id = f"named-{first}"
    await door.remember("the order of the phone number 01008215 is who said so", user_id)
    await say(door, f"{user_id}-1", "Is 100821 there yet?", user_id, session_id="one")
    await say(door, f"{user_id}-2", "Who said red, and what door is in order?", user_id, session_id="two")
    await say(door, f"{user_id}-3", "It was the red door?", user_id, session_id="three")
    assert ids(await search(door, user_id, query))[0] == f"{user_id}{first[1:]}"


async def test_a_memory_with_what_a_query_names_comes_before_others(door: FrontDoor):
    await door.remember("the order of phones, order by order", "code")
    await door.remember("waits for 100821", "code")
    found = await search(door, "code", "Where is my order 100821?", include=["memories"])
    assert found[0]["content"] == "waits for 100821"


async def test_a_question_that_was_asked_before_is_no_evidence(door: FrontDoor):
    await say(door, "q-1", "What is the capital of Peru?", "curious")
    body = {"user_id": "curious", "query": "What is the capital of Chile?"}
    found = (await door.post("/v1/search", body)).json()
    assert [(one["turn_id"], one["below_line"]) for one in found["results"]] == [("q-1", True)]
    assert found["evidence"] == "none"
    assert (await door.post("/v1/context", body)).json()["turns"] == []


async def test_what_takes_the_place_of_a_turn_comes_before_it_unless_the_past_is_asked_for(door: FrontDoor):
    day = (door.clock.now() - timedelta(days=2)).date()
    await say(door, "n-1", "I live in Lisbon near the river.", "newer", occurred_at=f"{day}T09:00:00Z")
    at_noon = {"occurred_at": f"{day}T12:00:00Z", "session_id": "newer-later"}
    await say(door, "n-2", "I live in Oslo.", "newer", **at_noon)
    results = await search(door, "newer", "live in near the river")
    assert [result.get("turn_id") for result in results[:2]] == [None, "n-1"]
    assert results[1]["superseded_by"] == results[0]["memory_id"]
    assert results[0]["score"] >= results[1]["score"]
    past = await search(door, "newer", f"live in near the river on {day}")
    assert past[0].get("turn_id") == "n-1"
