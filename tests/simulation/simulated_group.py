"""The consumer group: who has which partition, up to where its topics are done with, and how partitions move."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from schemas.topics import GLOBALS, INBOX, INPUTS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.simulated_log import SimulatedLog
    from simulation.simulated_worker import SimulatedWorker
    from simulation.virtual_loop import VirtualLoop

AGENTS: Final = {
    "observe": tuple(topic.name for topic in INPUTS),
    "remember": (INBOX.name,),
    "project": (LEDGER.name, GLOBALS.name),
}
"""What each agent reads."""
CONSUMED: Final = tuple(name for names in AGENTS.values() for name in names)


@dataclass(slots=True)
class Ownership:
    """One generation of one partition of all topics."""

    worker: SimulatedWorker
    generation: int


@dataclass(slots=True)
class SimulatedGroup:
    """Partition p of every topic belongs together, as Faust assigns topics of equal partition counts."""

    loop: VirtualLoop
    log: SimulatedLog
    chance: Random
    partitions: int
    guarded: bool = True
    """False lets commits of former owners count: what the real transport must not do."""
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    owners: dict[int, Ownership] = field(default_factory=dict)
    outside: Context = field(default_factory=Context)
    _generation: int = 0

    def commit(self, worker: SimulatedWorker, generation: int, topic: str, partition: int, offset: int) -> None:
        """Send a commit; when it arrives, it counts only for the partition's present owner and generation."""

        def arrive() -> None:
            owner = self.owners.get(partition)
            current = owner is not None and (owner.worker, owner.generation) == (worker, generation)
            if current or not self.guarded:
                self.committed[topic, partition] = offset

        self.loop.call_later(self.chance.random() * 0.1, arrive, context=self.outside)

    async def move(self, partition: int, to: SimulatedWorker, *, eagerly: bool = False) -> None:
        """Give a partition to a worker. A former owner that can hear it lets go first; unless it moves `eagerly`.

        One that is frozen hears it some time after it woke up, and appends until then what it likes.
        """
        old = self.owners.pop(partition, None)
        if old is not None and old.worker.is_alive:
            released: asyncio.Future[None] = self.loop.create_future()
            late = self.chance.random() * (5.0 if eagerly else 0.1)
            self._tell(old.worker, late, lambda: old.worker.revoked(partition, released))
            while not (eagerly or old.worker.is_frozen or not old.worker.is_alive or released.done()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        if to.is_alive and partition not in self.owners:
            self._generation += 1
            self.owners[partition] = Ownership(to, self._generation)
            offsets = {
                (topic, partition): self.committed.get((topic, partition), 0)
                for topic in CONSUMED
                if (topic, partition) in self.log.records
            }
            generation = self._generation
            self._tell(to, 0.0, lambda: to.assigned(generation, partition, offsets))

    def _tell(self, worker: SimulatedWorker, delay: float, word: Callable[[], None]) -> None:
        """Tell a worker something after a while, or when it wakes up; it hears everything in order."""
        worker.mailbox.append(word)
        self.loop.call_later(delay, worker.hear, context=worker.context)

    def is_done(self) -> bool:
        """Tell whether everything in the log has been handled and committed."""
        return all(
            self.committed.get(place, 0) == len(records)
            for place, records in self.log.records.items()
            if place[0] in CONSUMED
        )
