"""Open windows: the turns of sessions that go on, held until their window closes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.identity import derived_id
from schemas.messages.observations import SessionEnded
from schemas.topics import CONVERSATIONS
from streams.extraction.window import OpenWindow, closes_before

if TYPE_CHECKING:
    from projections.partitions.assignment import Lease
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Log, Position
    from schemas.messages.observations import TurnRecorded
    from streams.agents.extraction_queue import ExtractionQueue
    from streams.extraction.protocol import Piece
    from streams.extraction.window import WindowLimits

IDLE_CHECKS: Final = 4
"""The number of checks of open windows within IDLE_SECONDS."""
LONGEST_CHECK_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Session:
    """A session with an open window."""

    message: TurnRecorded
    window: OpenWindow
    touched: float
    """The time at which the last piece joined it, by the event loop's clock."""


@dataclass(frozen=True, slots=True)
class _SessionKey:
    owner: Owner
    agent_id: str | None
    session_id: str
    lease: Lease
    """Of the partition. A window belongs to one lease: a turn that joins it after the lease has ended must not stay."""

    @property
    def partition(self) -> int:
        return self.lease.partition


class OpenWindows:
    """The open window of each session. When it closes, at a limit, at the session's end or idle, it is extracted."""

    def __init__(self, log: Log, shards: Shards, extractions: ExtractionQueue, limits: WindowLimits) -> None:
        self._log = log
        self._shards = shards
        self._extractions = extractions
        self._limits = limits
        self.check_seconds = min(LONGEST_CHECK_SECONDS, limits.idle.total_seconds() / IDLE_CHECKS)
        """The interval at which idle windows are closed."""
        self._sessions: dict[_SessionKey, _Session] = {}
        self._delivered: dict[tuple[str, int], int] = {}
        """The offset after the last record handled of each (topic, partition), under the present lease."""

    def note_delivered(self, position: Position) -> None:
        """Note that a record is handled: a window is idle only if no later record is on its way."""
        place = (position.topic, position.partition)
        self._delivered[place] = max(self._delivered.get(place, 0), position.offset + 1)

    async def join(self, partition: int, message: TurnRecorded, pieces: list[Piece]) -> None:
        """Put pieces into their session's window, closing it before a piece that exceeds its limits."""
        lease = self._shards.assignment.lease(partition)
        key = _SessionKey(message.envelope.owner, message.envelope.agent_id, message.session_id, lease)
        for piece in pieces:
            session = self._sessions.get(key)
            if session is not None and closes_before(session.window, piece, self._limits):
                await self._close(key)
                session = None
            if not lease.is_valid:
                return
            now = asyncio.get_running_loop().time()
            if session is None:
                session = self._sessions[key] = _Session(message, OpenWindow(), now)
            session.window.add(piece)
            session.touched = now
            session.message = message

    async def end(self, partition: int, end: SessionEnded) -> None:
        """Close the windows that an end closes; one that names no agent ends the session with all agents."""
        place = (partition, end.envelope.owner, end.session_id)
        for key in list(self._sessions):
            is_ended = (key.partition, key.owner, key.session_id) == place
            if is_ended and end.envelope.agent_id in (None, key.agent_id):
                await self._close(key)

    async def close_idle(self) -> None:
        """Close each window that has been idle for IDLE_SECONDS, unless records of its partition are on their way."""
        for key, session in list(self._sessions.items()):
            if asyncio.get_running_loop().time() - session.touched < self._limits.idle.total_seconds():
                continue
            end = await self._log.end(CONVERSATIONS.name, key.partition)
            delivered = self._delivered.get((CONVERSATIONS.name, key.partition), 0)
            if delivered >= end and self._sessions.get(key) is session:
                await self._close(key)

    def ends(self) -> list[SessionEnded]:
        """Return the end that would close each open window; its id is derived from the window's last turn."""
        ends = []
        for key, session in self._sessions.items():
            last = session.message.envelope
            event_id = derived_id("session-end", key.owner.tenant, key.owner.user_id, last.event_id)
            ends.append(SessionEnded(envelope=last.follow(event_id), session_id=key.session_id))
        return ends

    def drop(self, partition: int) -> None:
        """Drop the windows of a revoked partition."""
        self._sessions = {k: v for k, v in self._sessions.items() if k.partition != partition}
        self._delivered = {k: v for k, v in self._delivered.items() if k[1] != partition}

    def drop_erased(self, owner: Owner) -> None:
        """Remove erased pieces from a user's windows."""
        for key in [key for key in self._sessions if key.owner == owner]:
            session = self._sessions[key]
            left = self._extractions.gate.surviving(owner, session.window.pieces)
            if len(left) == len(session.window.pieces):
                continue
            self._extractions.pending.done(owner, [piece for piece in session.window.pieces if piece not in left])
            session.window = OpenWindow()
            for piece in left:
                session.window.add(piece)
            if not left:
                del self._sessions[key]

    async def _close(self, key: _SessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            await self._extractions.submit(session.message, session.window.pieces)
