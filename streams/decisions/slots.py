"""Slots that hold one value: the newest wins, in the order of effective time, log position and ordinal.

A single-valued attribute is one, and so is each thing that is liked or disliked: it is not both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from projections.state.memory import ACTIVE, EXPIRED
from schemas.messages.events import MemorySuperseded
from schemas.vocabulary.attributes import OPPOSITES, is_single, same_value

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import Memory, UserState
    from streams.decisions.draft import Draft
    from streams.decisions.duplicates.matching import Statement


def holders(state: UserState, said: Statement) -> list[Memory]:
    """Return the memories that ever held the statement's slot, by when they were last said; [] for no single slot."""
    if said.attribute is None or said.kind != "semantic" or not is_single(said.attribute):
        return []
    return _filling(state, said.attribute, said)


def opposed(state: UserState, said: Statement, *, keeps: bool) -> list[Memory]:
    """Return the memories that ever said the opposite of the same thing, by when they were last said.

    [] where the profile keeps what it has: then both lists accumulate.
    """
    opposite = OPPOSITES.get(said.attribute or "")
    if keeps or opposite is None or said.kind != "semantic":
        return []
    return [m for m in _filling(state, opposite, said) if holds(m, said.value)]


def _filling(state: UserState, attribute: str, said: Statement) -> list[Memory]:
    known = (state.memories[i] for i in state.by_attribute.get(attribute, ()))
    seen = [m for m in known if m.slot and m.scope == said.scope and m.known_to(said.agent_id)]
    return sorted(seen, key=lambda m: m.said_at)  # stable: what was decided later is newer


def newer_than(held: list[Memory], effective: datetime) -> Memory | None:
    """Return the newest holder if it is newer than `effective`: then what is said is history, born superseded.

    A forgotten holder counts: forgetting the present value does not bring a past one back. An expired one does not.
    """
    newest = next((m for m in reversed(held) if m.status_at(effective) != EXPIRED), None)
    return newest if newest is not None and newest.said_at > effective else None


def present(held: list[Memory], effective: datetime) -> list[Memory]:
    """Return the holders whose value is shown at the instant."""
    return [m for m in held if m.status_at(effective) == ACTIVE]


def supersede(draft: Draft, present: list[Memory], by: str, effective: datetime) -> None:
    """Draft that a newer value takes the place of those present."""
    newer = draft.state.memories[by].attribute
    for old in present:
        draft.add(MemorySuperseded(envelope=draft.envelope(effective), memory_id=old.memory_id, superseded_by=by))
        draft.say(old.memory_id, "superseded", f"a newer {newer} was said", old.memory_id)


def named(state: UserState, said: Statement) -> Statement:
    """Return a nickname as what it is to this user: the name, while no other is known, else one of many."""
    name = replace(said, attribute="user_name")
    others = [m for m in present(holders(state, name), said.effective) if not holds(m, said.value)]
    return replace(said, attribute="pet_names") if others else name


def holds(memory: Memory, value: str | None) -> bool:
    """Tell whether a holder has the value."""
    return value is not None and memory.value is not None and same_value(memory.value, value)


def fills_same(memory: Memory, said: Statement) -> bool:
    """Tell whether a memory of the same text also says the same of the profile, as far as anything is said of it."""
    if said.attribute is None:
        return True
    return memory.slot == said.attribute and (said.value is None or holds(memory, said.value))
