"""A window without what must not be kept: turns that others publish to the log directly are not redacted there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from schemas.messages.observations import TurnContext
from schemas.redaction import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.redaction import Redaction
    from streams.extraction.protocol import Extraction, Known, Piece, Proposal, Window


def redacted_window(window: Window, redaction: Redaction) -> tuple[Window, tuple[int, ...], tuple[str, ...]]:
    """Return the part of a window that an extractor may read, the places of its pieces, and why others are left out."""
    if redaction.is_idle:
        return window, tuple(range(len(window.pieces))), ()
    pieces: list[Piece] = []
    places: list[int] = []
    left_out: list[str] = []
    for place, piece in enumerate(window.pieces):
        try:
            pieces.append(_redacted_piece(piece, redaction))
            places.append(place)
        except Refused as refused:
            left_out.append(f"piece {place + 1}: {_why(refused)}")
    replacing = redaction.replacing()
    known = tuple(_redacted_known(one, replacing) for one in window.known)
    first_speakers, introduced = (
        tuple(replacing.value(list(names))) for names in (window.first_speakers, window.introduced)
    )
    earlier = sum(place < window.earlier for place in places)
    redacted = replace(
        window, pieces=tuple(pieces), known=known, first_speakers=first_speakers, introduced=introduced, earlier=earlier
    )
    return redacted, tuple(places), tuple(left_out)


def redacted_extraction(
    extraction: Extraction, redaction: Redaction, places: Sequence[int], left_out: Sequence[str]
) -> Extraction:
    """Return the answer to a redacted window as one to the whole window, redacted once more.

    A model may join what stood in two turns, or read it from a picture.
    """
    proposals: list[Proposal] = []
    dropped = [*left_out, *extraction.dropped]
    for number, proposal in enumerate(extraction.proposals, 1):
        sources = tuple(places[source] for source in proposal.sources)
        try:
            proposals.append(replace(_redacted_proposal(proposal, redaction), sources=sources))
        except Refused as refused:
            dropped.append(f"memory {number}: {_why(refused)}")
    answer = redaction.replacing().value(extraction.answer)
    return replace(extraction, proposals=tuple(proposals), answer=answer, dropped=tuple(dropped))


def _redacted_piece(piece: Piece, redaction: Redaction) -> Piece:
    context = piece.context
    said = redaction.value([piece.text, piece.name, *((context.mood, context.scene, context.gift) if context else ())])
    text, name, *around = said
    if context is not None:
        mood, scene, gift = around
        context = TurnContext(intimacy=context.intimacy, mood=mood, scene=scene, gift=gift)
    return replace(piece, text=text, name=name, context=context)


def _redacted_known(known: Known, replacing: Redaction) -> Known:
    """Return a known memory without what must not be kept. Nothing is refused or counted, only replaced.

    The memory may be older than the redaction.
    """
    text, attribute, value, about = replacing.value([known.text, known.attribute, known.value, known.about])
    return replace(known, text=text, attribute=attribute, value=value, about=about)


def _redacted_proposal(proposal: Proposal, redaction: Redaction) -> Proposal:
    content, value, about, speaker, event_type, emotion, dialogue = redaction.value(
        [
            *(proposal.content, proposal.value, proposal.about, proposal.speaker),
            *(proposal.event_type, proposal.emotion, list(proposal.key_dialogue)),
        ]
    )
    return replace(
        proposal,
        content=content,
        value=value,
        about=about,
        speaker=speaker,
        event_type=event_type,
        emotion=emotion,
        key_dialogue=tuple(dialogue),
    )


def _why(refused: Refused) -> str:
    return f"refused ({', '.join(refused.kinds)})"
