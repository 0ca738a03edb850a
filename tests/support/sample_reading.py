"""The bundled sample as the extractors see it: its distinct events, their windows, and the proposals for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from support.own_words import OwnWordsHere

from mnemolog.sample import sample_events
from schemas.inputs.input_events import parse_event
from schemas.inputs.pieces import is_extractable
from schemas.messages.observations import SessionEnded, TurnRecorded
from streams.extraction.own_words.antecedents import MOST_BACK
from streams.extraction.verbatim import VerbatimExtractor
from streams.extraction.window import OpenWindow, WindowLimits, closes_before, pieces_of, window_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemas.messages.observations import Observation
    from streams.extraction.protocol import Piece, Proposal, Window

ACCEPTED = datetime(2026, 11, 2, tzinfo=UTC)
"""The time at which the log accepts the sample, after its last event."""


def observations() -> dict[str, Observation]:
    """Return the distinct events by id, in the order of their first line."""
    found: dict[str, Observation] = {}
    for event in sample_events():
        found.setdefault(event["event_id"], parse_event(event, tenant="default", accepted_at=ACCEPTED, event_id=""))
    return found


def windows(limits: WindowLimits) -> Iterator[tuple[Window, bool]]:
    """Yield each window in the order of the log, with whether its turns are to be remembered verbatim.

    A session without an end is cut after its last turn, as after silence.
    """
    open_windows: dict[tuple[str, str | None, str], tuple[Observation, OpenWindow]] = {}
    said: dict[tuple[str, str | None, str], list[Piece]] = {}
    before: dict[tuple[str, str | None, str], tuple[Piece, ...]] = {}
    for event in observations().values():
        envelope = event.envelope
        if isinstance(event, SessionEnded):
            place = (envelope.user_id, envelope.agent_id, event.session_id)
            message, ended = open_windows.pop(place)
            yield cut(message, ended, before[place]), False
        elif is_extractable(event):
            pieces = pieces_of(event, ACCEPTED)
            if not isinstance(event, TurnRecorded) or not event.infer:
                yield window_of(event, tuple(pieces)), isinstance(event, TurnRecorded)
                continue
            place = (envelope.user_id, envelope.agent_id, event.session_id)
            for piece in pieces:
                if place in open_windows and closes_before(open_windows[place][1], piece, limits):
                    message, full = open_windows.pop(place)
                    yield cut(message, full, before[place]), False
                if place not in open_windows:
                    before[place] = tuple(said.get(place, ())[-MOST_BACK:])
                said.setdefault(place, []).append(piece)
                open_windows.setdefault(place, (event, OpenWindow()))[1].add(piece)
    for place, (message, left) in open_windows.items():
        yield cut(message, left, before[place]), False


def cut(message: Observation, pieces: OpenWindow, earlier: tuple[Piece, ...]) -> Window:
    """Return a window with the earlier pieces before it."""
    return replace(window_of(message, (*earlier, *pieces.pieces)), earlier=len(earlier))


async def proposals(limits: WindowLimits | None = None) -> list[tuple[Window, Proposal]]:
    """Return each proposal of the rules (or, for `infer: false`, of the verbatim extractor) with its window."""
    found = []
    for window, verbatim in windows(limits or WindowLimits()):
        extractor = VerbatimExtractor() if verbatim else OwnWordsHere()
        found += [(window, p) for p in (await extractor.extract(window)).proposals]
    return found


def is_chinese(text: str) -> bool:
    """Return whether a text has a Chinese character."""
    return any("一" <= character <= "鿿" for character in text)
