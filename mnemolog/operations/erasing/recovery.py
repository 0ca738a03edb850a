"""Erasures without a current request: those that were interrupted, and those that were undone.

An interrupted erasure is decided but not on the list, because of a crash, a lost connection, or a partition that moved
to this worker. An undone erasure is on the list, but a restored copy of the log has brought its user or its memory
back.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cluster.peers import PeerUnavailable
from mnemolog.operations.erasing.erasure import ErasedBefore, NotErasedYet, NotRewritable
from mnemolog.operations.erasing.receipts import receipt_id_of
from projections.index.protocol import IndexUnavailable
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.identity import derived_id
from schemas.log import LogUnavailable
from streams.agents.erasure_gate import ErasureRunning
from streams.delivery.retry import pauses

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
    from datetime import datetime

    from mnemolog.operations.erasing.erasure import ErasureParts
    from mnemolog.operations.erasing.memory_erasures import MemoryErasures
    from mnemolog.operations.erasing.receipts import Erasure, ErasureList
    from mnemolog.operations.erasing.user_erasures import UserErasures
    from schemas.identity import Owner

log = logging.getLogger("mnemolog")
LOOK_SECONDS: Final = 5.0
MOVED_SECONDS: Final = 0.1
"""The delay after which a start whose partitions have moved checks again."""
ERASED_AT_ONCE: Final = 32
"""The most erasures that are completed, or repeated, at the same time on Kafka."""


class ErasureRecovery:
    """Completes and repeats erasures in this worker's partitions."""

    def __init__(self, parts: ErasureParts, users: UserErasures, memories: MemoryErasures, listed: ErasureList) -> None:
        self._parts = parts
        self._users = users
        self._memories = memories
        self._listed = listed
        self._receipts = parts.receipts
        self._shards = parts.shards
        self._ring = parts.sealing.keys.ring
        self._is_embedded = parts.settings.is_embedded
        self._at_once = 1 if self._is_embedded else ERASED_AT_ONCE  # there are no other workers to wait for
        self._decided: set[Owner] = set()
        """The users whose erasure was decided here, and may not be completed by its request."""
        self._look = asyncio.Event()

    async def run(self) -> None:
        """Call `repeat` at the start, and whenever this worker gains partitions, until it is cancelled.

        Also complete each erasure that is decided here and has no current request.
        """
        looked_at: dict[int, int] = {}
        while True:
            self._look.clear()
            leases = self._shards.assignment.leases()
            with suppress(NotHeld):  # they have moved again
                if leases != looked_at:
                    with suppress(PeerUnavailable):  # partitions move again when that worker is back
                        await self._listed.learn()
                    await self.repeat()
                    looked_at = leases
                await self._complete_decided()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), LOOK_SECONDS)

    def complete_later(self, owner: Owner) -> None:
        """Note that an erasure of a user was decided here.

        Its request completes it, unless a crash or a lost connection prevents that.
        """
        self._decided.add(owner)
        self._look.set()

    async def repeat_before_start(self) -> None:
        """Repeat the erasures that a restored log has undone, so that their users are never served.

        Do nothing if the log has every erasure of the list, as it always has unless it was replaced. On Kafka, this
        covers the partitions that this worker has by then, and interrupted erasures are completed later: a start does
        not wait for them.
        """
        if not self._is_embedded:
            with suppress(PeerUnavailable):  # this worker is the first
                await self._listed.learn()
        while True:
            leases = self._shards.assignment.leases()
            with suppress(NotHeld, ShardDamaged):  # partitions have moved: check those that are here now
                if self._has_undone():
                    await (self.repeat() if self._is_embedded else self._repeat_undone())
                if leases == self._shards.assignment.leases():
                    return
            await asyncio.sleep(MOVED_SECONDS)

    def _has_undone(self) -> bool:
        decided = {receipt_id_of(owner, command_id) for owner, command_id in self._shards.users.erasures()}
        decided |= {receipt_id_of(owner, command_id) for owner, _, command_id in self._shards.users.erased_memories()}
        latest = {one.subject: one for one in sorted(self._receipts.kept(), key=_moment)}
        return any(one.receipt_id not in decided for one in latest.values())

    async def repeat(self) -> None:
        """Complete interrupted erasures, and repeat those that a restored backup has undone.

        The former are decided but not on the list; the latter are on the list, but their users are in the log again.
        """
        await self._complete(lambda _: True)
        await self._repeat_undone()

    async def _repeat_undone(self) -> None:
        kept = self._receipts.kept()
        memories = {one.subject: one for one in kept if one.of_memory}
        await self._all(self._memories_again(owner, memories) for owner in self._shards.users.owners() if memories)
        # Entries learned from other workers were appended last, regardless of their age.
        users = {one.subject: one for one in sorted(kept, key=_moment) if not one.of_memory}
        await self._all(self._again(owner, users) for owner in self._shards.users.known(self._ring.owners) if users)

    async def _complete_decided(self) -> None:
        waiting = {owner for owner in self._decided if not self._parts.is_asked_for(owner)}
        self._decided -= waiting
        if waiting:
            await self._complete(waiting.__contains__)

    async def _complete(self, concerns: Callable[[Owner], bool]) -> None:
        """Complete the erasures that are decided and not on the list, for the users that `concerns` accepts."""
        kept = self._receipts.kept()
        subjects = {one.subject for one in kept if one.of_memory}
        memories: dict[Owner, dict[str, str]] = {}
        for owner, memory_id, command_id in self._shards.users.erased_memories():
            if concerns(owner) and subjects.isdisjoint(self._receipts.subjects(owner, memory_id)):
                memories.setdefault(owner, {})[memory_id] = command_id
        await self._all(self._patiently(partial(self._memories.erase_all, *one)) for one in memories.items())
        given = {one.receipt_id for one in kept}
        users = [one for one in self._shards.users.erasures() if concerns(one[0]) and receipt_id_of(*one) not in given]
        await self._all(self._patiently(partial(self._users.erase, *one)) for one in users)

    async def _again(self, owner: Owner, latest: Mapping[str, Erasure]) -> None:
        """Erase a user again who is in the log after the listed erasure; `latest` has the last one of each subject."""
        named = [latest[subject] for subject in self._receipts.subjects(owner) if subject in latest]
        if not named:
            return
        one = max(named, key=_moment)
        state = self._shards.folded_state(owner)
        if state.erased_at is not None and state.erased_at >= one.moment:
            return
        log.warning("an erasure of %s is repeated, because the log was restored from before it", one.erased_at)
        again = derived_id("erased-again", one.receipt_id, str(state.version))
        await self._patiently(partial(self._users.erase, owner, again))

    async def _memories_again(self, owner: Owner, listed: Mapping[str, Erasure]) -> None:
        """Erase again those of a user's memories whose erasures are listed."""
        command_ids = {}
        for memory_id in self._shards.folded_state(owner).memories:
            if named := listed.keys() & self._receipts.subjects(owner, memory_id):
                one = max((listed[subject] for subject in named), key=_moment)
                log.warning(
                    "a memory's erasure of %s is repeated, because the log was restored from before it", one.erased_at
                )
                command_ids[memory_id] = derived_id("erased-again", one.receipt_id)
        if command_ids:
            await self._patiently(partial(self._memories.erase_all, owner, command_ids))

    async def _all(self, erasures: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Run erasures, several at once if each waits for other workers."""
        await run_several(erasures, self._at_once)

    async def _patiently(self, erase: Callable[[], Awaitable[object]]) -> None:
        """Erase, and wait while an engine is unavailable. If the partition has moved, the other worker erases."""
        pause = pauses()
        while True:
            try:
                await erase()
            except (NotHeld, ErasedBefore):
                return
            except NotRewritable as error:  # encryption was switched off since the decision
                log.warning("an erasure is not complete: %s", error)
                return
            except (ErasureRunning, NotErasedYet, IndexUnavailable, LogUnavailable, ShardUnavailable):
                await asyncio.sleep(pause())
            else:
                return


async def run_several(coroutines: Iterable[Coroutine[Any, Any, None]], at_once: int) -> None:
    """Run coroutines, at most `at_once` at a time, each created when its turn comes, since there may be many.

    Other tasks can run after each. If one fails, the others are cancelled, and have ended when this raises.
    """
    left = iter(coroutines)

    async def run() -> None:
        for coroutine in left:
            await coroutine
            await asyncio.sleep(0)

    runners = [asyncio.ensure_future(run()) for _ in range(at_once)]
    try:
        await asyncio.gather(*runners)
    finally:
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)


def _moment(one: Erasure) -> datetime:
    return one.moment
