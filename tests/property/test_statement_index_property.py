"""A decision that looks by keys is the one that a look at every memory leads to, whatever has happened before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import (
    MONDAY,
    candidate,
    envelope,
    episode,
    extracted,
    forget,
    imported,
    piece,
    remember,
    restore,
    revise,
    share,
)
from support.given import Given

from projections.state.memory import ACTIVE, FORGOTTEN
from projections.state.statement_index import StatementIndex
from schemas.messages.envelope import Sealed
from schemas.messages.erasure import EraseMemory
from schemas.vocabulary.attributes import OPPOSITES, same_value
from schemas.vocabulary.words import DOCUMENT
from streams.decisions import slots, statements
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.duplicates import matching
from streams.decisions.duplicates.contradiction import taken_back
from streams.decisions.duplicates.equivalence import skeleton
from streams.decisions.duplicates.similarity import near_duplicate
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from projections.state.memory import Memory, UserState
    from projections.state.statement_index import KeysOf, Saying
    from schemas.messages.inbox import Candidate, CandidatesExtracted, UserItem
    from streams.decisions.duplicates.matching import Statement

SAYINGS = (
    "User likes tea",
    "User really likes tea.",
    "I like tea",
    "User doesn't like tea",
    "User no longer likes tea",
    "User used to like tea",
    "User dislikes the tea",
    "User has two cats",
    "User has three cats",
    "User has 3 cats",
    "User's rent is 1,200 euros",
    "User's rent is 1,450 euros",
    "User is allergic to nuts",
    "User is no longer allergic to nuts",
    "User works at IKEA",
    "User left IKEA last week",
    "User quit their job",
    "User has three cats now",
    "User broke up with Mia",
    "User stopped drinking tea",
    "用户抽烟",
    "用户不抽烟",
    "用户以前抽烟",
    "用户养了两只猫",
    "用户养了三只猫",
    "用户对花生过敏",
    "用户不再对花生过敏了",
    "用户辞职了",
    "用户现在养了三只猫",
    "the",
    "",
)
SLOTS = (
    *[(None, None)] * 6,
    ("likes", "tea"),
    ("likes", "The tea."),
    ("likes", ""),
    ("dislikes", "tea"),
    ("allergies", "nuts"),
    ("allergies", "花生"),
    ("employer", "IKEA"),
    ("family", "girlfriend Mia"),
    ("city", "Berlin"),
    ("birthdays", "Anna: 3 May"),
    ("nickname", "Ann"),
)
AGENTS = ("luna", "nova", None)
NAMES = tuple(f"t-{n}" for n in range(8))
TIMES = st.integers(-40, 40).map(lambda hours: MONDAY + timedelta(hours=hours * 5))
PARAMETERS = st.builds(
    Parameters,
    keyword_overlap=st.sampled_from((0.0, 0.6, 1.0)),
    episode_merge_hours=st.sampled_from((0.0, 5.0, 24.0, 1_000.0)),
    profile_keeps=st.booleans(),
)


class FindsAll(StatementIndex):
    """An index without a use: it finds every memory that there is or was."""

    __slots__ = ("_ids",)

    def __init__(self, memories: Iterable[Saying]) -> None:
        """Take the memories that there are."""
        self._ids: set[str] = set()
        super().__init__(memories)

    def note(self, memory: Saying) -> None:
        """Take its id."""
        self._ids.add(memory.memory_id)

    def find(self, _keys: Iterable[Hashable], _keys_of: KeysOf) -> set[str]:
        """Return all."""
        return self._ids


@st.composite
def answers(draw: st.DrawFn) -> CandidatesExtracted:
    """Return what an extractor says, of one to three observations."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    covers = [
        piece(
            name,
            draw(TIMES),
            logged=draw(st.sampled_from((MONDAY, MONDAY + timedelta(days=9)))),
            by_user=draw(st.booleans()),
        )
        for name in names
    ]
    return extracted(
        *draw(st.lists(_candidates(names), min_size=1, max_size=3)),
        covers=covers,
        agent_id=draw(st.sampled_from(AGENTS)),
    )


@st.composite
def _candidates(draw: st.DrawFn, names: list[str]) -> Candidate:
    cites = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    content = draw(st.sampled_from(SAYINGS))
    if draw(st.integers(0, 3)):
        attribute, value = draw(st.sampled_from(SLOTS))
        category = draw(st.sampled_from(("fact", "schedule")))
        return candidate(content, *cites, attribute=attribute, value=value, category=category)
    day = draw(st.sampled_from((None, "2026-01-03", "2025-12-30")))
    return episode(content, *cites, event_type=draw(st.sampled_from(("gift", None))), occurred_on=day)


@st.composite
def makers(draw: st.DrawFn) -> Callable[[str, str], UserItem]:
    """Return what makes an item of a new command id and the id of a memory."""
    at, content, agent = draw(TIMES), draw(st.sampled_from(SAYINGS)), draw(st.sampled_from(AGENTS))
    (attribute, value), answer = draw(st.sampled_from(SLOTS)), draw(answers())
    kind, new = draw(st.sampled_from(("semantic", "episodic"))), draw(st.sampled_from((None, "tea", "nuts")))
    makes: list[Callable[[str, str], UserItem]] = [
        *[lambda _c, _m: answer] * 6,
        lambda c, _: remember(content, c, at, agent_id=agent, attribute=attribute, value=value),
        lambda c, _: remember(content, c, at, agent_id=agent, kind=DOCUMENT, attribute="key", value="v"),
        lambda c, _: imported(content, c, at, agent_id=agent, attribute=attribute, value=value, kind=kind),
        lambda c, m: revise(m, c, at, content=content, value=new and Sealed.clear(new)),
        lambda c, m: share(m, "nova", c, at),
        lambda c, m: forget(m, c, at),
        lambda c, m: restore(m, c, at),
        lambda c, m: EraseMemory(envelope=envelope(c, at), memory_id=m, event_ids=[], letters=[]),
    ]
    return draw(st.sampled_from(makes))


