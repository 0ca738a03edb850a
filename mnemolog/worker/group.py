"""The group: which partitions this worker is assigned, holds and gives up."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from mnemolog.worker.background import say_when_held
from projections.shard.errors import ShardDamaged
from schemas.topics import GLOBALS as GLOBAL_LEDGER
from streams.agents.app import deliver_again, handled, withhold
from streams.delivery.retry import fold_with_retry, pauses, retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from mnemolog.worker.background import BackgroundTasks
    from projections.partitions.shards import Shards
    from streams.agents.app import App
    from streams.agents.observe import Observe
    from streams.agents.remember import Remember

log = logging.getLogger("mnemolog")
GLOBALS = -1
"""The partition number that represents global memories, which are folded along with the partitions but belong to
none."""


class Group:
    """The worker as a member of its group, which assigns it partitions. An embedded worker is alone in it."""

    def __init__(
        self,
        make_app: Callable[..., App],
        shards: Shards,
        agents: tuple[Observe, Remember],
        tasks: BackgroundTasks,
        *,
        is_embedded: bool,
    ) -> None:
        """`make_app` builds the application of the agents, which reports the group's assignments to `moved`."""
        self._shards = shards
        self._agents = agents
        self._tasks = tasks
        self._is_embedded = is_embedded
        self._pauses: dict[int, Callable[[], float]] = {}
        """For each partition whose shard was damaged, the pause before it is folded anew: it grows with each time."""
        self.app = make_app(moved=self)

    def assigned(self, partitions: Collection[int]) -> None:
        """Set the assigned partitions. Each is held, and its records are delivered, as soon as its shard is folded."""
        self._shards.takeover.assign(partitions)
        withhold(self.app, self._shards.assignment.unready())
        self._tasks.start(partial(self._fold, GLOBALS, self._shards.takeover.fold_globals))
        for partition in partitions:
            self._hold(partition)
        if not self._is_embedded:
            self._tasks.start(partial(say_when_held, self._shards.assignment))

    def damaged(self, error: ShardDamaged) -> None:
        """Stop answering for the users of a damaged shard until it is folded anew; those of others are answered.

        What is in work is dropped, and delivered again afterwards. All users wait for the shard of global memories.
        If no partition of the shard is held, whoever folds it meets the damage.
        """
        shards, assignment = self._shards, self._shards.assignment
        is_global = error.path == shards.globals.path
        partitions = [p for p, shard in assignment.shards.items() if is_global or shard.path == error.path]
        for partition in partitions:
            log.warning("users of partition %d are not answered until its shard is whole: %s", partition, error)
            for agent in self._agents:
                agent.revoke(partition)
            assignment.release(partition)
            assignment.hinder(partition, error)
        if not partitions:
            return
        deliver_again(self.app, partitions)
        if is_global:
            deliver_again(self.app, [0], [GLOBAL_LEDGER])
        withhold(self.app, assignment.unready())
        for partition in partitions:
            self._hold(partition, self._pauses.setdefault(partition, pauses())())

    def _hold(self, partition: int, pause: float = 0.0) -> None:
        holding = partial(self._shards.takeover.hold, partition, self._shards.assignment.lease(partition))
        self._tasks.start(partial(self._fold, partition, holding, pause))

    async def _fold(self, partition: int, folding: Callable[[], Awaitable[None]], pause: float = 0.0) -> None:
        """Fold once the file can be opened and written; meanwhile, the assignment reports the hindrance.

        A file that is found damaged meanwhile is folded anew.
        """
        assignment = self._shards.assignment
        hindered = partial(assignment.hinder, partition)
        try:
            await asyncio.sleep(pause)
            await retry(partial(fold_with_retry, folding, hindered), ShardDamaged, hindered)
        finally:
            assignment.hinder(partition, None)
            withhold(self.app, assignment.unready())

    def revoked(self, partitions: Collection[int]) -> None:
        """Stop answering for the users of these partitions, until they are assigned again."""
        for partition in partitions:
            self._shards.assignment.release(partition)
        self._shards.assignment.unassign()
        if not self._is_embedded:
            log.info("the group shares out its partitions anew")

    def drop_jobs(self) -> None:
        """Drop the agents' pending jobs; unacknowledged records are delivered again."""
        for partition in self._shards.held():
            for agent in self._agents:
                agent.revoke(partition)

    def handled(self, topic: str, partition: int) -> int:
        """Return the offset before which everything of a topic's partition is done."""
        return handled(self.app, topic, partition)
