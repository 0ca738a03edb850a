"""Facts: whom a candidate is about, and which known memories it replaces or ends by their ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from projections.state.memory import ACTIVE
from schemas.vocabulary.facts import subject_of
from streams.decisions import slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.state.memory import Memory, UserState
    from schemas.messages.inbox import Candidate
    from streams.decisions.draft import Draft
    from streams.decisions.duplicates.matching import Statement

REPLACED: Final = "it takes the place of what was known"
ENDED: Final = "it is no longer so"
MAX_ID: Final = 64
"""Characters of an id that is quoted: a model may write anything."""


def of_somebody(candidate: Candidate) -> Candidate:
    """Return a candidate with whom it is about: who spoke of themselves, where it names nobody else; None, the user."""
    speaker = candidate.speaker if candidate.speaker and subject_of(candidate.speaker.text) else None
    about = candidate.about if candidate.about and subject_of(candidate.about.text) else speaker
    if (about, speaker) == (candidate.about, candidate.speaker):
        return candidate
    return replace(candidate, about=about, speaker=speaker)


def has_another(state: UserState, said: Statement) -> bool:
    """Return whether another value than the statement's is known where it would take its place."""
    held = slots.present(slots.occupants(state, said), said.effective)
    if any(slots.holds(memory, said.value) for memory in held):
        return False
    return bool(held or slots.present(slots.opposed(state, said, keeps=False), said.effective))


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """The memory that takes the place of others, and in whose words it does."""

    memory_id: str
    said: Statement
    by_user: bool
    """The user's; else those of whom it is about."""


def end_named(draft: Draft, candidate: Candidate, successor: Successor, *, keeps: bool) -> None:
    """Draft that a memory supersedes those that a candidate names; what cannot be is said and changes nothing.

    Where the profile `keeps` its values, those that are stated stay.
    """
    _end(draft, candidate.replaces, successor, REPLACED, keeps=keeps)
    end(draft, candidate.ends, successor, keeps=keeps)


def end(draft: Draft, ended: Iterable[str], successor: Successor, *, keeps: bool) -> None:
    """Draft that a memory supersedes those that are no longer so; what cannot be is said and changes nothing."""
    _end(draft, ended, successor, ENDED, keeps=keeps)


def _end(draft: Draft, named: Iterable[str], successor: Successor, reason: str, *, keeps: bool) -> None:
    for memory_id in dict.fromkeys(named):
        memory = draft.state.memories.get(memory_id)
        if memory_id == successor.memory_id or (memory and memory.superseded_by == successor.memory_id):
            continue
        fault = "no such memory" if memory is None else _fault(memory, successor, keeps=keeps)
        if memory is None or fault is not None:
            draft.say(memory_id[:MAX_ID], "nothing", f"it cannot be ended: {fault}", memory_id if memory else None)
        else:
            slots.supersede(draft, [memory], successor.memory_id, successor.said.effective, reason)


def _fault(memory: Memory, successor: Successor, *, keeps: bool) -> str | None:
    """Return why a memory cannot be superseded by another one, None where it can."""
    said = successor.said
    if memory.status_at(said.effective) != ACTIVE:
        return f"it is {memory.status_at(said.effective)}"
    if memory.scope != said.scope or not memory.known_to(said.agent_id):
        return "it is not the agent's to change"
    if memory.said_at > said.effective:
        return "it was said later"
    if not successor.by_user and memory.subject != said.subject:
        return "it is about somebody else than the speaker"
    if keeps and memory.stated:
        return f"the profile keeps the {memory.stated} that it has"
    return None
