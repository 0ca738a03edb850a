"""Reads a sentence with the rules of its language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.extraction.rules.chinese.rules import CHINESE
from streams.extraction.rules.english.rules import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence


def read_sentence(sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield what a sentence that was said on `today` says of the user; nothing when in doubt."""
    return (CHINESE if sentence.language == "zh" else ENGLISH).read(sentence, today)
