"""The table of the rules for English."""

from __future__ import annotations

from typing import Final

from streams.extraction.rules.english.about_self import about_self
from streams.extraction.rules.english.clauses import Clause, asks_of_another, claims, tells_of_another
from streams.extraction.rules.english.events import confided, events
from streams.extraction.rules.english.liked import liked, names_place
from streams.extraction.rules.english.nature import avoided, nature, replies, reputed
from streams.extraction.rules.english.people import people
from streams.extraction.rules.english.tastes import rather, tastes
from streams.extraction.rules.pipeline import LanguageRules

ENGLISH: Final[LanguageRules[Clause]] = LanguageRules(
    avoided=avoided,
    confided=confided,
    claims=claims,
    statements=(about_self, nature, people, tastes),
    events=events,
    liked=liked,
    names_place=names_place,
    asks_of_another=asks_of_another,
    tells_of_another=tells_of_another,
    asked=(replies, reputed, rather),
)
