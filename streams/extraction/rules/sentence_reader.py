"""Reads the keys and events of a sentence with the rules of its language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from streams.extraction.rules.chinese.rules import CHINESE
from streams.extraction.rules.chinese.traditional import simplified
from streams.extraction.rules.english.rules import ENGLISH
from streams.extraction.rules.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from streams.extraction.protocol import Piece
    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.pipeline import LanguageRules
    from streams.extraction.rules.sentences import Sentence


def read_sentence(sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield what a sentence that was said on `today` says of the user; nothing when in doubt."""
    return _rules(sentence).read(sentence, today)


_TELL: Final = re.compile(r"\btell me about\b|[说讲聊]{1,2}", re.IGNORECASE)


def goes_on_of_another(pieces: Sequence[Piece], index: int) -> bool:
    """Return whether a user's piece goes on from what was asked or said of somebody else just before it."""
    for piece in reversed(pieces[:index]):
        said = list(sentences(simplified(piece.text)))
        if piece.speaker == "assistant":
            asked = [sentence for sentence in said if sentence.asks or any(map(_TELL.search, sentence.clauses))]
            of_another = _rules(asked[-1]).asks_of_another(asked[-1]) if asked else None
            if of_another is not None:
                return of_another
        elif piece.speaker == "user":
            return bool(said) and _rules(said[-1]).tells_of_another(said[-1])
    return False


def _rules(sentence: Sentence) -> LanguageRules[Any]:
    return CHINESE if sentence.language == "zh" else ENGLISH
