"""Visibility by intimacy (Luna): the name only, all but sensitive topics, or everything."""

from __future__ import annotations

from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Final

from projections.text.analyser import fold
from schemas.text import stands_in
from schemas.vocabulary.facts import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.state.memory import Memory, UserState

NAME: Final = "user_name"
SENSITIVE: Final = "sensitive_topics"
_OF_OTHERS: Final = key_of("", SENSITIVE) or ""
"""The ending of the keys of other persons' topics."""


class Visibility(Enum):
    """How much of a user's memory is shown."""

    NAME_ONLY = "name only"
    NOTHING_SENSITIVE = "nothing sensitive"
    EVERYTHING = "everything"


def visibility_at(intimacy: float, levels: tuple[float, float]) -> Visibility:
    """Return the visibility at an intimacy of 0 to 100: it changes at each of the two levels."""
    if intimacy < levels[0]:
        return Visibility.NAME_ONLY
    return Visibility.NOTHING_SENSITIVE if intimacy < levels[1] else Visibility.EVERYTHING


def about_topics(state: UserState) -> list[Memory]:
    """Return the memories that name a sensitive topic of the user or of any other person."""
    ids = (ids for key, ids in state.by_attribute.items() if key == SENSITIVE or key.endswith(_OF_OTHERS))
    return [state.memories[memory_id] for memory_id in chain.from_iterable(ids)]


class Topics:
    """A user's sensitive topics. They hide the memories in that slot and all other memories that mention a topic.

    A mention is the topic's text, in any equivalent spelling of its characters; a Latin word must be a whole word.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(plain for value in values if (plain := fold(value).strip()))

    def touch(self, memory: Memory) -> bool:
        """Return whether a memory is about a sensitive topic."""
        if memory.attribute == SENSITIVE:
            return True
        return self.are_in("\n".join((memory.content, memory.value or "", *memory.key_dialogue)))

    def are_in(self, text: str) -> bool:
        """Return whether a text mentions one of the topics."""
        if not self.values:
            return False
        said = fold(text)
        return any(stands_in(value, said) for value in self.values)
