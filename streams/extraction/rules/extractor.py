"""The extractor without a model: the rules, applied to every piece of a window."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas.vocabulary.attributes import NICKNAME, plain_value
from streams.extraction.event_importance import episode_importance, newest_intimacy
from streams.extraction.protocol import Extraction, Proposal
from streams.extraction.rules.chinese.traditional import as_written, simplified
from streams.extraction.rules.finding import Finding, with_day
from streams.extraction.rules.screens import read_screen
from streams.extraction.rules.sentence_reader import goes_on_of_another, liked_of_turn_before, read_sentence
from streams.extraction.rules.sentences import sentences
from streams.extraction.rules_lineage import RulesLineage
from streams.extraction.wishes.repairs import repaired_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from schemas.messages.observations import TurnContext
    from streams.extraction.protocol import Piece, Window

MOST_QUOTED: Final = 200
"""Characters of a turn that are kept as key dialogue."""
_HAN: Final = re.compile(r"[一-鿿]")
_FIRST_DATE: Final = re.compile(r"第一次约会|\bfirst date\b", re.IGNORECASE)


class RuleExtractor(RulesLineage):
    """Reads the user's words (not the assistant's), screenshots and articles. The same window has the same answer."""

    async def extract(self, window: Window) -> Extraction:
        """Return what the rules find, in the order of the words, nicknames last.

        A finding that two pieces have cites both. Different values of one attribute are all returned, the newest last.
        Events are episodic, with Luna's importance. A rule with a bug may raise: the caller rejects the window then.
        """
        return read_window(window)


def read_window(window: Window) -> Extraction:
    """Return what the rules find in a window, as `RuleExtractor.extract` promises."""
    found: dict[tuple[object, ...], tuple[Finding, list[int]]] = {}
    dropped: list[str] = []
    for index, piece in enumerate(window.pieces):
        of_another = piece.speaker == "user" and goes_on_of_another(window.pieces, index)
        told = next((p.text for p in reversed(window.pieces[:index]) if p.speaker == "user"), window.said_before)
        for finding in _read(piece, dropped.append, before=told, of_another=of_another):
            _, sources = found.setdefault(_said(finding), (finding, []))
            if index not in sources:
                sources.append(index)
        for finding, before in liked_of_turn_before(window.pieces, index) if piece.speaker == "user" else ():
            _, sources = found.setdefault(_said(finding), (finding, []))
            sources += [each for each in (before, index) if each not in sources]
    # Whether a nickname is the user's name depends on the names that are known: those come first.
    entries = sorted(found.values(), key=lambda entry: entry[0].attribute == NICKNAME)
    proposals = tuple(_proposal(finding, tuple(sources), window) for finding, sources in entries)
    return Extraction(proposals=proposals, dropped=tuple(dropped))


def _read(piece: Piece, dropped: Callable[[str], None], *, before: str | None, of_another: bool) -> Iterator[Finding]:
    today = piece.today
    match piece.speaker:
        case "user":
            yield from _gift(piece)
            said = repaired_behind(before, piece.text)
            plain = simplified(said)
            for sentence in sentences(plain, of_another=of_another):
                for finding in read_sentence(sentence, today):
                    with_its_day = _begun(with_day(finding, today))
                    yield with_its_day if plain == said else as_written(with_its_day, plain, said)
        case "screenshot" | "article":
            yield from (with_day(finding, today) for finding in read_screen(piece.text, today, dropped))
        case "assistant":
            return


def _begun(finding: Finding) -> Finding:
    """Return a finding with a capital at its beginning, unless it begins with a name such as iPhone."""
    said = finding.content
    return finding if said[1:2].isupper() else replace(finding, content=said[:1].upper() + said[1:])


def _said(finding: Finding) -> tuple[object, ...]:
    """Return what findings that say the same share."""
    if finding.value is not None:
        return finding.attribute, plain_value(finding.value)
    return finding.attribute, plain_value(finding.content), finding.occurred_on


def _gift(piece: Piece) -> Iterator[Finding]:
    """Yield the gift that the user gave with these words, which upstream names in the turn's context."""
    gift = (piece.context.gift or "").strip() if piece.context else ""
    if gift:
        words = piece.text.strip()[:MOST_QUOTED]
        content = f"用户送了礼物：{gift}" if _HAN.search(gift + words) else f"User gave a gift: {gift}"
        yield Finding(content=content, kind="episodic", event_type="gift", key_dialogue=(words,) if words else ())


def _proposal(finding: Finding, sources: tuple[int, ...], window: Window) -> Proposal:
    if finding.kind == "episodic":
        finding = _with_context(
            finding, [piece.context for piece in (window.pieces[i] for i in sources) if piece.context]
        )
        intimacy = newest_intimacy(sources, window)
        finding = replace(
            finding, importance=episode_importance(finding.event_type, finding.emotion_intensity, intimacy)
        )
    return Proposal(
        content=finding.content,
        kind=finding.kind,
        event_type=finding.event_type,
        emotion=finding.emotion,
        emotion_intensity=finding.emotion_intensity,
        key_dialogue=finding.key_dialogue,
        category=finding.category,
        memory_type=finding.memory_type,
        importance=finding.importance,
        attribute=finding.attribute,
        value=finding.value,
        occurred_on=finding.occurred_on or finding.since,
        sources=sources,
    )


def _with_context(finding: Finding, contexts: list[TurnContext]) -> Finding:
    """Add what upstream knew of an event: the mood where the words name no feeling, and the place of a date."""
    mood = next((context.mood for context in contexts if context.mood), None)
    scene = next((context.scene for context in contexts if context.scene), None)
    if finding.emotion is None and mood:
        finding = replace(finding, emotion=mood)
    is_date = finding.event_type == "date" or _FIRST_DATE.search(finding.content)
    if is_date and scene and scene not in finding.content:
        finding = replace(finding, content=f"{finding.content} ({scene})")
    return finding
