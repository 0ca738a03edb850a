"""The extractor without a model: the rules of `streams.rules` over every piece that may be read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from schemas.attributes import NICKNAME, same_value
from streams.extractor import Extraction, Proposal
from streams.rules.chinese import read_chinese
from streams.rules.english import read_english
from streams.rules.screens import read_screen
from streams.rules.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extractor import Piece, Window
    from streams.rules.found import Found

RULES_VERSION: Final = "3"
"""Raise it with every change of what the rules answer: it is part of the memory's lineage."""


class RuleExtractor:
    """Reads the user's words (not the assistant's), screenshots and articles. Pure: same window, same answer."""

    @property
    def model(self) -> str:
        """`rules`."""
        return "rules"

    @property
    def prompt_hash(self) -> str:
        """SHA-256 of the rules' version, in hex."""
        return hashlib.sha256(f"rules:{RULES_VERSION}".encode()).hexdigest()

    async def extract(self, window: Window) -> Extraction:
        """Return what the rules find, in the order of the words, nicknames last. Never raises.

        What is found twice cites both pieces. Values of a single attribute that differ are all returned, the newest
        last. All proposals are semantic.
        """
        kept: list[tuple[Found, list[int]]] = []
        for index, piece in enumerate(window.pieces):
            for found in _read(piece):
                known = next((sources for other, sources in kept if _same(other, found)), None)
                if known is None:
                    kept.append((found, [index]))
                elif index not in known:
                    known.append(index)
        kept.sort(key=lambda entry: entry[0].attribute == NICKNAME)  # a name that is said after it is known by then
        return Extraction(proposals=tuple(_proposal(found, tuple(sources)) for found, sources in kept))


def _read(piece: Piece) -> Iterator[Found]:
    today = piece.occurred_at.date()
    match piece.speaker:
        case "user":
            for sentence in sentences(piece.text):
                yield from (read_chinese if sentence.language == "zh" else read_english)(sentence, today)
        case "screenshot" | "article":
            yield from read_screen(piece.text, today)
        case "assistant":
            return


def _same(a: Found, b: Found) -> bool:
    if a.attribute != b.attribute:
        return False
    if a.value is not None and b.value is not None:
        return same_value(a.value, b.value)
    return same_value(a.content, b.content) and a.occurred_on == b.occurred_on


def _proposal(found: Found, sources: tuple[int, ...]) -> Proposal:
    return Proposal(
        content=found.content,
        category=found.category,
        memory_type=found.memory_type,
        importance=found.importance,
        attribute=found.attribute,
        value=found.value,
        occurred_on=found.occurred_on,
        sources=sources,
    )
