"""Reads an English sentence: each clause that claims something goes through the rules of `english_*`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.extraction.rules.addressed import SHARED, addressed
from streams.extraction.rules.english.about_self import about_self
from streams.extraction.rules.english.clauses import claims
from streams.extraction.rules.english.events import confided, events
from streams.extraction.rules.english.life import life
from streams.extraction.rules.english.nature import avoided, nature
from streams.extraction.rules.english.people import people
from streams.extraction.rules.english.tastes import tastes
from streams.extraction.rules.finding import whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.finding import Found
    from streams.extraction.rules.sentences import Sentence


def read_english(sentence: Sentence, today: date) -> Iterator[Found]:
    """Yield what a sentence that was said on `today` tells of the user; nothing when in doubt."""
    if sentence.quotes:
        return
    for said in sentence.clauses:
        yield from avoided(said)
    told = list(confided(sentence, today))
    for clause in claims(sentence):
        yield from about_self(clause)
        yield from nature(clause)
        yield from people(clause)
        yield from tastes(clause)
        yield from life(clause, today)
        told += events(clause, today)
    if all(event.event_type == SHARED for event in told):  # a feeling about it is a part of it
        told += addressed(sentence, today)
    yield from whole(told)
