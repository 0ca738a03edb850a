"""Reads the keys and events of a sentence with the rows of its language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.finding import SHARED, Finding, without_parts
from streams.extraction.rules.rows import chinese, english
from streams.extraction.rules.rows.about import things_of
from streams.extraction.rules.rows.events import addressed, confided, events_of
from streams.extraction.rules.rows.keys import keys_asked, keys_of
from streams.extraction.rules.rows.liked import liked, names_place
from streams.extraction.rules.rows.row import CHINESE, ENGLISH
from streams.extraction.rules.sentences import MOST_AFTER, sentences
from streams.extraction.rules.traditional import as_written, simplified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from types import ModuleType

    from streams.extraction.protocol import Piece
    from streams.extraction.rules.rows.row import Language
    from streams.extraction.rules.sentences import Sentence

_OF_IT: Final = re.compile(r"那里|那儿|那边|喜欢|\b(?:there|it|like|liked|enjoy|enjoyed)\b", re.IGNORECASE)


def read_sentence(sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield what a sentence from `today` says about the user; nothing when in doubt."""
    if sentence.quotes:
        return
    language, clauses = _language(sentence)
    yield from keys_asked(language, sentence)
    events = [*confided(language, sentence, today)]
    for clause in clauses.claims(sentence):
        yield from keys_of(language, clause, today)
        yield from things_of(language, clause, today)
        events += events_of(language, clause, today)
    yield from liked(language, sentence)
    if all(event.event_type == SHARED for event in events):  # a feeling about an event is a part of it
        events += addressed(language, sentence, today)
    yield from without_parts(events)


def _language(sentence: Sentence) -> tuple[Language, ModuleType]:
    return (CHINESE, chinese) if sentence.language == "zh" else (ENGLISH, english)


def liked_of_turn_before(pieces: Sequence[Piece], index: int) -> Iterator[tuple[Finding, int]]:
    """Yield likes in the first sentence of a user's piece that point to the user's piece before it, with its index.

    An example is 我很喜欢那里 ("I loved it"). The assistant's pieces between the two may speak of the same thing. If
    they ask about something else or name a place, it is not known what the user means, and nothing is found.
    """
    before = next((at for at in range(index - 1, -1, -1) if pieces[at].speaker == "user"), None)
    first = next(sentences(simplified(pieces[index].text)), None)
    if before is None or first is None or first.asks or first.quotes:
        return
    plain = simplified(pieces[before].text)
    told = list(sentences(plain))
    if not told or told[-1].asks or told[-1].quotes or told[-1].language != first.language:
        return
    if any(_speaks_of_else(sentence) for piece in pieces[before + 1 : index] for sentence in sentences(piece.text)):
        return
    language, _ = _language(first)
    known = {finding.content for finding in liked(language, first)}
    clauses = (*told[-1].after, *told[-1].clauses)[-MOST_AFTER:]
    for finding in liked(language, replace(first, after=clauses)):
        if finding.content not in known:
            yield as_written(finding, plain, pieces[before].text), before


def _speaks_of_else(sentence: Sentence) -> bool:
    language, _ = _language(sentence)
    asks_for_else = sentence.asks and not any(map(_OF_IT.search, sentence.clauses))
    return asks_for_else or any(names_place(language, clause) for clause in sentence.clauses)
