"""A user whose partition a worker holds: looked up once, where a request or a record comes in, and passed on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from projections.encrypted_files import sqlite3
from projections.partitions.assignment import HistoryDamaged
from projections.shard.tables import name_of
from schemas.topics import GLOBALS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.partitions.assignment import Lease
    from projections.shard.rows.damage import Damage
    from projections.shard.shard import Shard
    from projections.state.memory import UserState
    from schemas.identity import Owner


class Held:
    """An owner with the partition of the owner's messages, and its lease when this object was created.

    Every read uses the present shard: while the reader waits, a rebuild may replace it, and after the partition is
    released every read raises NotHeld.
    """

    __slots__ = ("_find", "_name", "lease", "owner")

    def __init__(self, owner: Owner, lease: Lease, find: Callable[[], Shard]) -> None:
        """Read from the shard that `find` returns; it returns the present one, or raises NotHeld."""
        self.owner = owner
        self.lease = lease
        self._name = name_of(owner)
        self._find = find

    @property
    def partition(self) -> int:
        """The partition of the owner's messages."""
        return self.lease.partition

    @property
    def shard(self) -> Shard:
        """The shard that holds the owner's memories. Raises NotHeld."""
        return self._find()

    @property
    def ledger_place(self) -> tuple[str, int]:
        """The topic and partition that hold the owner's decisions."""
        return (GLOBALS.name, 0) if self.owner.is_global else (LEDGER.name, self.partition)

    @property
    def damage(self) -> Damage | None:
        """The damage to the owner's history, None if there is none. Raises NotHeld."""
        return self.shard.ledger.damages.of(self._name)

    def _whole(self) -> Shard:
        """Return the shard if the owner's history is whole. Raises NotHeld, HistoryDamaged."""
        shard = self.shard
        if (damage := shard.ledger.damages.of(self._name)) is not None:
            raise HistoryDamaged(damage)
        return shard

    @property
    def state(self) -> UserState:
        """The owner's state. Raises NotHeld, HistoryDamaged, ShardDamaged, ShardUnavailable."""
        return self._whole().ledger.state(self.owner)

    @property
    def folded_state(self) -> UserState:
        """The owner's state as far as it could be folded, whole or not: for the erasure of the user.

        Raises NotHeld, ShardDamaged, ShardUnavailable.
        """
        return self.shard.ledger.state(self.owner)

    async def load(self) -> None:
        """Read the owner's state into the cache, yielding to the event loop; `state` would read it without yielding.

        Raises NotHeld, HistoryDamaged at once. If the shard is closed or replaced meanwhile, `state` reads it anew.
        """
        with suppress(sqlite3.ProgrammingError):
            await self._whole().ledger.states.load(self.owner)
