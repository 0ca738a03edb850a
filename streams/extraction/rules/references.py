"""References across turns: what is said to be liked (我很喜欢那里, "I loved it") of what the user's turn before told.

The assistant's turns between may speak of it. Where they ask for something else or name a place, it is not known what
the user means, and nothing is found.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.chinese import liked as chinese
from streams.extraction.rules.english import liked as english
from streams.extraction.rules.sentences import MOST_AFTER, sentences
from streams.extraction.rules.traditional import as_written, simplified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streams.extraction.protocol import Piece
    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence

_OF_IT: Final = re.compile(r"那里|那儿|那边|喜欢|\b(?:there|it|like|liked|enjoy|enjoyed)\b", re.IGNORECASE)


def liked_of_turn_before(pieces: Sequence[Piece], index: int) -> Iterator[tuple[Finding, int]]:
    """Yield what the first sentence of a user's piece likes of the user's piece before it, with that one's index."""
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
    rules = chinese if first.language == "zh" else english
    known = {finding.content for finding in rules.liked(first)}
    clauses = (*told[-1].after, *told[-1].clauses)[-MOST_AFTER:]
    for finding in rules.liked(replace(first, after=clauses)):
        if finding.content not in known:
            yield as_written(finding, plain, pieces[before].text), before


def _speaks_of_else(sentence: Sentence) -> bool:
    rules = chinese if sentence.language == "zh" else english
    asks_for_else = sentence.asks and not any(map(_OF_IT.search, sentence.clauses))
    return asks_for_else or any(map(rules.names_place, sentence.clauses))
