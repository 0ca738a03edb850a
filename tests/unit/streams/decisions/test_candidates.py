"""What remember makes of an extractor's answer: form, reinforce, drop."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest
from support.examples import (
    LUNA,
    MODEL,
    MONDAY,
    PROMPT,
    XIAOMING,
    candidate,
    extracted,
    later,
    piece,
    rejected,
    remember,
    said,
)
from support.given import given
from support.tables import each

from schemas.identity import extracted_memory_id
from schemas.messages.envelope import Sealed
from schemas.messages.events import MemoryFormed, MemoryReinforced
from schemas.text import content_hash

COFFEE = "用户喜欢喝咖啡"
COFFEE_TOO = "用户很喜欢喝咖啡"
NO_COFFEE = "用户不喜欢喝咖啡"


def test_something_new_forms_a_memory_with_all_that_the_candidate_said():
    after = given().when(said(COFFEE, "t-1", attribute="likes", value="咖啡")).then("formed")
    memory = after.only
    assert (memory.content, memory.content_hash) == (COFFEE, content_hash(COFFEE))
    assert (memory.kind, memory.memory_type, memory.category, memory.scope) == (
        "semantic",
        "long_term",
        "fact",
        "personal",
    )
    assert (memory.attribute, memory.value, memory.agent_id, memory.importance) == ("likes", "咖啡", LUNA, 0.5)
    assert (memory.source_type, memory.source_ids, memory.source_ref, memory.session_id) == (
        "chat",
        ("t-1",),
        "s1",
        "s1",
    )
    assert (memory.occurred_at, memory.formed_at, memory.last_accessed_at) == (MONDAY, MONDAY, MONDAY)
    assert (memory.access_count, memory.recall_count, memory.version, memory.status) == (0, 0, 1, "active")
    assert (memory.strength, memory.initial_strength, memory.expires_at) == (1.0, 1.0, None)


def test_a_memorys_id_comes_from_its_cause_not_from_its_content():
    after = given().when(extracted(candidate("A", "t-1"), candidate("B", "t-1"), covers=[piece("t-1")]))
    ids = [extracted_memory_id(XIAOMING, "t-1#0", ordinal, MODEL, PROMPT) for ordinal in (0, 1)]
    assert [after.of("A").memory_id, after.of("B").memory_id] == ids


def test_the_ordinal_counts_the_candidates_that_cite_the_same_piece_first():
    covers = [piece("t-1"), piece("t-2")]
    answer = extracted(candidate("A", "t-1"), candidate("B", "t-2"), candidate("C", "t-1", "t-2"), covers=covers)
    after = given().when(answer)
    assert after.of("B").memory_id == extracted_memory_id(XIAOMING, "t-2#0", 0, MODEL, PROMPT)
    assert after.of("C").memory_id == extracted_memory_id(XIAOMING, "t-1#0", 1, MODEL, PROMPT)


def test_a_short_term_memory_expires_48_hours_after_its_effective_time():
    memory = given().when(said("下午三点开会", "t-1", memory_type="short_term")).only
    assert memory.expires_at == later(hours=48)
    assert memory.status_at(later(hours=48)) == "active"
    assert memory.status_at(later(hours=48, microseconds=1)) == "expired"


def with_metadata(**metadata: object) -> Sealed:
    return Sealed.clear(orjson.dumps(metadata))


@pytest.mark.parametrize("memory_type", ["short_term", "long_term"])
def test_an_expiry_that_was_published_with_the_words_counts_and_leaves_the_metadata(memory_type: str):
    given_with = with_metadata(expires_at="2090-05-01T23:59:59Z", channel="web")
    memory = given().when(said("likes tea", "t-1", memory_type=memory_type, metadata=given_with)).only
    assert memory.expires_at == datetime(2090, 5, 1, 23, 59, 59, tzinfo=UTC)
    assert orjson.loads(memory.metadata) == {"channel": "web"}
    alone = given().when(said("likes tea", "t-1", metadata=with_metadata(expires_at="2090-05-01"))).only
    assert (alone.expires_at, alone.metadata) == (datetime(2090, 5, 1, tzinfo=UTC), "{}")


@each("value", ["soon", 5, None, {"a": 1}])
def test_what_is_no_time_is_metadata_as_any(value: object):
    memory = given().when(said("likes tea", "t-1", metadata=with_metadata(expires_at=value))).only
    assert memory.expires_at is None
    assert orjson.loads(memory.metadata) == {"expires_at": value}


def test_what_had_expired_as_it_was_published_says_so():
    after = given().when(said("likes tea", "t-1", metadata=with_metadata(expires_at="2020-01-01")))
    assert after.reasons == ["new; expired already at 2020-01-01 00:00, before its words were published"]


def test_formed_at_is_the_latest_effective_time_cited_and_occurred_at_the_first_cited():
    covers = [piece("t-1"), piece("t-2", later(seconds=10)), piece("t-3", later(seconds=20))]
    memory = given().when(extracted(candidate("A", "t-2", "t-1"), covers=covers)).only
    assert (memory.formed_at, memory.occurred_at) == (later(seconds=10), later(seconds=10))
    assert memory.source_ids == ("t-2", "t-1")
    other = given().when(extracted(candidate("A", "t-1", "t-3"), covers=covers)).only
    assert (other.formed_at, other.occurred_at) == (later(seconds=20), later())


def test_occurred_at_is_the_answers_date_when_it_has_one():
    memory = given().when(said("A", "t-1", occurred_on="2025-12-24")).only
    assert memory.occurred_at.isoformat() == "2025-12-24T00:00:00+00:00"
    assert memory.formed_at == MONDAY


def test_importance_is_rounded_to_four_decimals_by_the_writer():
    assert given().when(said("A", "t-1", importance=0.123456)).only.importance == 0.1235


def test_the_user_who_says_the_same_text_again_reinforces_it():
    after = given(said(COFFEE, "t-1")).when(said("  用户喜欢喝咖啡。", "t-2", later(hours=1))).then("reinforced")
    memory = after.only
    assert (memory.access_count, memory.recall_count, memory.last_accessed_at) == (1, 0, later(hours=1))
    assert memory.source_ids == ("t-1", "t-2")
    assert (memory.content, memory.formed_at) == (COFFEE, MONDAY)


def test_what_is_said_in_nearly_the_same_words_reinforces():
    after = given(said(COFFEE, "t-1")).when(said(COFFEE_TOO, "t-2", later(hours=1))).then("reinforced")
    assert after.only.content == COFFEE


def test_the_opposite_in_nearly_the_same_words_is_another_memory_that_supersedes():
    after = given(said(COFFEE, "t-1")).when(said(NO_COFFEE, "t-2", later(hours=1))).then("formed", "superseded")
    assert after.active(later(hours=1)) == [NO_COFFEE]


def test_the_same_value_of_a_list_attribute_in_other_words_reinforces():
    history = said("用户喜欢咖啡", "t-1", attribute="likes", value="咖啡")
    again = said("他每天早上都要来一杯咖啡", "t-2", later(hours=1), attribute="likes", value="咖啡。")
    given(history).when(again).then("reinforced")


def test_only_the_assistants_words_never_reinforce():
    words = extracted(candidate(COFFEE, "t-2"), covers=[piece("t-2", later(hours=1), by_user=False)])
    after = given(said(COFFEE, "t-1")).when(words).then("nothing")
    assert after.events == []
    assert after.only.access_count == 0
    assert "t-2#0" in after.state.covered


def test_an_older_word_that_comes_late_reinforces_without_moving_the_last_access_back():
    after = given(said(COFFEE, "t-2", later(hours=2))).when(said(COFFEE, "t-1", MONDAY)).then("reinforced")
    assert (after.only.last_accessed_at, after.only.access_count) == (later(hours=2), 1)


def test_entries_that_cite_only_covered_pieces_are_dropped():
    again = extracted(
        candidate(COFFEE, "t-1"),
        candidate("用户住在上海", "t-2"),
        covers=[piece("t-1"), piece("t-2", later(seconds=5))],
    )
    after = given(said(COFFEE, "t-1")).when(again).then("nothing", "formed")
    assert after.of(COFFEE).access_count == 0
    assert after.decisions[0].covered == ["t-2#0"]


def test_the_same_observation_never_says_a_thing_twice_within_one_answer():
    twice = extracted(candidate(COFFEE, "t-1"), candidate(COFFEE_TOO, "t-1"), covers=[piece("t-1")])
    after = given().when(twice).then("formed", "nothing")
    assert after.only.access_count == 0


def test_two_observations_of_one_window_that_say_the_same_reinforce():
    covers = [piece("t-1"), piece("t-2", later(seconds=5))]
    after = given().when(extracted(candidate(COFFEE, "t-1"), candidate(COFFEE_TOO, "t-2"), covers=covers))
    after.then("formed", "reinforced")
    assert after.only.source_ids == ("t-1", "t-2")


def test_a_known_text_that_expired_before_the_candidate_is_new_tick_or_no_tick():
    short = said(COFFEE, "t-1", memory_type="short_term")
    after = given(short).when(said(COFFEE, "t-2", later(hours=49), memory_type="short_term")).then("formed")
    assert len(after.memories) == 2


def test_reinforcing_does_not_extend_expiry():
    short = said(COFFEE, "t-1", memory_type="short_term")
    after = given(short).when(said(COFFEE, "t-2", later(hours=40), memory_type="short_term")).then("reinforced")
    assert after.only.expires_at == later(hours=48)


def test_memories_of_another_agent_are_not_compared_and_those_of_none_are():
    shared, other = remember(COFFEE, "c-1", agent_id=None), remember("用户住在上海", "c-2", agent_id="nova")
    given(shared).when(said(COFFEE, "t-1")).then("reinforced")
    given(other).when(said("用户住在上海", "t-1")).then("formed")


def test_a_rejection_covers_its_pieces_and_forms_nothing():
    after = given().when(rejected("t-1")).then("nothing")
    assert after.reasons == ["rejected: not JSON"]
    assert (dict(after.state.covered), after.memories) == ({"t-1#0": True}, [])


def test_what_was_rejected_can_be_decided_on_once_more_and_then_no_more():
    again = said(COFFEE, "t-1")
    no = rejected("t-1")
    no = replace(no, envelope=replace(no.envelope, event_id="rejection-1"))
    after = given(no).when(again).then("formed")
    assert dict(after.state.covered) == {"t-1#0": False}
    third = replace(again, envelope=replace(again.envelope, event_id="extraction-3"))
    given(no, again).when(third).then("nothing")
    late = replace(no, envelope=replace(no.envelope, event_id="rejection-2"))
    assert dict(given(no, again).when(late).then("nothing").state.covered) == {"t-1#0": False}
    assert dict(given(no).when(late).then("nothing").state.covered) == {"t-1#0": True}


def test_an_answer_without_entries_covers_its_pieces():
    after = given().when(extracted(covers=[piece("t-1")])).then()
    assert dict(after.state.covered) == {"t-1#0": False}


def test_every_event_follows_the_item_that_caused_it():
    item = said(COFFEE, "t-1")
    [event] = given().when(item).events
    assert isinstance(event, MemoryFormed)
    assert (event.envelope.causation_id, event.envelope.correlation_id) == (item.envelope.event_id,) * 2
    assert (event.envelope.tenant, event.envelope.user_id, event.envelope.agent_id) == ("default", "xiaoming", LUNA)


def test_an_answer_with_more_entries_than_a_decision_holds_is_decided_in_parts():
    names = [f"t-{n}" for n in range(501)]
    covers = [piece(name) for name in names]
    answer = extracted(*(candidate(f"locker{n}", name) for n, name in enumerate(names)), covers=covers)
    after = given().when(answer)
    assert len(after.memories) == 501
    assert [d.part for d in after.decisions] == [1, 2, 3]
    assert [d.last_part for d in after.decisions] == [False, False, True]
    assert [o.subject for d in after.decisions for o in d.outcomes] == [str(n) for n in range(501)]
    assert len(after.state.covered) == 501


def test_of_several_known_memories_the_oldest_is_reinforced_whatever_the_map_order():
    for number in range(8):
        mine = said(COFFEE, f"a-{number}", later(hours=1))
        shared = remember(COFFEE_TOO, f"c-{number}", agent_id=None)
        [event] = given(mine, shared).when(said("用户真的喜欢喝咖啡", "t-9", later(hours=2))).then("reinforced").events
        assert isinstance(event, MemoryReinforced)
        assert event.memory_id == given(shared).only.memory_id


def test_a_memory_that_had_expired_before_its_words_were_published_says_so():
    said_then = piece("t-1", MONDAY, logged=later(days=3))
    note = candidate("User has a cold", "t-1", memory_type="short_term")
    after = given().when(extracted(note, covers=[said_then]))
    assert after.reasons == [
        "new; short_term, and expired already at 2026-01-07 08:00, before its words were published"
    ]
    in_time = given().when(extracted(note, covers=[piece("t-1", MONDAY, logged=later(days=1))]))
    assert in_time.reasons == ["new"]
