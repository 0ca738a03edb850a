"""What an intimacy lets be seen of a user's memory (Luna): the name only, all but what is sensitive, or everything."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from projections.analyser import fold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.memory import Memory

NAME: Final = "user_name"
SENSITIVE: Final = "sensitive_topics"


class Sight(Enum):
    """How much is seen."""

    NAME_ONLY = "name only"
    NOTHING_SENSITIVE = "nothing sensitive"
    EVERYTHING = "everything"


def sight_of(intimacy: float, levels: tuple[float, float]) -> Sight:
    """Return what is seen at an intimacy of 0 to 100: below the first level, below the second, and from there on."""
    if intimacy < levels[0]:
        return Sight.NAME_ONLY
    return Sight.NOTHING_SENSITIVE if intimacy < levels[1] else Sight.EVERYTHING


class Topics:
    """A user's sensitive topics: what fills that slot, and every other memory that mentions one of them by its words.

    A mention is the topic's text, in any spelling of the same characters; a Latin word must stand by itself.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(plain for value in values if (plain := fold(value).strip()))
        spelt = "|".join(_by_itself(value) for value in sorted(self.values))
        self._pattern = re.compile(spelt) if spelt else None

    def touch(self, memory: Memory) -> bool:
        """Tell whether a memory is about a sensitive topic."""
        if memory.attribute == SENSITIVE:
            return True
        if self._pattern is None:
            return False
        said = (memory.content, memory.value or "", *memory.key_dialogue)
        return self._pattern.search(fold("\n".join(said))) is not None


def _by_itself(value: str) -> str:
    """Return a pattern for a value: a letter or digit of a spaced script at its end does not go on into a word."""
    begin = r"(?<![a-z0-9])" if value[0].isascii() and value[0].isalnum() else ""
    end = r"(?![a-z0-9])" if value[-1].isascii() and value[-1].isalnum() else ""
    return f"{begin}{re.escape(value)}{end}"
