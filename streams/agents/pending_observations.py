"""Pending observations: delivered, and not acknowledged before all their pieces are extracted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from schemas.identity import Owner
    from streams.extraction.protocol import Piece


@dataclass(slots=True)
class _Pending:
    open_pieces: set[str]
    acks: list[Callable[[], None]]
    reason: str | None = None
    """The reason why it waits for the model, if it does."""


class PendingObservations:
    """The observations of this worker's partitions that are being processed.

    One may be delivered again while it is pending, for example after a rebalance that left the partition here: then
    each delivery is acknowledged when the observation is done.
    """

    def __init__(self, partition_of: Callable[[Owner], int]) -> None:
        self._partition_of = partition_of
        self._pending: dict[tuple[Owner, str], _Pending] = {}

    def join(self, owner: Owner, event_id: str, ack: Callable[[], None]) -> bool:
        """Acknowledge another delivery together with a pending observation; return whether it is pending."""
        pending = self._pending.get((owner, event_id))
        if pending is not None:
            pending.acks.append(ack)
        return pending is not None

    def add(
        self, owner: Owner, event_id: str, piece_ids: Iterable[str], ack: Callable[[], None] = lambda: None
    ) -> None:
        """Keep an observation pending until these pieces are done; then acknowledge it."""
        self._pending[owner, event_id] = _Pending(set(piece_ids), [ack])

    def has(self, owner: Owner, event_id: str) -> bool:
        """Return whether an observation is pending."""
        return (owner, event_id) in self._pending

    def done(self, owner: Owner, pieces: Iterable[Piece]) -> None:
        """Count pieces as done; an observation's last one acknowledges it, if it is pending."""
        for piece in pieces:
            pending = self._pending.get((owner, piece.event_id))
            if pending is None:
                continue
            pending.open_pieces.discard(piece.piece_id)
            pending.reason = None
            if not pending.open_pieces:
                del self._pending[owner, piece.event_id]
                for ack in pending.acks:
                    ack()

    def waits(self, owner: Owner, event_id: str, reason: str) -> None:
        """Note why an observation waits for the model."""
        pending = self._pending.get((owner, event_id))
        if pending is not None:
            pending.reason = reason

    def reason(self, owner: Owner, event_id: str) -> str | None:
        """Return the reason why an observation waits for the model; None if it does not, or is not pending."""
        pending = self._pending.get((owner, event_id))
        return pending.reason if pending else None

    def drop(self, partition: int) -> None:
        """Drop the observations of a revoked partition: they are delivered again elsewhere."""
        self._pending = {
            key: pending for key, pending in self._pending.items() if self._partition_of(key[0]) != partition
        }
