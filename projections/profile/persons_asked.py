"""The persons that a question is about: names, relations, or a pronoun that refers to no one named in the question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from projections.profile.relations import RELATIONS, same_as
from projections.text.analyser import fold
from projections.text.scripts import HAN

_NAME: Final = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][\w-]+")
_NO_NAMES: Final = frozenset(
    """I Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
    September October November December Christmas Easter""".split()  # noqa: SIM905
)
_WORD: Final = re.compile(r"[^\W_]+")
_PRONOUN: Final = re.compile(r"\b(?:he|she|his|her|hers|him)\b|(?<!其)他(?!们)|她(?!们)")
_MOST: Final = 500
"""How many characters of a question are read."""


@dataclass(frozen=True, slots=True)
class PersonsAsked:
    """The persons that a question names."""

    names: frozenset[str]
    """Capitalised words inside an English sentence, case folded."""
    relations: frozenset[str]
    """All words of both languages for the relations that the question names."""
    is_unnamed: bool
    """Whether the question says "he" or "she" without naming a person."""

    def misses(self, text: str) -> bool:
        """Return whether a text mentions none of the relations, or none of the names.

        The names are looked for only in a text without Chinese characters. A question that names no person misses none.
        """
        if not self.names and not self.relations:
            return False
        folded = fold(text)
        words = frozenset(_WORD.findall(folded))
        if self.relations and not any(_stands(one, folded, words) for one in self.relations):
            return True
        return bool(self.names) and not HAN.search(folded) and self.names.isdisjoint(words)


@lru_cache(maxsize=256)
def persons_asked(question: str) -> PersonsAsked:
    """Return the persons that a question names."""
    said = question[:_MOST]
    folded = fold(said)
    words = frozenset(_WORD.findall(folded))
    relations = frozenset[str]().union(*(same_as(word) for word in RELATIONS if _stands(word, folded, words)))
    found = (name.group().removesuffix("'s") for name in _NAME.finditer(said))
    names = frozenset(fold(name) for name in found if name not in _NO_NAMES)
    is_unnamed = not names and not relations and _PRONOUN.search(folded) is not None
    return PersonsAsked(names, relations, is_unnamed)


def _stands(word: str, folded: str, words: frozenset[str]) -> bool:
    return word in folded if HAN.search(word) else word in words or f"{word}s" in words
