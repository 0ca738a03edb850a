"""Facts: the subject of a candidate, and the known memories that it replaces or ends by id."""

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
"""How many characters of an id are quoted: a model may write anything."""


def of_somebody(candidate: Candidate) -> Candidate:
    """Return a candidate with its subject: the one it names, else the speaker; None for the user."""
    speaker = candidate.speaker if candidate.speaker and subject_of(candidate.speaker.text) else None
    about = candidate.about if candidate.about and subject_of(candidate.about.text) else speaker
    if (about, speaker) == (candidate.about, candidate.speaker):
        return candidate
    return replace(candidate, about=about, speaker=speaker)


def has_another(state: UserState, said: Statement) -> bool:
    """Return whether another value is known that the statement's value would replace."""
    held = slots.present(slots.occupants(state, said), said.effective)
    if any(slots.holds(memory, said.value) for memory in held):
        return False
    return bool(held or slots.present(slots.opposed(state, said, keeps=False), said.effective))


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """The memory that replaces others, and the author of its words."""

    memory_id: str
    said: Statement
    by_user: bool
    """Whether the words are the user's; otherwise they are its subject's."""


def end_named(draft: Draft, candidate: Candidate, successor: Successor, *, keeps: bool) -> None:
    """Draft that a memory supersedes those that a candidate names; refusals are reported and change nothing.

    If the profile `keeps` its values, memories that state one stay.
    """
    _end(draft, candidate.replaces, successor, REPLACED, keeps=keeps)
    end(draft, candidate.ends, successor, keeps=keeps)


def end(draft: Draft, ended: Iterable[str], successor: Successor, *, keeps: bool) -> None:
    """Draft that a memory supersedes those that are no longer true; refusals are reported and change nothing."""
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
    """Return the reason why a memory cannot be superseded; None if it can."""
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
