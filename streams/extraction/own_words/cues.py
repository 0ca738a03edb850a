"""Cues: what the words of a sentence say of it, each as a row for both languages."""

from __future__ import annotations

import re
from typing import Final

from projections.text.analyser import terms
from streams.extraction.rules.cues import cues_beside

_CUES: Final = cues_beside(__file__)
_WORDS_OF_NOT: Final = re.compile(r"\s{0,2}(?:[^\W\d_]{1,12}\s{1,2}){0,2}|[一-鿿]{0,2}")
"""What may stand between a denial and what it denies_value: "not the", "don't like", 不再喝."""

_CATEGORIES: Final = cues_beside(__file__, "categories")
FEW_TERMS: Final = 2
"""Fewer of them behind that say nothing."""


def category_of(text: str) -> str:
    """Return Evatar's category of a sentence: the first row that has a word of it."""
    return next((name for name, pattern in _CATEGORIES.items() if pattern.search(text)), "fact")


def asks_for_something(text: str) -> bool:
    """Return whether a sentence asks the listener to do something, once."""
    return _CUES["request"].match(text) is not None


def asks_for_good(text: str) -> bool:
    """Return whether a sentence says how the listener is to answer, or what to do, from now on."""
    return _CUES["standing"].search(text) is not None


def is_question(text: str) -> bool:
    """Return whether a sentence asks something, with a question mark or without."""
    return _CUES["asks"].search(text) is not None


def says_nothing(text: str) -> bool:
    """Return whether a sentence only thanks, greets, agrees, jokes or supposes, or says what others advise."""
    rest = text
    while rest and (found := _CUES["nothing"].match(rest)):
        goes_on = _CUES["goes_on"].search(rest, found.end())
        rest = rest[goes_on.end() :] if goes_on else ""
    return (rest != text and len(terms(rest)) < FEW_TERMS) or _CUES["supposed"].search(text) is not None


def is_limited(text: str) -> bool:
    """Return whether a sentence says that something is so under a condition, within limits, or perhaps."""
    return _CUES["limited"].search(text) is not None


def words_of(text: str) -> set[str]:
    """Return the words of a text that say what it is about."""
    return {word for word in terms(text) if len(word) > 1}


def in_first_person(text: str) -> bool:
    """Return whether a sentence speaks of its speaker."""
    return _CUES["first_person"].search(text) is not None


def denies_value(text: str, value: str) -> bool:
    """Return whether a sentence says of a value that it is not so: "not tabs", 不再喝茶."""
    said, wanted = text.casefold(), value.casefold()
    for found in _CUES["not"].finditer(said):
        between, denied, behind = said[found.end() :].partition(wanted)
        is_whole = not wanted[-1:].isascii() or not behind[:1].isalnum()
        if denied and is_whole and _WORDS_OF_NOT.fullmatch(between):
            return True
    return False


def is_of_the_moment(text: str) -> bool:
    """Return whether a sentence says where somebody is, or what they do, just now."""
    return _CUES["just_now"].search(text) is not None


def is_instead(text: str) -> bool:
    """Return whether a sentence says that something is so now, in place of something else."""
    return _CUES["instead"].search(text) is not None


def is_ended(text: str) -> bool:
    """Return whether a sentence has a word for an end: "stopped", 不再."""
    return _CUES["ended"].search(text) is not None


def is_retraction(text: str) -> bool:
    """Return whether a sentence says that the one before it was no earnest."""
    return _CUES["retracted"].match(text) is not None
