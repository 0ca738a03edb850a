"""Starts: the employer or the city that a sentence says will be the speaker's, from the day that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streams.extraction.rules.cues import cues_beside
from streams.extraction.rules.finding import KEYS, profile

if TYPE_CHECKING:
    from streams.extraction.rules.finding import Finding

_CUES: Final = cues_beside(__file__)
"""Those of a key begin with its name."""


def begun_by(sentence: str) -> list[Finding]:
    """Return the keys that a sentence about a day to come says will be filled from then on."""
    if _CUES["no_start"].search(sentence):
        return []
    for name, pattern in _CUES.items():
        attribute = name.partition("_")[0]
        found = pattern.search(sentence) if attribute in KEYS else None
        if found and not _CUES["no_firm"].search(found["what"]):
            return [profile(attribute, found["what"], sentence)]
    return []
