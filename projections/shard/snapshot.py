"""A shard as of one commit, for long reads in a thread while the shard itself continues to fold."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from immutables import Map

from projections.blocking_work import run_in_thread, run_to_end
from projections.encrypted_files import sqlite3
from projections.shard.errors import damage
from projections.shard.ledger import LedgerFold
from projections.shard.tables import connect_to_read
from projections.state.digest import combined, digests
from projections.state.lifetime import IS_ACTIVE_SQL, sql_instant
from projections.state.memory import ACTIVE
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from projections.state.memory import UserState

READING: Final = ThreadPoolExecutor(1, "committed")
"""The thread that computes digests, one shard at a time: several at once would starve everything else."""
_ACTIVE: Final = (
    "select owner, count(*) from (select owner, cast(body as text) as body from memories)"  # noqa: S608 - our own words
    f" where {IS_ACTIVE_SQL} group by owner"
)


def nothing() -> None:
    """Never interrupt."""


class ReadSnapshot:
    """The committed content of a shard's file at the time of creation, whatever is folded later.

    The shard may be closed, and its file sent or replaced meanwhile: the snapshot still reads the old content. It
    prevents SQLite from truncating the write-ahead log, so it must be closed as soon as it has been read.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, also while the shard has it open. Raises ShardUnavailable, ShardDamaged."""
        self._path = path
        self._connection = connect_to_read(path)
        try:
            self._connection.execute("begin")
            self._connection.execute("select 1 from offsets").fetchone()  # the first read fixes the snapshot
        except BaseException:
            self.close()
            raise
        self._ledger = LedgerFold(self._connection, None)

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._connection.close()

    async def digests(self, is_counted: Callable[[Owner], bool], go_on: Callable[[], None] = nothing) -> dict[str, str]:
        """Return the digests over the users that `is_counted` accepts. Raises ShardUnavailable, ShardDamaged.

        `go_on` is called before each user, in the thread; an exception from it ends the computation.
        """
        read = partial(digests, self._states(is_counted, go_on))
        return await run_to_end(asyncio.get_running_loop().run_in_executor(READING, read))

    async def digests_beside(
        self, other: ReadSnapshot, is_counted: Callable[[Owner], bool], go_on: Callable[[], None] = nothing
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the digests of this snapshot and of another; users with equal rows in both are digested once.

        Parameters and errors are those of `digests`.
        """
        read = partial(self._digests_beside, other, is_counted, go_on)
        return await run_to_end(asyncio.get_running_loop().run_in_executor(READING, read))

    async def count_active(self, now: datetime, is_counted: Callable[[Owner], bool]) -> int:
        """Return the number of memories active at an instant, of the users that `is_counted` accepts.

        Raises as `digests`.
        """
        return await run_in_thread(self._count_active, now, is_counted)

    async def statuses(self) -> dict[str, int]:
        """Return the number of memories by stored status, counted in a thread."""
        return await run_in_thread(self._ledger.statuses)

    def _states(self, is_counted: Callable[[Owner], bool], go_on: Callable[[], None]) -> Iterator[UserState]:
        for owner in self._ledger.owners():
            go_on()
            if is_counted(owner):
                yield self._remembered(owner)

    def _remembered(self, owner: Owner) -> UserState:
        states = self._ledger.states
        return states.remembered(owner, states.bodies(owner))

    def _digests_beside(
        self, other: ReadSnapshot, is_counted: Callable[[Owner], bool], go_on: Callable[[], None]
    ) -> tuple[dict[str, str], dict[str, str]]:
        differing: list[Owner] = []

        def equal() -> Iterator[UserState]:
            for owner in sorted({*self._ledger.owners(), *other._ledger.owners()}, key=lambda each: each.key):
                go_on()
                if not is_counted(owner):
                    continue
                bodies = self._ledger.states.bodies(owner)
                state = self._ledger.states.remembered(owner, bodies)
                same = bodies == other._ledger.states.bodies(owner)
                if same and other._ledger.states.remembered(owner, ()) == replace(state, memories=Map()):
                    yield state
                else:
                    differing.append(owner)

        both = digests(equal())
        ours = digests(map(self._remembered, differing))
        theirs = digests(map(other._remembered, differing))
        return combined([both, ours]), combined([both, theirs])

    def _count_active(self, now: datetime, is_counted: Callable[[Owner], bool]) -> int:
        try:
            rows = self._connection.execute(_ACTIVE, {"active": ACTIVE, "now": sql_instant(now)}).fetchall()
        except sqlite3.OperationalError as error:  # a row that is no JSON
            raise damage(self._path, error) from error
        return sum(count for name, count in rows if is_counted(Owner.of_key(name.encode())))


async def digests_of(
    paths: Iterable[Path], is_counted: Callable[[Owner], bool], go_on: Callable[[], None] = nothing
) -> dict[str, str]:
    """Return the digests over the users that `is_counted` accepts, in the present content of all these shards.

    `go_on` as in `ReadSnapshot.digests`. Raises ShardUnavailable, ShardDamaged.
    """
    found = []
    with ExitStack() as opened:
        for shard in [opened.enter_context(closing(ReadSnapshot(path))) for path in paths]:
            found.append(await shard.digests(is_counted, go_on))
            shard.close()
    return combined(found)


async def count_active(paths: Iterable[Path], now: datetime, is_counted: Callable[[Owner], bool]) -> int:
    """Return the number of memories active at an instant in all these shards, of the users that `is_counted` accepts.

    Raises ShardUnavailable, ShardDamaged.
    """
    found = 0
    for path in paths:
        with closing(ReadSnapshot(path)) as shard:
            found += await shard.count_active(now, is_counted)
    return found
