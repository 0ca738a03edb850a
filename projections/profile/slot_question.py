"""Slot questions: which slot of the profile a question asks for, of whom, and how well a memory fills it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.profile.chinese_questions import asked_in_chinese
from projections.profile.english_questions import asked_in_english
from projections.profile.relations import mentions
from projections.state.memory import ACTIVE, SUPERSEDED
from projections.text.analyser import fold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from projections.profile.slot_asked import SlotAsked
    from projections.state.memory import Memory, UserState

MAX_CHARACTERS: Final = 200
"""Longer texts are read as no question: they are stories, or have several."""
MOST: Final = 200
"""Memories that are looked at for one attribute, those formed last."""
FILLS: Final = 1.0
ONE_OF_MANY: Final = 0.5
"""Of lists that grow long: what a user likes is asked for, and most of the list is not the answer."""
_LONG_LISTS: Final = frozenset({"likes", "dislikes", "interests", "skills"})
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")


def slot_asked(query: str) -> SlotAsked | None:
    """Return the slot that a question asks for, None where it asks for none that is known."""
    if not 0 < len(query) <= MAX_CHARACTERS:
        return None
    text = fold(query).strip()
    return asked_in_chinese(text) if _HAN.search(text) else asked_in_english(text)


def filling(
    state: UserState, asked: SlotAsked, at: datetime, *, agent_id: str | None = None, with_past: bool = False
) -> dict[str, float]:
    """Return how well the memories that an agent sees fill the slot that is asked for, from 0 to 1, by memory_id.

    `with_past`, a question for what was before is answered by the values that were superseded, where there are any.
    """
    about = _about_user(state, asked, at, agent_id)
    shares: dict[str, dict[str, float]] = {ACTIVE: {}, SUPERSEDED: {}}
    for memory in _memories(state, asked.attributes if about else asked.of_others, agent_id):
        fills = shares.get(memory.status_at(at))
        if fills is not None and (share := _share(memory, asked, about_user=about)):
            fills[memory.memory_id] = share
    return (shares[SUPERSEDED] if asked.past and with_past else {}) or shares[ACTIVE]


def _memories(state: UserState, attributes: tuple[str, ...], agent_id: str | None) -> Iterator[Memory]:
    for attribute in attributes:
        for memory_id in state.by_attribute.get(attribute, ())[-MOST:]:
            memory = state.memories[memory_id]
            if memory.slot == attribute and memory.visible_to(agent_id):
                yield memory


def _share(memory: Memory, asked: SlotAsked, *, about_user: bool) -> float:
    words = f"{memory.content}\n{memory.value or ''}"
    if not all(mentions(words, word) for word in (*asked.words, *(() if about_user else (asked.whose,)))):
        return 0.0
    return ONE_OF_MANY if memory.slot in _LONG_LISTS and not asked.words else FILLS


def _about_user(state: UserState, asked: SlotAsked, at: datetime, agent_id: str | None) -> bool:
    """Return whether the question is about the user: by a pronoun, or by a name that the user has."""
    if not asked.whose:
        return True
    names = {fold(state.owner.user_id)}
    for memory in _memories(state, ("user_name",), agent_id):
        if memory.status_at(at) == ACTIVE and memory.value:
            names.add(fold(memory.value))
    return any(_is_part(asked.whose, name) for name in names)


def _is_part(said: str, name: str) -> bool:
    if _HAN.search(said):
        return len(said) > 1 and name.endswith(said)
    return set(said.split()) <= set(name.split())
