"""Earlier turns: those that a window's first words take back, continue, or answer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from projections.shard.errors import ShardUnavailable
from projections.text.wishes import wishes_of
from streams.extraction.own_words.antecedents import MOST_BACK, unnamed
from streams.extraction.rules_lineage import RulesLineage
from streams.extraction.window import pieces_of
from streams.extraction.wishes.repairs import takes_back

if TYPE_CHECKING:
    from datetime import tzinfo

    from projections.partitions.shards import Shards
    from projections.shard.rows.published_turns import Turn
    from schemas.identity import Owner
    from schemas.log import Position
    from streams.extraction.protocol import Extractor, Piece, Window

LONGEST_ANSWER: Final = 120
"""The most characters of a turn that may answer the turn before its window."""
ANSWERED_WITHIN: Final = timedelta(hours=1)
"""The time after a question in which a turn of the next window may answer it."""


class EarlierTurns:
    """The turns of a session before a window, as far as the user lets them be kept."""

    def __init__(self, shards: Shards, zone: tzinfo) -> None:
        """Use `zone` for turns that name none."""
        self._shards = shards
        self._zone = zone

    async def added_to(self, window: Window, owner: Owner, extractor: Extractor) -> Window:
        """Return a window with the turns before it that its first words take back, continue, or answer.

        Only the rules read these turns: a model reads a window as it was cut.
        """
        first = next((piece for piece in window.pieces if piece.speaker == "user"), None)
        session_id = window.session_id
        if first is None or first.position is None or session_id is None or window.source_type != "chat":
            return window
        is_withdrawal, is_read = wishes_of(first.text).is_withdrawal, isinstance(extractor, RulesLineage)
        may_answer = first is window.pieces[0] and len(first.text) <= LONGEST_ANSWER
        goes_on = takes_back(first.text) or any(
            piece.speaker == "user" and unnamed(piece.text) for piece in window.pieces[:MOST_BACK]
        )
        if not (is_withdrawal or (is_read and (may_answer or goes_on))):
            return window
        at = first.position
        with suppress(ShardUnavailable):  # else what was before it may not be there yet
            await self._shards.up_to(at.topic, at.partition, at.offset)
        published = self._shards.of(owner).turns
        turns = published.before(owner, session_id, window.agent_id, at.offset, MOST_BACK)
        earlier: list[Piece] = []
        if is_read and goes_on:
            earlier = [piece for turn in reversed(turns) for piece in self._last_piece(owner, turn, at)]
        elif is_read and may_answer:  # it takes up no more than the question just before it
            since = first.recorded_at - ANSWERED_WITHIN
            last = (piece for turn in turns[:1] for piece in self._last_piece(owner, turn, at))
            earlier = [piece for piece in last if piece.speaker == "assistant" and piece.recorded_at >= since]
        users = (event_id for event_id, _ in turns if _is_users(published.turn(owner, event_id)))
        before = next(users, None) if is_withdrawal else None
        return replace(window, before=before, pieces=(*earlier, *window.pieces), earlier=len(earlier))

    def _last_piece(self, owner: Owner, turn: tuple[str, int], at: Position) -> list[Piece]:
        """Return the last piece of what its user lets be kept of a turn that stands in the partition of a position."""
        event_id, offset = turn
        kept = self._shards.of(owner).turns.kept(owner, event_id)
        if kept is None:
            return []
        pieces = pieces_of(kept.message, kept.recorded_at, replace(at, offset=offset), zone=self._zone)
        return [piece for piece in pieces[-1:] if piece.text.strip()]


def _is_users(turn: Turn | None) -> bool:
    return turn is not None and turn.message.role == "user"
