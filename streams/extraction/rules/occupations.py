"""Words that name an occupation: `I'm a …` and `我是…` alone say many other things too."""

from __future__ import annotations

import re
from typing import Final

from streams.extraction.rules.cues import cues_beside

_CUES: Final = cues_beside(__file__)

_ENGLISH_LONGEST: Final = 5
"""The most words of an occupation: `senior data science team manager`."""


def chinese_occupation(text: str) -> str | None:
    """Return the occupation that a whole text names, without 一名 or 一个; None if it names anything else."""
    bare = re.sub(r"^(?:一[名位个]|[名位个])", "", text)
    # 当过老师 and 当了十年老师 may be over.
    return bare if _CUES["chinese"].fullmatch(bare) and not re.match(r"[过了着不没]|退休|未来", bare) else None


def english_occupation(text: str) -> str | None:
    """Return the occupation that a noun phrase without its article names; None if its last word names none."""
    words = text.split()
    match = _CUES["english"].search(text)
    while match and match.end() != len(text):
        match = _CUES["english"].search(text, match.end())
    if _CUES["no_more"].search(text):
        return None
    if not match or len(words) > _ENGLISH_LONGEST or (match.start() and text[match.start() - 1] != " "):
        return None
    return text