@given(st.lists(st.tuples(makers(), st.integers(0, 9), st.booleans()), min_size=3, max_size=25), PARAMETERS)
@settings(max_examples=40, deadline=None)
def test_a_decision_by_keys_is_that_of_a_look_at_every_memory(
    history: list[tuple[Callable[[str, str], UserItem], int, bool]], parameters: Parameters
):
    known = Given(parameters=parameters)
    for number, (make, chosen, is_lost) in enumerate(history):
        memories = known.memories
        item = make(f"command-{number}", memories[chosen % len(memories)].memory_id if memories else "no-such")
        place = ItemPosition(0, known.offset + 1, MONDAY + timedelta(hours=number))
        live = known.state
        scanned = replace(live, statements=FindsAll(live.memories.values()))
        decision, expected, anew = (
            decide(state, item, place, known.vectors, parameters)
            for state in (live, scanned, replace(live, statements=None))
        )
        assert expected == decision == anew
        if is_lost:
            continue  # another worker's decision took its place: what the draft noted is in no state
        known = known.when(item, logged=place.recorded_at)


@given(st.lists(st.tuples(makers(), st.integers(0, 9)), min_size=3, max_size=20), answers(), st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_found_by_keys_is_what_a_look_at_every_memory_finds(
    history: list[tuple[Callable[[str, str], UserItem], int]], answer: CandidatesExtracted, data: st.DataObject
):
    known = Given()
    for number, (make, chosen) in enumerate(history):
        memories = known.memories
        known = known.when(make(f"command-{number}", memories[chosen % len(memories)].memory_id if memories else "no"))
    state, keeps, at = known.state, data.draw(st.booleans()), data.draw(TIMES)
    for said in answer.candidates:
        statement = statements.of_candidate(answer, said, at)
        assert near_by_scan(state, statement) == matching.near(state, statement, {}, 0.6)
        assert same_slot_by_scan(state, statement) == list(matching.same_slot(state, statement))
        assert opposed_by_scan(state, statement, keeps=keeps) == slots.opposed(state, statement, keeps=keeps)
        assert contradicted_by_scan(state, statement, keeps=keeps) == slots.contradicted(state, statement, keeps=keeps)
    assert forgotten_by_scan(state) == {piece: set(ids) for piece, ids in state.forgotten.items()}


def comparable(memory: Memory, statement: Statement) -> bool:
    if DOCUMENT in (memory.kind, statement.kind):
        return False
    return memory.scope == statement.scope and memory.known_to(statement.agent_id)


def near_by_scan(state: UserState, statement: Statement) -> list[Memory]:
    words = skeleton(statement.content).words
    found = [
        m
        for m in state.memories.values()
        if skeleton(m.content).words == words
        and m.status in (ACTIVE, FORGOTTEN)
        and m.kind == statement.kind
        and comparable(m, statement)
        and not (m.attribute and statement.attribute and m.attribute != statement.attribute)
        and near_duplicate(m.content, statement.content, None, 0.6)
    ]
    return sorted(found, key=lambda m: (m.formed_at, m.memory_id))


def same_slot_by_scan(state: UserState, statement: Statement) -> list[Memory]:
    if statement.attribute is None or statement.value is None:
        return []
    memories = [state.memories[i] for i in state.by_attribute.get(statement.attribute, ())]
    return [
        m for m in memories if comparable(m, statement) and m.value is not None and same_value(m.value, statement.value)
    ]


def opposed_by_scan(state: UserState, statement: Statement, *, keeps: bool) -> list[Memory]:
    opposite = OPPOSITES.get(statement.attribute or "")
    if keeps or opposite is None or statement.kind != "semantic":
        return []
    memories = [state.memories[i] for i in state.by_attribute.get(opposite, ())]
    found = [
        m
        for m in memories
        if m.slot
        and m.kind != DOCUMENT
        and m.scope == statement.scope
        and m.known_to(statement.agent_id)
        and slots.holds(m, statement.value)
        and slots._says_its_slot(m)
    ]
    return sorted(found, key=lambda m: m.said_at)


def contradicted_by_scan(state: UserState, statement: Statement, *, keeps: bool) -> list[Memory]:
    if statement.kind != "semantic":
        return []
    back = taken_back(statement.content)
    found = [
        m
        for m in state.memories.values()
        if m.kind == "semantic"
        and m.status in (ACTIVE, FORGOTTEN)
        and m.category not in slots.OF_OCCASIONS
        and m.scope == statement.scope
        and m.known_to(statement.agent_id)
        and not (keeps and m.slot)
        and slots._contradicts(m, statement, back)
    ]
    return sorted(found, key=lambda m: (m.said_at, m.memory_id))


def forgotten_by_scan(state: UserState) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for memory in state.memories.values():
        for one in memory.pieces if memory.status == FORGOTTEN else ():
            found.setdefault(one, set()).add(memory.memory_id)
    return found
