"""Damage to the ledger: faults found by a fold, which cannot stem from appending.

A user's decisions are linked and numbered. If one is missing, was changed, or is in another place, all later decisions
would be void, and the user's memories would be those of an earlier day. So no request about the user is answered until
the log is whole again or the user is erased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.shard.errors import ShardUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from projections.shard.tables import ShardConnection
    from schemas.log import Record

PARTITION: Final = ""
"""The name for all users of a partition, if it is not known whose record is damaged."""
ADVICE: Final = "restore the log from a copy, then start again"
ADVICE_FOR_USER: Final = f"{ADVICE}; without a copy, erase the user, who then begins anew"
EXCHANGED: Final = "another record was put in its place"
Row: TypeAlias = "tuple[str, int, str]"


class LedgerDamaged(ShardUnavailable):
    """Records of a partition's ledger are missing or cannot be read: restore the log from a copy."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A fault of the ledger from an offset on, for one user or for a whole partition."""

    user: str
    """The user as `tenant/user_id`; PARTITION for all users of the partition."""
    topic: str
    partition: int
    offset: int
    what: str

    def __str__(self) -> str:
        """Return a sentence with the user, the place, the fault and the remedy."""
        whose = f"the history of {self.user}" if self.user else "the ledger"
        advice = ADVICE_FOR_USER if self.user else ADVICE
        return f"{whose} is damaged at {self.topic}:{self.partition}:{self.offset}: {self.what}; {advice}"


class Damages:
    """The damage that a shard's fold has found, the first of each user. It is kept in the shard's file."""

    def __init__(self, connection: ShardConnection, topic: str, partition: int) -> None:
        self._connection = connection
        self._topic = topic
        self._partition = partition
        self._known: dict[str, Damage] | None = None

    def forget(self) -> None:
        """Read the file again: it was emptied, or another process has folded."""
        self._known = None

    def all(self) -> dict[str, Damage]:
        """Return the damage by user."""
        if self._known is None:
            rows = self._connection.execute("select owner, offset, what from damages order by offset").fetchall()
            self._known = {
                name: Damage(name, self._topic, self._partition, offset, what) for name, offset, what in rows
            }
        return self._known

    def of(self, name: str) -> Damage | None:
        """Return the damage to a user's history, or else to that of all users; None if there is none."""
        known = self.all()
        return (known.get(name) or known.get(PARTITION)) if known else None

    def of_all(self) -> Damage | None:
        """Return the damage to the ledger that concerns all users of the partition, if any."""
        return self.all().get(PARTITION)

    def write(self, found: Sequence[Row], healed: Iterable[str]) -> None:
        """Write the damage found in a batch, and remove that of the users it erased, in the caller's transaction."""
        for name in healed:
            self._connection.execute("delete from damages where owner=?", (name,))
        for row in found:
            self._connection.execute("insert or ignore into damages values(?,?,?)", row)


def first_gap(start: int, records: Sequence[Record]) -> tuple[int, str] | None:
    """Return the offset and a description of the first gap in records that should begin at `start`; None if none.

    The ledger keeps all records, so a gap is damage.
    """
    if records[-1].position.offset - start + 1 == len(records):  # as nearly always
        return None
    for record in records:
        offset = record.position.offset
        if offset > start:
            return start, f"the records from offset {start} to {offset - 1} are missing"
        start = max(start, offset + 1)
    return None
