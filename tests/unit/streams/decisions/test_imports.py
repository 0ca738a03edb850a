"""What remember makes of a memory that was kept elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.examples import MONDAY, XIAOMING, forget, imported, later, remember, restore, revise, said, tick
from support.given import given

from projections.state.memory import SUPERSEDED
from projections.state.time_travel import memory_at, state_at
from schemas.identity import commanded_memory_id, import_id
from schemas.messages.envelope import Sealed
from schemas.messages.events import MemoryImported
from streams.decisions.parameters import Parameters

COFFEE, TEA = "用户喜欢喝咖啡", "用户喜欢喝绿茶"
BEIJING: dict[str, Any] = {"attribute": "city", "value": "北京"}
SHANGHAI: dict[str, Any] = {"attribute": "city", "value": "上海"}
KEEPS = Parameters(profile_keeps=True)


def test_a_snapshot_comes_as_it_was_under_an_id_that_follows_from_its_source():
    snapshot = imported(
        COFFEE,
        "7",
        later(days=30),
        formed=MONDAY,
        happened_at=later(days=-1),
        said_at=later(days=2),
        last_accessed_at=later(days=9),
        restored_at=later(days=3),
        kind="episodic",
        category="interest",
        event_type="date",
        emotion="happy",
        emotion_intensity=0.5,
        key_dialogue=Sealed.clear('["好喝"]'),
        importance=0.123456,
        initial_strength=0.9,
        access_count=7,
        recall_count=4,
        source_ids=["t-1"],
        source_ref="s1",
        session_id="s1",
        metadata=Sealed.clear('{"row":7}'),
    )
    memory = given().when(snapshot).then("formed").only
    assert memory.memory_id == commanded_memory_id(XIAOMING, import_id(XIAOMING, "evatar", "phone", "7"))
    assert (memory.occurred_at, memory.formed_at, memory.said_at) == (later(days=-1), MONDAY, later(days=2))
    assert (memory.last_accessed_at, memory.restored_at) == (later(days=9), later(days=3))
    assert (memory.kind, memory.category, memory.event_type) == ("episodic", "interest", "date")
    assert (memory.emotion, memory.emotion_intensity, memory.key_dialogue) == ("happy", 0.5, ("好喝",))
    assert (memory.importance, memory.initial_strength) == (0.1235, 0.9)
    assert (memory.access_count, memory.recall_count, memory.source_type) == (7, 4, "import")
    assert (memory.source_ids, memory.source_ref, memory.session_id) == (("t-1",), "s1", "s1")
    assert (memory.metadata, memory.status, memory.version) == ('{"row":7}', "active", 1)


def test_the_event_names_the_source():
    [event] = given().when(imported(COFFEE, "7", source_type="photo")).events
    assert isinstance(event, MemoryImported)
    assert (event.source_system, event.source_user, event.source_memory, event.source_type) == (
        "evatar",
        "phone",
        "7",
        "photo",
    )


def test_importing_twice_is_importing_once_however_the_source_went_on():
    known = given(imported(COFFEE, "7"))
    again = known.when(imported(COFFEE, "7", later(days=2), access_count=5))
    assert (again.decisions, again.state) == ((), known.state)


def test_what_was_imported_and_forgotten_is_not_imported_again():
    known = given(imported(COFFEE, "7"))
    known = known.when(forget(known.only.memory_id, "c-1")).when(imported(COFFEE, "7", later(days=1)))
    assert known.active(later(days=1)) == []


def test_a_text_that_is_known_is_not_reinforced_by_an_import():
    known = given(remember(COFFEE, "c-1"))
    assert known.when(imported(COFFEE + "。", "7", later(days=1))).then("nothing").only == known.only


def test_a_text_that_was_forgotten_here_may_be_imported():
    known = given(remember(COFFEE, "c-1"))
    known = known.when(forget(known.only.memory_id, "c-2")).when(imported(COFFEE, "7", later(days=1))).then("formed")
    assert known.active(later(days=1)) == [COFFEE]


def test_what_is_from_here_is_not_imported_even_when_it_was_forgotten():
    known = given(remember(COFFEE, "c-1"))
    own = imported(COFFEE, known.only.memory_id, later(days=1), source_system="mnemolog", source_user="xiaoming")
    known.when(own).then("nothing")
    known.when(forget(known.only.memory_id, "c-2")).when(own).then("nothing")


def test_events_of_one_wording_that_happened_at_different_times_are_two():
    known = given(imported("看电影", "1", kind="episodic"))
    other = imported("看电影", "2", later(days=1), kind="episodic")
    assert len(known.when(other).then("formed").memories) == 2
    known.when(replace(other, happened_at=MONDAY)).then("nothing")


@pytest.mark.parametrize("status", ["expired", "forgotten", "superseded"])
def test_what_was_not_active_does_not_become_it(status: str):
    known = given().when(imported(COFFEE, "7", status=status, superseded_by="another")).then(status)
    assert (known.only.status, known.only.superseded_by) == (status, "another" if status == SUPERSEDED else None)


def test_what_superseded_it_must_be_named_else_it_is_over():
    assert given().when(imported(COFFEE, "7", status="superseded")).only.status == "expired"


def test_an_import_keeps_its_expiry_and_a_short_term_memory_has_one_of_48_hours_otherwise():
    kept = imported(COFFEE, "1", later(days=9), formed=MONDAY, memory_type="short_term", expires_at=later(hours=5))
    assert given(kept).active(later(hours=5)) == [COFFEE]
    assert given(kept).active(later(hours=6)) == []
    assert given().when(replace(kept, expires_at=None)).only.expires_at == later(hours=48)
    lasting = replace(kept, memory_type="long_term")
    assert given().when(lasting).only.expires_at == later(hours=5)
    assert given().when(replace(lasting, expires_at=None)).only.expires_at is None


def test_what_expired_by_its_time_is_there_before_it():
    over = imported(COFFEE, "1", later(days=9), formed=MONDAY, memory_type="short_term", status="expired")
    known = given().when(over).then("expired")
    assert (known.active(later(hours=47)), known.active(later(hours=49))) == ([COFFEE], [])


def test_the_newest_value_holds_a_single_slot_in_whichever_order_they_are_imported():
    old = imported("住在北京", "1", later(days=9), formed=MONDAY, **BEIJING)
    new = imported("住在上海", "2", later(days=9), formed=later(days=3), **SHANGHAI)
    assert given(old).when(new).then("formed", "superseded").active(later(days=9)) == ["住在上海"]
    assert given(new).when(old).then("superseded").active(later(days=9)) == ["住在上海"]


def test_what_was_said_again_later_is_the_newer_value():
    old = imported("住在北京", "1", later(days=9), formed=MONDAY, said_at=later(days=5), **BEIJING)
    new = imported("住在上海", "2", later(days=9), formed=later(days=3), **SHANGHAI)
    assert given(old, new).active(later(days=9)) == ["住在北京"]


def test_what_is_over_takes_no_slot_and_is_taken_none_from():
    known = given(remember("住在北京", "c-1", **BEIJING))
    later_value: dict[str, Any] = {"formed": later(days=3), **SHANGHAI}
    ways: list[dict[str, Any]] = [
        {"status": "expired"},
        {"status": "superseded", "superseded_by": "another"},
        {"memory_type": "short_term"},
    ]
    for over in ways:
        at = later(days=9)
        assert known.when(imported("住在上海", "2", at, **later_value, **over)).active(at) == ["住在北京"]


def test_what_has_expired_since_is_not_superseded_by_an_import():
    short = remember("住在北京", "c-1", memory_type="short_term", **BEIJING)
    known = given(short).when(imported("住在上海", "2", later(days=9), formed=later(days=1), **SHANGHAI)).then("formed")
    assert known.of("住在北京").status_at(later(days=9)) == "expired"


def test_a_profile_that_keeps_its_values_keeps_them_and_nothing_is_lost():
    known = given(remember("住在北京", "c-1", **BEIJING), parameters=KEEPS)
    known = known.when(imported("住在上海", "2", later(days=3), **SHANGHAI)).then("superseded")
    assert known.active(later(days=3)) == ["住在北京"]
    assert known.of("住在上海").superseded_by == known.of("住在北京").memory_id


def test_words_that_were_logged_before_an_imported_forgetting_are_suppressed():
    gone = imported(COFFEE, "7", later(days=9), formed=MONDAY, status="forgotten", forgotten_at=later(days=2))
    known = given(gone)
    assert known.only.forgotten_at == later(days=2)
    known.when(said(COFFEE, "t-1", MONDAY)).then("suppressed")
    known.when(said(COFFEE, "t-2", later(days=3))).then("formed")
    assert given(replace(gone, forgotten_at=None)).only.forgotten_at == later(days=9)


def test_what_was_imported_lives_on_like_any_other():
    known = given(imported(COFFEE, "7", later(days=9), formed=MONDAY, importance=0.5))
    memory_id = known.only.memory_id
    assert known.when(tick(later(days=9))).only.importance == 0.45
    assert known.when(said(COFFEE, "t-1", later(days=10))).then("reinforced").only.access_count == 1
    assert known.when(revise(memory_id, "c-1", later(days=10), content=TEA)).then("revised").only.content == TEA
    forgotten = known.when(forget(memory_id, "c-1", later(days=10)))
    assert forgotten.when(restore(memory_id, "c-2", later(days=11))).then("restored").active(later(days=11)) == [COFFEE]


def test_as_of_a_past_time_it_is_there_from_its_forming_on():
    snapshot = imported(COFFEE, "7", later(days=9), formed=later(days=3))
    known = given().when(snapshot)
    assert list(state_at(XIAOMING, known.decisions, later(days=2)).memories) == []
    assert list(state_at(XIAOMING, known.decisions, later(days=4)).memories) == [known.only.memory_id]
    [event] = known.events
    assert isinstance(event, MemoryImported)
    assert memory_at(XIAOMING, [(MONDAY, event)], later(days=4)) == known.only


@pytest.mark.parametrize("first", [0, 1])
def test_as_of_a_past_time_an_imported_value_holds_its_slot_until_the_next_one(first: int):
    at = later(days=9)
    new = imported("住在上海", "2", at, formed=later(days=3), **SHANGHAI)
    by = commanded_memory_id(XIAOMING, new.envelope.event_id)
    old = imported("住在北京", "1", at, formed=MONDAY, status="superseded", superseded_by=by, **BEIJING)
    known = given().when((old, new)[first])
    decisions = [*known.decisions, *known.when((new, old)[first]).decisions]

    def shown(days: float) -> list[str]:
        return [
            m.content for m in state_at(XIAOMING, decisions, later(days=days)).memories.values() if m.status == "active"
        ]

    assert (shown(1), shown(5)) == (["住在北京"], ["住在上海"])


def test_as_of_any_time_a_value_stays_superseded_whose_successor_was_not_imported():
    known = given().when(imported("住在北京", "1", status="superseded", superseded_by="elsewhere", **BEIJING))
    assert [m.status for m in state_at(XIAOMING, known.decisions, later(days=1)).memories.values()] == ["superseded"]


@pytest.mark.parametrize("value", [None, "", " "])
def test_an_attribute_without_a_value_takes_no_slot(value: str | None):
    known = given(remember("住在北京", "c-1", MONDAY, **BEIJING))
    line = imported("养了一只猫", "7", later(days=3), formed=later(days=1), attribute="city", value=value)
    after = known.when(line).then("formed")
    assert sorted(after.active(later(days=4))) == ["住在北京", "养了一只猫"]
    assert (after.of("养了一只猫").attribute, after.of("养了一只猫").value) == (None, None)
    late = given(remember("住在北京", "c-1", later(days=2), **BEIJING), parameters=KEEPS)
    assert len(late.when(line).then("formed").active(later(days=4))) == 2


def test_a_sensitive_topic_without_a_value_stays_one():
    line = imported("前女友", "7", attribute="sensitive_topics", value="")
    assert (given(line).only.slot, given(line).only.value) == ("sensitive_topics", None)
