"""The extractor without a model: the rules of `streams.extraction.rules` over every piece that may be read."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas.vocabulary.attributes import NICKNAME, same_value
from streams.extraction.event_importance import episode_importance, newest_intimacy
from streams.extraction.protocol import Extraction, Proposal
from streams.extraction.rules.chinese.rules import read_chinese
from streams.extraction.rules.english.rules import read_english
from streams.extraction.rules.finding import Found, dated
from streams.extraction.rules.screens import read_screen
from streams.extraction.rules.sentences import sentences
from streams.extraction.rules.traditional import as_written, simplified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemas.messages.observations import TurnContext
    from streams.extraction.protocol import Piece, Window

RULES_VERSION: Final = "8"
"""Raise it with every change of what the rules answer: it is part of the memory's lineage."""
MOST_QUOTED: Final = 200
"""Characters of a turn that are kept as key dialogue."""
_HAN: Final = re.compile(r"[一-鿿]")
_FIRST_DATE: Final = re.compile(r"第一次约会|\bfirst date\b", re.IGNORECASE)


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
        last. What happened is episodic, with Luna's importance.
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
        return Extraction(proposals=tuple(_proposal(found, tuple(sources), window) for found, sources in kept))


def _read(piece: Piece) -> Iterator[Found]:
    today = piece.occurred_at.date()
    match piece.speaker:
        case "user":
            yield from _gift(piece)
            plain = simplified(piece.text)
            for sentence in sentences(plain):
                read = read_chinese if sentence.language == "zh" else read_english
                for found in read(sentence, today):
                    said = dated(found, today)
                    yield said if plain == piece.text else as_written(said, plain, piece.text)
        case "screenshot" | "article":
            yield from (dated(found, today) for found in read_screen(piece.text, today))
        case "assistant":
            return


def _same(a: Found, b: Found) -> bool:
    if a.attribute != b.attribute:
        return False
    if a.value is not None and b.value is not None:
        return same_value(a.value, b.value)
    return same_value(a.content, b.content) and a.occurred_on == b.occurred_on


def _gift(piece: Piece) -> Iterator[Found]:
    """Yield the gift that the upstream knew the user to give with these words."""
    gift = (piece.context.gift or "").strip() if piece.context else ""
    if gift:
        said = piece.text.strip()[:MOST_QUOTED]
        content = f"用户送了礼物：{gift}" if _HAN.search(gift + said) else f"User gave a gift: {gift}"
        yield Found(content=content, kind="episodic", event_type="gift", key_dialogue=(said,) if said else ())


def _proposal(found: Found, sources: tuple[int, ...], window: Window) -> Proposal:
    if found.kind == "episodic":
        found = _as_known(found, [piece.context for piece in (window.pieces[i] for i in sources) if piece.context])
        intimacy = newest_intimacy(sources, window)
        found = replace(found, importance=episode_importance(found.event_type, found.emotion_intensity, intimacy))
    return Proposal(
        content=found.content,
        kind=found.kind,
        event_type=found.event_type,
        emotion=found.emotion,
        emotion_intensity=found.emotion_intensity,
        key_dialogue=found.key_dialogue,
        category=found.category,
        memory_type=found.memory_type,
        importance=found.importance,
        attribute=found.attribute,
        value=found.value,
        occurred_on=found.occurred_on,
        sources=sources,
    )


def _as_known(found: Found, contexts: list[TurnContext]) -> Found:
    """Add what the upstream knew of an event: the mood where the words name no feeling, the place of a date."""
    mood = next((context.mood for context in contexts if context.mood), None)
    scene = next((context.scene for context in contexts if context.scene), None)
    if found.emotion is None and mood:
        found = replace(found, emotion=mood)
    is_date = found.event_type == "date" or _FIRST_DATE.search(found.content)
    if is_date and scene and scene not in found.content:
        found = replace(found, content=f"{found.content} ({scene})")
    return found
