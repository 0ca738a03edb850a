"""Likes that point back: to the place of a date (我很喜欢那里, "I loved it there"), or to a gift.

The clause itself has only a pronoun; the noun is in the clauses before it, in the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.rows.row import Language
    from streams.extraction.rules.sentences import Sentence

_LOOKS_BACK: Final = 4
"""How many clauses back the place may be."""
_AND_I: Final = re.compile(r" (?:and|but) (?=(?:i|we) )", re.IGNORECASE)
_ONE: Final = re.compile(r"^(?:an? |一[家个间座])", re.IGNORECASE)


def liked(language: Language, sentence: Sentence) -> Iterator[Finding]:
    """Yield the place of a date, or the gift, that a sentence says is liked or not; nothing when in doubt."""
    own = () if sentence.asks else _apart(sentence.clauses)
    clauses = (*_apart(sentence.after), *own)
    for at in range(len(clauses) - len(own), len(clauses)):
        found = _liked(language, clauses[at], clauses[max(0, at - _LOOKS_BACK) : at][::-1])
        if found is not None:
            yield found


def _apart(clauses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for clause in clauses for part in _AND_I.split(clause))


def names_place(language: Language, clause: str) -> bool:
    """Return whether a clause says where something is or was, so that 那里 and "there" may refer to it."""
    return language.cues["place"].search(clause) is not None


def _liked(language: Language, said: str, before: tuple[str, ...]) -> Finding | None:
    cues = language.cues
    if there := cues["liked_there"].match(said):
        for clause in before:
            if cues["no_place"].search(clause):
                return None
            if place := cues["place"].search(clause):
                named = place["place"] or place["at"]
                is_shared = any(map(cues["together"].search, (said, *before))) and not cues["deed"].search(named)
                return _taste(named, there["not"]) if is_shared else None
    elif before and (it := cues["liked_it"].match(said)) and not cues["no_gift"].search(before[0]):
        given = cues["given"].search(before[0])
        return _taste(given["thing"], it["not"]) if given else None
    return None


def _taste(thing: str, denied: str | None) -> Finding:
    return profile("dislikes" if denied else "likes", _ONE.sub("", thing))
