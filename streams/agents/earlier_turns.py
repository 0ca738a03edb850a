"""Earlier turns: those that a window's first words take back, continue, or answer, and those that tell who speaks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from projections.partitions.assignment import NotHeld
from projections.profile.visibility import NAME
from projections.shard.errors import ShardUnavailable
from projections.shard.turn_statistics import USER_ROLE
from projections.state.memory import ACTIVE
from projections.text.wishes import wishes_of
from streams.extraction.evidence.speakers import depends_on_others
from streams.extraction.own_words.antecedents import MOST_BACK, unnamed
from streams.extraction.rules_lineage import RulesLineage
from streams.extraction.window import pieces_of
from streams.extraction.wishes.repairs import takes_back

if TYPE_CHECKING:
    from collections.abc import Iterator
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
MOST_FIRST: Final = 50
"""The most turns of a session that are read for the speakers of its first window."""


class EarlierTurns:
    """The turns of a session before a window, as far as the user lets them be kept."""

    def __init__(self, shards: Shards, zone: tzinfo) -> None:
        """Use `zone` for turns that name none."""
        self._shards = shards
        self._zone = zone

    async def with_speakers(self, window: Window, owner: Owner) -> Window:
        """Return a window whose turns have names with those of its session's first window, and the user's own.

        Whose a turn is must not depend on how turns fall into windows.
        """
        first, session_id = window.pieces[0], window.session_id
        at = first.position
        if at is None or session_id is None or not depends_on_others(window):
            return window
        await self._reach(at)
        turns = self._shards.of(owner).turns.opening(owner, session_id, window.agent_id, at.offset, MOST_FIRST)
        names = dict.fromkeys((turn.message.name or "").strip() for turn in turns if turn.message.role == USER_ROLE)
        return replace(window, first_speakers=tuple(names), introduced=tuple(dict.fromkeys(self._introduced(owner))))

    def _introduced(self, owner: Owner) -> Iterator[str]:
        """Yield the names of the turns from which the user's name is known; none of a user whose history is damaged."""
        try:
            state = self._shards.state(owner)
        except (NotHeld, ShardUnavailable):
            return
        for memory in (state.memories[memory_id] for memory_id in state.by_attribute.get(NAME, ())):
            if memory.status == ACTIVE and memory.speaker is None and memory.about is None:
                turns = (self._shards.of(owner).turns.turn(owner, source) for source in memory.source_ids)
                said = (turn.message for turn in turns if turn is not None and turn.message.role == USER_ROLE)
                yield from (message.name for message in said if message.name)

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
        await self._reach(at)
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

    async def _reach(self, at: Position) -> None:
        """Wait until the shard has what was published before a position, if it can be had."""
        with suppress(ShardUnavailable):
            await self._shards.up_to(at.topic, at.partition, at.offset)

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
