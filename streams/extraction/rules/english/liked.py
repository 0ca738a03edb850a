"""What is liked of what happened, in English: the place of a date ("I loved it there") and what was given.

The word that is liked points back; what it points to stands in the clauses before it, in the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence

_LOOKS_BACK: Final = 4
"""Clauses."""
_THERE: Final = re.compile(
    r"^(?:and )?(?:i|we) (?:both |really |absolutely |just |all )*(?P<not>(?:do not|don't|did not"
    r"|didn't) (?:really )?)?(?:love|loved|like|liked|adore|adored|enjoy|enjoyed)(?: it| being)? (?:there"
    r"|that (?:place|cafe|café|restaurant|bar|spot))"
    r"(?: (?:so much|a lot))?$",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    r"\b(?:at|in|to|by) (?P<place>(?:the |an? )?[A-Za-z][\w'-]{1,20}(?: (?!and\b|with\b|for\b|last\b"
    r"|yesterday\b|on\b|together\b|tonight\b|this\b)[A-Za-z][\w'-]{1,20}){0,3})",
    re.IGNORECASE,
)
_TOGETHER: Final = re.compile(r"\b(?:date|we|us|together)\b|\band i\b", re.IGNORECASE)
_IT: Final = re.compile(
    r"^(?:and )?i (?:really |absolutely |just |totally )*(?P<not>(?:do not|don't|did not"
    r"|didn't) (?:really )?)?(?:love|loved|like|liked|adore) (?:it|them)(?: so much| a lot)?$",
    re.IGNORECASE,
)
_GIVEN: Final = re.compile(
    r"\b(?:gave|bought|got|sent) me (?:an?|some|the|two) (?P<thing>[a-z][\w' -]{2,30}?)(?: (?:for|on|last"
    r"|yesterday|today|this|as)\b.*)?$",
    re.IGNORECASE,
)
_AND_I: Final = re.compile(r" (?:and|but) (?=(?:i|we) )", re.IGNORECASE)
_NO: Final = re.compile(
    r"\b(?:if|would|want|wants|plan|going to|tomorrow|next|not|never|you|will|should|ride|call|lift|advice"
    r"|hug|look|job"
    r"|number|time|headache|reason|chance)\b",
    re.IGNORECASE,
)


def liked(sentence: Sentence) -> Iterator[Finding]:
    """Yield the place of a date, or the gift, that a sentence says is liked or not; nothing where it is not certain."""
    own = () if sentence.asks else _apart(sentence.clauses)
    clauses = (*_apart(sentence.after), *own)
    for at in range(len(clauses) - len(own), len(clauses)):
        found = _liked(clauses[at], clauses[max(0, at - _LOOKS_BACK) : at][::-1])
        if found is not None:
            yield found


def _apart(clauses: tuple[str, ...]) -> tuple[str, ...]:
    """Return the clauses, cut where `and I` begins another."""
    return tuple(part for clause in clauses for part in _AND_I.split(clause))


def names_place(clause: str) -> bool:
    """Return whether a clause says where something is or was."""
    return _PLACE.search(clause) is not None


def _liked(said: str, before: tuple[str, ...]) -> Finding | None:
    if m := _THERE.match(said):
        for clause in before:
            if _NO.search(clause):
                return None
            if place := _PLACE.search(clause):
                return _taste(place["place"], m["not"]) if any(map(_TOGETHER.search, (said, *before))) else None
    elif before and (m := _IT.match(said)) and not _NO.search(before[0]) and (given := _GIVEN.search(before[0])):
        return _taste(given["thing"], m["not"])
    return None


def _taste(thing: str, denied: str | None) -> Finding:
    named = re.sub(r"(?i)^an? ", "", thing)
    if denied:
        return profile("dislikes", named, f"User does not like {named}")
    return profile("likes", named, f"User likes {named}")
