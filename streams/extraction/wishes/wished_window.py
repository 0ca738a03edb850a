"""A window as its user wants it read: without what is not to be kept, with what is to be remembered or forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.text.analyser import terms
from projections.text.wishes import ASKED_TO_FORGET, ASKED_TO_WITHDRAW, kept_of, wishes_of
from streams.extraction.evidence.speakers import others_of
from streams.extraction.protocol import Proposal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streams.extraction.protocol import Extraction, Piece, Window

NOT_TO_KEEP: Final = "asked not to keep"
_SAID: Final = 0.5
"""A proposal says what is to be remembered if it has at least this share of its words."""
_ORDERS: Final = (ASKED_TO_FORGET, ASKED_TO_WITHDRAW)


def kept_window(window: Window) -> Window:
    """Return a window without the words that its user asks not to keep; a piece of nothing else becomes empty."""
    if not any(piece.speaker == "user" for piece in window.pieces):
        return window
    kept = kept_of([(piece.speaker == "user", piece.text) for piece in window.pieces])
    pieces = tuple(replace(p, text=text) if text != p.text else p for p, text in zip(window.pieces, kept, strict=True))
    return window if pieces == window.pieces else replace(window, pieces=pieces)


def readable_window(kept: Window) -> Window:
    """Return a kept window without the sentences that ask to forget something: they say nothing about the user."""
    pieces = tuple(replace(p, text=wishes_of(p.text).told) if p.speaker == "user" else p for p in kept.pieces)
    return kept if pieces == kept.pieces else replace(kept, pieces=pieces)


def with_wishes(
    extraction: Extraction, window: Window, kept: Window, read: Window, places: Sequence[int]
) -> Extraction:
    """Return an answer with what the user asked for in the window, and without the extractor's own orders.

    `read` is the part of the kept window that may be read, and `places` are the places of its pieces there.
    """
    own = tuple(replace(p, event_type=None) if p.event_type in _ORDERS else p for p in extraction.proposals)
    added: list[Proposal] = []
    dropped = list(extraction.dropped)
    for place, piece in enumerate(kept.pieces):
        if piece.text != window.pieces[place].text:
            dropped.append(f"piece {place + 1}: {NOT_TO_KEEP}")
    others = others_of(window)
    for place, piece in zip(places, read.pieces, strict=True):
        if piece.speaker == "user" and place >= window.earlier:
            asked = _asked_for(piece, place, own)
            name = others.get(place)  # another speaker cannot have the user's memories forgotten
            added += [replace(p, speaker=name) for p in asked if name is None or p.event_type not in _ORDERS]
    pieces = enumerate(window.pieces[window.earlier :], window.earlier)
    first = next((place for place, piece in pieces if piece.speaker == "user"), None)
    if window.before is not None and first is not None:
        added.append(_order(ASKED_TO_WITHDRAW, window.before, first))
    return replace(extraction, proposals=(*own, *added), dropped=tuple(dropped))


def _asked_for(piece: Piece, place: int, own: Sequence[Proposal]) -> list[Proposal]:
    """Return what a piece asks to remember, unless a proposal from it says so already, and what it asks to forget."""
    wishes = wishes_of(piece.text)
    said = [set(terms(proposal.content)) for proposal in own if place in proposal.sources]
    added = []
    for what in wishes.to_remember:
        words = set(terms(what))
        if not any(len(words & proposed) >= _SAID * len(words) for proposed in said):
            added.append(Proposal(content=what[:1].upper() + what[1:], memory_type="long_term", sources=(place,)))
    return [*added, *(_order(ASKED_TO_FORGET, what, place) for what in wishes.to_forget)]


def _order(order: str, what: str, place: int) -> Proposal:
    return Proposal(content=what, event_type=order, sources=(place,))
