"""The table of the rules for Chinese."""

from __future__ import annotations

from typing import Final

from streams.extraction.rules.chinese.about_self import about_self
from streams.extraction.rules.chinese.clauses import Clause, asks_of_another, claims, tells_of_another
from streams.extraction.rules.chinese.events import confided, events
from streams.extraction.rules.chinese.liked import liked, names_place
from streams.extraction.rules.chinese.nature import avoided, nature, reputed
from streams.extraction.rules.chinese.people import people
from streams.extraction.rules.chinese.tastes import replies, tastes
from streams.extraction.rules.pipeline import LanguageRules

CHINESE: Final[LanguageRules[Clause]] = LanguageRules(
    avoided=avoided,
    confided=confided,
    claims=claims,
    statements=(about_self, nature, people, tastes),
    events=events,
    liked=liked,
    names_place=names_place,
    asks_of_another=asks_of_another,
    tells_of_another=tells_of_another,
    asked=(replies, reputed),
)
