"""Damage of the ledger: what a fold met that the log cannot have been appended like.

A user's decisions are linked and numbered. Where one is missing, was changed, or stands in another place, what was
decided after it would be void, and the user's memories would be those of an earlier day. So nothing is answered about
the user any more, until the log is whole again or the user is erased.
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
"""Stands for all users of a partition, where it is not known whose record is damaged."""
ADVICE: Final = "restore the log from a copy, then start again"
ADVICE_FOR_USER: Final = f"{ADVICE}; without a copy, erase the user, who then begins anew"
EXCHANGED: Final = "another record was put in its place"
Row: TypeAlias = "tuple[str, int, str]"


class LedgerDamaged(ShardUnavailable):
    """Records of a partition's ledger are missing or cannot be read: restore the log from a copy."""


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with the ledger from an offset on, for one user or for a whole partition."""

    user: str
    """As `tenant/user_id`; PARTITION for all users of the partition."""
    topic: str
    partition: int
    offset: int
    what: str

    def __str__(self) -> str:
        """Return whose history it is, where, what is wrong with it, and what to do."""
        whose = f"the history of {self.user}" if self.user else "the ledger"
        advice = ADVICE_FOR_USER if self.user else ADVICE
        return f"{whose} is damaged at {self.topic}:{self.partition}:{self.offset}: {self.what}; {advice}"


class Damages:
    """The damage that a shard's fold has met, the first of each user. It is in the shard's file."""

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
        """Return what is wrong with a user's history, or with that of all users; None where nothing is."""
        known = self.all()
        return (known.get(name) or known.get(PARTITION)) if known else None

    def of_all(self) -> Damage | None:
        """Return what is wrong with the ledger that concerns all users of the partition."""
        return self.all().get(PARTITION)

    def write(self, found: Sequence[Row], healed: Iterable[str]) -> None:
        """Write what a batch has found, and remove what its erasures have ended, in the caller's transaction."""
        for name in healed:
            self._connection.execute("delete from damages where owner=?", (name,))
        for row in found:
            self._connection.execute("insert or ignore into damages values(?,?,?)", row)


def first_gap(start: int, records: Sequence[Record]) -> tuple[int, str] | None:
    """Return where records of the ledger, which keeps all, are missing from an offset on, and what; None: nowhere."""
    if records[-1].position.offset - start + 1 == len(records):  # as nearly always
        return None
    for record in records:
        offset = record.position.offset
        if offset > start:
            return start, f"the records from offset {start} to {offset - 1} are missing"
        start = max(start, offset + 1)
    return None
