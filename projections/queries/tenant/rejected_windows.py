"""Windows whose extraction was rejected and has not succeeded since, read from a shard's file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.shard.rows.memories import decision_of_row
from projections.shard.tables import connect_to_read, name_of
from schemas.identity import Owner, event_of_piece

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

_REJECTED: Final = """
    select c.owner, c.version, c.piece, d.body from covered c join decisions d using(owner, version)
    where c.rejected and (?1 is null or c.owner = ?1) order by c.owner, c.version
"""
_FIRST: Final = "select topic, offset from observations where owner = ? and event_id = ?"
_ERASED: Final = "select 1 from erased_sources where owner = ? and id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedWindow:
    """The pieces that one decision rejected."""

    owner: Owner
    version: int
    pieces: frozenset[str]
    """The rejected pieces, without those that were erased with a memory."""
    places: tuple[tuple[str, int], ...] | None
    """The topic and offset of each observation, in the order of the log; None if retention has removed one."""
    rejected_at: datetime


def rejected_windows(path: Path, before: datetime, owner: Owner | None = None) -> list[RejectedWindow]:
    """Return the windows of a shard that were rejected before an instant, the oldest first for each user.

    `owner` restricts the result to one user. It scans the table: call it in a thread.
    """
    found: dict[tuple[str, int], tuple[set[str], bytes]] = {}
    with closing(connect_to_read(path)) as connection:
        for name, version, piece, body in connection.execute(_REJECTED, (owner and name_of(owner),)):
            found.setdefault((name, version), (set(), body))[0].add(piece)
        windows = []
        for (name, version), (listed, body) in found.items():
            at = decision_of_row(body).envelope.recorded_at
            if at is None or at >= before:
                continue
            erased = {e for e in map(event_of_piece, listed) if connection.execute(_ERASED, (name, e)).fetchone()}
            pieces = {piece for piece in listed if event_of_piece(piece) not in erased}
            if not pieces:
                continue
            events = sorted({event_of_piece(piece) for piece in pieces})
            places = [connection.execute(_FIRST, (name, event)).fetchone() for event in events]
            windows.append(
                RejectedWindow(
                    owner=Owner.of_key(name.encode()),
                    version=version,
                    pieces=frozenset(pieces),
                    places=None if None in places else tuple(sorted(places, key=lambda place: place[1])),
                    rejected_at=at,
                )
            )
    return windows
