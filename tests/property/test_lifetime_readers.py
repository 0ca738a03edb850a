"""Whoever says when a memory ends, whether it is active or how strong it is says what the memory itself says.

The rule stands in `projections/state/lifetime.py`; `Memory.status_at` and `Memory.strength_at` are it for one memory.
Every other reader is compared with these two: list, search, counts, orders, conditions, ticks, exports and imports.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import Mock

from hypothesis import given, settings
from hypothesis import strategies as st
from immutables import Map
from support.examples import MONDAY, XIAOMING, later, remember, tick, vector_of
from support.given import Given
from support.histories import HISTORIES, lived

from mnemolog.imports.snapshot import parse_snapshot
from projections.profile.ranked_memories import RankedMemories
from projections.profile.visibility import Visibility
from projections.queries.conditions.columns import Columns
from projections.queries.conditions.fading import Fading
from projections.queries.conditions.fields import Subject
from projections.queries.conditions.parser import condition_of
from projections.queries.export import memory_line, place_of
from projections.queries.filters import Filters
from projections.queries.memory_rows import MemoryRows
from projections.queries.queries import Queries
from projections.queries.tenant.memories import Counted, Wanted, counts, named, named_counts, places
from projections.shard.rows.memories import memory_of_row, row_of_memory
from projections.shard.snapshot import ReadSnapshot
from projections.shard.tables import connect, name_of
from projections.state.memory import ACTIVE, EXPIRED, STATUSES, SUPERSEDED, Memory, UserState
from schemas.vocabulary.words import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.histories import Step

MOMENT: Final = timedelta(microseconds=1)
FLAGS: Final = tuple(field.name for field in fields(Memory) if field.type == "bool")
"""A field that a rule may come to read is drawn without being named here."""
INSTANTS: Final = st.sampled_from([later(days=d, microseconds=m) for d in (-20, 0, 1, 30) for m in (-1, 0, 1, 500_000)])
SHARES: Final = st.integers(0, 10_000).map(lambda n: n / 10_000)
FAR: Final = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))  # noqa: DTZ001 - as it wants
[ONE] = Given().when(remember("用户喜欢喝咖啡", "c-1")).memories


@st.composite
def memories(draw: st.DrawFn) -> list[Memory]:
    """Return some memories of any lifetime, strength and status."""
    drawn = []
    for number in range(draw(st.integers(1, 6))):
        formed = draw(INSTANTS)
        lifetime: dict[str, Any] = {name: draw(st.booleans()) for name in FLAGS}
        drawn.append(
            replace(
                ONE,
                memory_id=f"m-{number}",
                content=f"{number}",
                attribute="likes",
                value=f"{number}",
                kind=draw(st.sampled_from(("semantic", "episodic", DOCUMENT))),
                status=draw(st.sampled_from(STATUSES)),
                expires_at=draw(st.none() | INSTANTS | FAR),
                formed_at=formed,
                last_accessed_at=formed,
                restored_at=draw(st.none() | INSTANTS),
                importance=draw(SHARES),
                initial_strength=draw(SHARES),
                recall_count=draw(st.integers(0, 40)),
                **lifetime,
            )
        )
    return drawn


@st.composite
def instants(draw: st.DrawFn, known: list[Memory]) -> datetime:
    """Return an instant, as often as not just before, at or after the end of one of some memories; in any zone."""
    ends = [m.expires_at for m in known if m.expires_at is not None]
    instant = draw(st.sampled_from(ends) if ends else INSTANTS) + draw(st.sampled_from((-1, 0, 1))) * MOMENT
    return instant.astimezone(timezone(timedelta(hours=draw(st.integers(-14, 14)))))


def state_of(known: Iterable[Memory]) -> UserState:
    listed = list(known)
    ids = tuple(sorted(m.memory_id for m in listed if m.attribute == "likes" and m.about is None))
    return UserState(
        owner=XIAOMING,
        memories=Map({m.memory_id: m for m in listed}),
        by_attribute=Map({"likes": ids} if ids else {}),
    )


def agree(state: UserState, at: datetime) -> None:
    """Compare every reader with what each memory says of itself at an instant."""
    known = list(state.memories.values())
    active = {m.memory_id for m in known if m.status_at(at) == ACTIVE}
    shown = {i for i in active if state.memories[i].kind != DOCUMENT}
    lists(state, at, shown)
    searches(state, at, active)
    tables(known, at, active, shown)
    orders(state, at, shown)
    conditions(state, at, active)
    exports(known, at)


def lists(state: UserState, at: datetime, shown: set[str]) -> None:
    queries = Queries(Mock(), Mock(), Mock())
    for status in STATUSES:
        found = asyncio.run(queries.memories(state, Filters(), at, status=status))
        wanted = {m.memory_id for m in state.memories.values() if m.status_at(at) == status and m.kind != DOCUMENT}
        assert {m.memory_id for m in found} == wanted
        assert status != ACTIVE or wanted == shown


def searches(state: UserState, at: datetime, active: set[str]) -> None:
    table, ids = MemoryRows(), list(state.memories)
    rows = table.rows(state, ids)
    versions = [state.memories[i].text_version for i in ids]
    is_right = table.right(rows, versions) & table.active(rows, at)  # type: ignore[arg-type] # numbers are numbers
    assert {i for i, right in zip(ids, is_right, strict=True) if right} == active


def tables(known: list[Memory], at: datetime, active: set[str], shown: set[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shard.sqlite"
        with closing(connect(path)) as connection:
            rows = [(name_of(XIAOMING), m.memory_id, n, row_of_memory(m)) for n, m in enumerate(known)]
            assert [memory_of_row(row) for *_, row in rows] == known
            connection.executemany("insert into memories values(?,?,?,?)", rows)
            wanted, everybody = Wanted(tenant=XIAOMING.tenant, now=at), Counted(by="user", limit=2)
            assert {place.memory_id for place in places(path, wanted, 100)} == shown
            assert {m.memory_id for _, m in named(path, wanted, [m.memory_id for m in known])} == active
            assert sum(count for *_, count in counts(path, wanted)) == len(shown)
            assert sum(count for _, count, *_ in named_counts(path, wanted, everybody)) == len(shown)
            with closing(ReadSnapshot(path)) as snapshot:
                assert asyncio.run(snapshot.count_active(at, lambda _: True)) == len(active)


def orders(state: UserState, at: datetime, shown: set[str]) -> None:
    before, begun = RankedMemories(state_of(())), RankedMemories(state)
    before.follow(state)
    for ranked in (begun, before):
        for _ in range(2):  # the profile is kept the first time
            assert {m.memory_id for m in ranked.best(at, None, Visibility.EVERYTHING, 100)} == shown
            assert ranked.total(at, None, Visibility.EVERYTHING) == len(shown)
            likes = {m.memory_id for m in ranked.filling({"likes"}, at, None, Visibility.EVERYTHING)}
            assert likes == {i for i in shown if state.memories[i].slot == "likes"}
            anew = RankedMemories(state).profile(at, None, Visibility.EVERYTHING)
            assert ranked.profile(at, None, Visibility.EVERYTHING) == anew
            ranked.profile(at - MOMENT, None, Visibility.EVERYTHING)


def conditions(state: UserState, at: datetime, active: set[str]) -> None:
    known = list(state.memories.values())
    assert Fading(known).strengths(at, known).tolist() == [m.strength_at(at) for m in known]
    columns = Columns(state)
    strengths: list[dict[str, Any]] = [{"strength": {"gte": m.strength_at(at)}} for m in known[:1]]
    for asked in ({"status": ACTIVE}, {"status": EXPIRED}, *strengths):
        condition = condition_of(asked)
        met = columns.meeting(condition, at)
        accepted = {m.memory_id for m in known if condition.accepts(Subject(m, XIAOMING.user_id, at))}
        stored = {m.memory_id for m in known if m.status == ACTIVE}
        assert (stored if met is None else met) & active == accepted & active


def exports(known: list[Memory], at: datetime) -> None:
    for memory in known:
        line = memory_line(XIAOMING, memory, at)
        assert line["status"] == memory.status, "an import finds out by itself what is over"
        assert line["strength"] == memory.strength_at(at)
        assert place_of(memory, at)[0] == (memory.status_at(at) != ACTIVE)


@given(st.data(), memories())
@settings(deadline=None, max_examples=60)
def test_every_reader_says_what_the_memory_says(data: st.DataObject, known: list[Memory]):
    agree(state_of(known), data.draw(instants(known)))


@given(HISTORIES)
@settings(deadline=None, max_examples=15)
def test_whatever_happened_every_reader_says_what_the_memory_says(history: list[Step]):
    known, _ = lived(history)
    for at in (MONDAY, later(days=3), later(days=40)):
        agree(known.state, at)


@given(st.data(), memories())
@settings(deadline=None, max_examples=40)
def test_a_tick_expires_by_itself_what_has_ended_and_nothing_else(data: st.DataObject, known: list[Memory]):
    at = data.draw(instants(known))
    before = state_of([replace(m, kind="semantic") for m in known])
    after = Given(state=before).when(tick(at, "ebbinghaus")).state
    for memory in before.memories.values():
        met = memory.formed_at <= at
        assert after.memories[memory.memory_id].status == (memory.status_at(at) if met else memory.status)


@given(st.data(), memories())
@settings(deadline=None, max_examples=40)
def test_what_is_imported_is_as_active_and_as_strong_as_it_was(data: st.DataObject, known: list[Memory]):
    readable = {m.memory_id: m.expires_at and max(m.expires_at, later(days=-9_000)) for m in known}
    there = [replace(m, kind="episodic", attribute=None, value=None, expires_at=readable[m.memory_id]) for m in known]
    at = max(data.draw(instants(there)), later(days=31)).astimezone(UTC)
    for memory in there:
        there_by = "another" if memory.status == SUPERSEDED else None
        line = memory_line(XIAOMING, replace(memory, superseded_by=there_by), at) | {"source_system": "another"}
        one = parse_snapshot(line, tenant=XIAOMING.tenant, user_id=None, accepted_at=at)
        [here] = Given().when(one.item(at, vector_of(memory.content), "test")).memories
        assert here.status_at(at) == memory.status_at(at)
        assert here.strength_at(at) == memory.strength_at(at)
        assert here.ends_at == memory.ends_at
