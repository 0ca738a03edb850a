"""Places: what is told again in another session, or with other metadata, is one memory that is found in each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from support.examples import MONDAY, XIAOMING, forget, happened, later, remember, said
from support.given import given
from support.tables import each

from projections.queries.conditions.columns import Columns
from projections.queries.conditions.parser import condition_of
from projections.queries.filters import Filters
from projections.state.places import MOST, as_met
from schemas.messages.envelope import Sealed

if TYPE_CHECKING:
    from support.given import Given

    from schemas.messages.inbox import CandidatesExtracted

GHENT = "The user lives in Ghent"


def told(name: str, session_id: str | None, days: float = 0, **metadata: object) -> CandidatesExtracted:
    given_with = Sealed.clear(orjson.dumps(metadata)) if metadata else None
    item = said(GHENT, name, later(days=days), attribute="city", value="Ghent", metadata=given_with)
    return replace(item, session_id=session_id)


TWICE = (told("t-1", "r1", project="x"), told("t-2", "r2", 1, project="y"))


def is_found(after: Given, filters: dict[str, Any]) -> bool:
    """Return whether the one memory is found, by itself and among the columns of a search."""
    (memory,) = after.memories
    condition = condition_of(filters)
    by_itself = Filters(condition=condition).passes(memory, XIAOMING, later(days=9))
    met = Columns(after.state).meeting(condition, later(days=9))
    assert by_itself == (met is None or memory.memory_id in met)
    return by_itself


@each(
    "filters",
    [
        {"session_id": "r1"},
        {"session_id": "r2"},
        {"metadata.project": "x"},
        {"metadata.project": "y"},
        {"AND": [{"session_id": "r2"}, {"metadata.project": "y"}]},
        {"session_id": {"in": ["r2", "r3"]}},
        {"NOT": [{"session_id": "r1"}]},
    ],
)
def test_what_is_told_again_elsewhere_is_found_there_too(filters: dict[str, Any]):
    assert is_found(given(TWICE[0]).when(TWICE[1]).then("reinforced"), filters)


@each(
    "filters",
    [{"session_id": "r3"}, {"AND": [{"session_id": "r1"}, {"metadata.project": "y"}]}, {"metadata.project": "z"}],
)
def test_no_two_places_are_taken_for_one(filters: dict[str, Any]):
    assert not is_found(given(TWICE[0]).when(TWICE[1]).then("reinforced"), filters)


def test_a_session_is_a_filter_of_its_own():
    (memory,) = given(TWICE[0]).when(TWICE[1]).then("reinforced").memories
    at = later(days=9)
    assert [Filters(session_id=one).passes(memory, XIAOMING, at) for one in ("r1", "r2", "r3")] == [True, True, False]


def test_what_is_told_again_where_it_was_told_has_no_other_place():
    assert given(told("t-1", "r1")).when(told("t-2", "r1", 1)).then("reinforced").only.met_in == ()


def test_a_place_says_what_differs_and_has_the_memorys_own_metadata_besides():
    memory = (
        given(told("t-1", "r1", project="x", lang="en")).when(told("t-2", "r2", 1, project="y")).then("reinforced").only
    )
    assert memory.met_in == ('{"metadata":{"project":"y"},"session_id":"r2"}',)
    assert [orjson.loads(one.metadata) for one in as_met(memory)] == [
        {"project": "x", "lang": "en"},
        {"project": "y", "lang": "en"},
    ]


def test_an_event_told_again_in_another_session_is_found_there_too():
    first = replace(happened("The user met Lena at the zoo", "t-1"), session_id="r1")
    again = replace(happened("The user met Lena at the zoo", "t-2", later(hours=1)), session_id="r2")
    assert given(first).when(again).then("revised").only.met_in == ('{"session_id":"r2"}',)


def test_what_is_remembered_again_as_it_is_is_found_there_too():
    first = remember(GHENT, "c-1", session_id="r1")
    after = given(first).when(remember(GHENT, "c-2", later(days=1), session_id="r2")).then("reinforced")
    assert after.only.met_in == ('{"session_id":"r2"}',)


def test_the_latest_places_are_kept():
    after = given(*(told(f"t-{n}", f"r{n}", n) for n in range(MOST + 3)))
    sessions = [one.session_id for one in as_met(after.only)]
    assert sessions == ["r0", *(f"r{n}" for n in range(3, MOST + 3))]


@each(
    ("session_id", "own", "others"),
    [("r1", ("r2", "y"), [("r3", "z")]), ("r2", ("r1", "x"), [("r3", "z")]), ("r3", ("r1", "x"), [("r2", "y")])],
)
def test_what_a_session_forgets_stays_in_the_others(
    session_id: str, own: tuple[str, str], others: list[tuple[str, str]]
):
    after = given(*TWICE, told("t-3", "r3", 2, project="z"))
    gone = after.when(replace(forget(after.only.memory_id, "c-1", later(days=3)), session_id=session_id)).then(
        "revised"
    )
    first, *more = [(m.session_id, orjson.loads(m.metadata)["project"]) for m in as_met(gone.only)]
    assert (first, more, gone.only.status) == (own, others, "active")


def test_what_was_told_in_one_session_alone_is_forgotten_with_it():
    after = given(told("t-1", "r1"), told("t-2", "r1", 1, project="y"))
    after.when(replace(forget(after.only.memory_id, "c-1", later(days=3)), session_id="r1")).then("forgotten")


def test_metadata_that_are_too_large_are_none_of_a_place():
    after = given(told("t-1", "r1")).when(told("t-2", "r2", 1, note="x" * 20_000)).then("reinforced")
    assert after.only.met_in == ('{"session_id":"r2"}',)


def test_columns_follow_to_a_state_with_more_and_with_fewer_places():
    before, after = given(TWICE[0]).state, given(*TWICE).state
    filled = given(*(said(f"The user owns {n} boats", f"b-{n}") for n in range(20)))
    columns = Columns(replace(before, memories=before.memories.update(filled.state.memories)))
    wanted = condition_of({"session_id": "r2"})
    assert columns.meeting(wanted, MONDAY) == frozenset()
    assert columns.follow(replace(after, memories=after.memories.update(filled.state.memories)))
    assert columns.meeting(wanted, MONDAY) == frozenset(after.memories)
    assert columns.follow(replace(before, memories=before.memories.update(filled.state.memories)))
    assert columns.meeting(wanted, MONDAY) == frozenset()
