"""The table of the rules for Chinese."""

from __future__ import annotations

from typing import Final

from streams.extraction.rules.chinese.about_self import about_self
from streams.extraction.rules.chinese.biography import advised, biography, of_them
from streams.extraction.rules.chinese.clauses import Clause, asks_of_another, claims, tells_of_another
from streams.extraction.rules.chinese.events import confided, events
from streams.extraction.rules.chinese.life import life
from streams.extraction.rules.chinese.liked import liked, names_place
from streams.extraction.rules.chinese.nature import avoided, nature, reputed
from streams.extraction.rules.chinese.people import only_names, people
from streams.extraction.rules.chinese.tastes import replies, tastes
from streams.extraction.rules.chinese.topics import context, opinion, plainly, topics
from streams.extraction.rules.pipeline import LanguageRules

CHINESE: Final[LanguageRules[Clause]] = LanguageRules(
    avoided=avoided,
    confided=confided,
    claims=claims,
    statements=(about_self, nature, people, tastes),
    life=life,
    events=events,
    biography=biography,
    only_names=only_names,
    of_them=of_them,
    context=context,
    plainly=plainly,
    topics=topics,
    liked=liked,
    names_place=names_place,
    asks_of_another=asks_of_another,
    tells_of_another=tells_of_another,
    asked=(advised, replies, opinion, reputed),
)
