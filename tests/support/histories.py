"""Random histories of one user, for property tests: any items that the inbox may contain, decided in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from support.examples import (
    MONDAY,
    candidate,
    episode,
    extracted,
    forget,
    imported,
    piece,
    recalled,
    rejected,
    remember,
    restore,
    revise,
    tick,
)
from support.given import Given

from projections.state.memory import STATUSES
from schemas.messages.envelope import Sealed
from schemas.messages.inbox import CandidatesExtracted
from streams.decisions.decay_policies.registry import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from support.given import Item

    from schemas.messages.decision import Decision
    from schemas.messages.inbox import Candidate

TEXTS = (
    "用户喜欢喝咖啡",
    "用户很喜欢喝咖啡",
    "用户不喜欢喝咖啡",
    "用户喜欢喝咖啡。",
    "User likes 3 cats",
    "",
)
SLOTS = ((None, None), ("city", "北京"), ("city", "上海"), ("city", None), ("likes", "咖啡"), ("nickname", "小明"))
AGENTS = ("luna", "nova", None)
WHOM = st.sampled_from((None, None, "my mother", "The user's mother", "Lena"))
SPEAKERS = st.sampled_from((None, None, None, "Lena"))
NAMES = tuple(f"t-{n}" for n in range(12))
FADING = tuple(name for name, policy in POLICIES.items() if policy.rule is not None)
DAYS = st.integers(-2, 60).map(lambda hours: MONDAY + timedelta(hours=hours * 7))


@dataclass(frozen=True, slots=True)
class Step:
    """One item. The memory that it is about is chosen when it comes, from those that exist then."""

    make: Callable[[str, str], Item]
    """Makes the item from a new command id and a memory id."""
    chosen: int
    waits: timedelta


@st.composite
def candidates(draw: st.DrawFn, names: list[str]) -> Candidate:
    """Return a candidate that cites some of the observations."""
    cites = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    content, importance = draw(st.sampled_from(TEXTS)), draw(st.sampled_from((0.0, 0.25, 0.5, 0.87654321, 1.0)))
    memory_type = draw(st.sampled_from(("short_term", "long_term")))
    if draw(st.booleans()):
        attribute, value = draw(st.sampled_from(SLOTS))
        return candidate(
            content,
            *cites,
            attribute=attribute,
            value=value,
            about=draw(WHOM),
            speaker=draw(SPEAKERS),
            confirmed=draw(st.integers(0, 4)) > 0,
            becomes=draw(st.sampled_from((None, None, None, "city"))),
            occurred_on=draw(st.sampled_from((None, "2026-01-06", "2026-01-15"))),
            importance=importance,
            memory_type=memory_type,
        )
    kind = draw(st.sampled_from(("gift", "fight", None)))
    return episode(content, *cites, event_type=kind, importance=importance, memory_type=memory_type)


@st.composite
def answers(draw: st.DrawFn) -> Callable[[str, str], Item]:
    """Return an extraction of one to three observations, some of which may be covered already."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    covers = [
        piece(
            name,
            draw(DAYS),
            logged=draw(st.sampled_from((MONDAY, MONDAY + timedelta(days=9)))),
            by_user=draw(st.booleans()),
        )
        for name in names
    ]
    if draw(st.integers(0, 9)) == 0:
        answer: Item = rejected(names[0])
    else:
        answer = extracted(
            *draw(st.lists(candidates(names), max_size=3)), covers=covers, agent_id=draw(st.sampled_from(AGENTS))
        )
    if isinstance(answer, CandidatesExtracted) and answer.candidates and draw(st.booleans()):
        names_one, is_over = answer, draw(st.booleans())
        return lambda _command, memory: _naming(names_one, memory, is_over=is_over)
    return lambda _command, _memory: answer


def _naming(answer: CandidatesExtracted, memory_id: str, *, is_over: bool) -> CandidatesExtracted:
    """Return an answer whose first candidate ends a memory, or replaces it."""
    first, *others = answer.candidates
    first = replace(first, ends=[memory_id]) if is_over else replace(first, replaces=[memory_id])
    return replace(answer, candidates=[first, *others])


@st.composite
def imports(draw: st.DrawFn) -> Callable[[str, str], Item]:
    """Return the import of one of a few memories of another system, which may have been imported already."""
    number, at, span = draw(st.integers(0, 6)), draw(DAYS), draw(DAYS)
    attribute, value = draw(st.sampled_from(SLOTS))
    recalls, more = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    content, agent, about = draw(st.sampled_from(TEXTS)), draw(st.sampled_from(AGENTS)), draw(WHOM)
    memory_type, status = draw(st.sampled_from(("short_term", "long_term"))), draw(st.sampled_from(STATUSES))
    kind, by = draw(st.sampled_from(("semantic", "episodic"))), draw(st.sampled_from((None, "elsewhere")))
    snapshot = imported(
        content,
        f"m-{number}",
        at,
        formed=min(at, span),
        last_accessed_at=span,
        agent_id=agent,
        attribute=attribute,
        value=value,
        about=None if about is None else Sealed.clear(about),
        memory_type=memory_type,
        kind=kind,
        status=status,
        superseded_by=by,
        access_count=more,
        recall_count=recalls,
    )
    return lambda _command, memory: snapshot if number else replace(snapshot, superseded_by=memory)


@st.composite
def commands(draw: st.DrawFn) -> Callable[[str, str], Item]:
    """Return a command or a tick."""
    at, content = draw(DAYS), draw(st.sampled_from(TEXTS))
    memory_type = draw(st.sampled_from(("short_term", "long_term")))
    attribute, value = draw(st.sampled_from(SLOTS))
    policy, agent = draw(st.sampled_from(FADING)), draw(st.sampled_from(AGENTS))
    felt = draw(st.sampled_from(("happy", "")))
    expected = draw(st.sampled_from((None, 1, 2)))
    makes: list[Callable[[str, str], Item]] = [
        lambda c, _: remember(
            content, c, at, agent_id=agent, memory_type=memory_type, attribute=attribute, value=value
        ),
        lambda c, m: revise(m, c, at, content=content, expected_version=expected),
        lambda c, m: revise(m, c, at, memory_type=memory_type, importance=0.3),
        lambda c, m: revise(m, c, at, event_type="gift", emotion=felt, key_dialogue=Sealed.clear(b'["thank you"]')),
        lambda c, m: forget(m, c, at),
        lambda c, m: forget(m, c, at),
        lambda c, m: restore(m, c, at),
        lambda c, m: recalled(m, "no-such", command=c, at=at),
        lambda _c, _m: tick(at, policy),
        lambda _c, _m: tick(at + timedelta(days=20), policy),
    ]
    return draw(st.sampled_from(makes))


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """Return one item, with the log time that passes before it."""
    make = draw(st.one_of(answers(), commands(), imports()))
    return Step(make, draw(st.integers(0, 9)), timedelta(hours=draw(st.integers(0, 48))))


HISTORIES = st.lists(steps(), min_size=3, max_size=20)


def lived(history: list[Step], start: Given | None = None) -> tuple[Given, list[Decision]]:
    """Decide a history in order; return the final state and every decision."""
    known, logged = start or Given(), MONDAY
    decisions: list[Decision] = []
    for number, step in enumerate(history):
        logged += step.waits
        known = decided(known, step, number, logged)
        decisions += known.decisions
    return known, decisions


def decided(known: Given, step: Step, number: int, logged: datetime) -> Given:
    """Decide one step, and return the state after it."""
    memories = known.memories
    chosen = memories[step.chosen % len(memories)].memory_id if memories else "no-such"
    return known.when(step.make(f"command-{number}", chosen), logged=logged)
