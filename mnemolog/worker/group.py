"""The group: which partitions this worker is assigned, holds and gives up."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from mnemolog.worker.background import say_when_held
from streams.agents.app import handled, withhold
from streams.delivery.retry import fold_with_retry

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
        self.app = make_app(moved=self)

    def assigned(self, partitions: Collection[int]) -> None:
        """Set the assigned partitions. Each is held, and its records are delivered, as soon as its shard is folded."""
        self._shards.takeover.assign(partitions)
        withhold(self.app, self._shards.assignment.unready())
        self._tasks.start(partial(self._fold, GLOBALS, self._shards.takeover.fold_globals))
        for partition in partitions:
            holding = partial(self._shards.takeover.hold, partition, self._shards.assignment.lease(partition))
            self._tasks.start(partial(self._fold, partition, holding))
        if not self._is_embedded:
            self._tasks.start(partial(say_when_held, self._shards.assignment))

    async def _fold(self, partition: int, folding: Callable[[], Awaitable[None]]) -> None:
        """Fold once the file can be opened and written; meanwhile, the assignment reports the hindrance."""
        assignment = self._shards.assignment
        try:
            await fold_with_retry(folding, partial(assignment.hinder, partition))
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
