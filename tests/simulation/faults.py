"""What goes wrong: crashes, freezes, moving partitions and storms, at moments counted in steps of the scheduler."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from simulation.exclusive_log import SimulatedExclusiveLog
from simulation.simulated_worker import SimulatedWorker
from simulation.uncommitted import forget_uncommitted

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from simulation.simulated_log import Weather
    from simulation.simulated_worker import World


class Faults:
    """Holds the workers. Each has a seat (its folder) and, there, one life after the other."""

    def __init__(self, world: World, folder: Path, seats: int, weather: Weather | None, most: int) -> None:
        """`most`: faults in one stage, at most."""
        self.happened: Counter[str] = Counter()
        self._world = world
        self._folder = folder
        self._weather = weather
        self._most = most
        self._is_alone = isinstance(world.log, SimulatedExclusiveLog)
        self._appends = 0
        self._lives: Counter[int] = Counter()
        self._seats: dict[int, SimulatedWorker] = {}
        self._healing: set[asyncio.Task[None]] = set()
        for seat in range(seats):
            self._sit(seat)

    @property
    def alive(self) -> list[SimulatedWorker]:
        """The workers that run or would run again."""
        return [worker for worker in self._seats.values() if worker.is_alive]

    async def for_a_while(self) -> None:
        """Let things go wrong, one after the other, some of them while the last one is not over."""
        chance = self._world.chance
        for _ in range(chance.randint(0, self._most)):
            kind = chance.random()
            if kind < 0.3:  # hard upon the last one
                await self._world.loop.steps_later(chance.randint(1, 15))
            elif kind < 0.7:  # close to something that was appended
                await self._appended(chance.randint(1, 6))
                await self._world.loop.steps_later(chance.randint(1, 10))
            else:
                await self._world.loop.steps_later(1 + int(400 * chance.random() ** 2))
            await self._one()

    async def _appended(self, more: int) -> None:
        """Return when the log has so many more records, or nothing much happens."""
        until = self._appends + more
        for _ in range(60):
            if self._appends >= until:
                return
            await self._world.loop.steps_later(5)

    async def heal(self) -> None:
        """Wake every worker, and give every partition to one that lives."""
        for worker in self.alive:
            self._wake(worker)
        if self._weather is not None and self._most:
            self._calm(self._weather)
        while self._healing:  # noqa: ASYNC110 - virtual time costs nothing
            await asyncio.sleep(0.1)
        await self._cover()

    # -- faults

    async def _one(self) -> None:
        chance = self._world.chance
        fault = chance.choice(
            (self._crash, self._crash, self._freeze, self._freeze, self._move, self._all, self._storm)
        )
        self.happened[fault.__name__] += 1
        await fault()

    async def _crash(self) -> None:
        worker = self._some()
        self.kill(worker)
        if self._world.chance.random() < 0.5:
            await asyncio.sleep(self._world.chance.random() * 10)
        await self._cover()

    async def _freeze(self) -> None:
        world, worker = self._world, self._some()
        worker.is_frozen = True
        world.loop.freeze(worker.name)
        self._aside(self._thaw(worker, world.chance.randint(1, 1_200)))
        if not self._is_alone and world.chance.random() < 0.8:
            await world.loop.steps_later(world.chance.randint(1, 100))
            to = self._somebody_but(worker)
            for partition, owner in list(world.group.owners.items()):
                if owner.worker is worker:
                    await world.group.move(partition, to, eagerly=True)

    async def _thaw(self, worker: SimulatedWorker, steps: int) -> None:
        while steps > 0 and worker.is_frozen:  # in small steps, because healing wakes it up too
            await self._world.loop.steps_later(min(steps, 50))
            steps -= 50
        self._wake(worker)

    async def _move(self) -> None:
        group, chance = self._world.group, self._world.chance
        eagerly = chance.random() < 0.4 and not self._is_alone
        await group.move(chance.randrange(group.partitions), self._some(), eagerly=eagerly)

    async def _all(self) -> None:
        """Rebalance as Faust does: everybody lets go of everything, and gets perhaps the same again."""
        for partition in range(self._world.group.partitions):
            await self._world.group.move(partition, self._some())

    async def _storm(self) -> None:
        weather, model = self._weather, self._world.model
        assert weather is not None
        weather.refused = weather.unacknowledged = weather.late = 0.15
        weather.unreadable, model.outages, self._world.embedder.outages = 0.05, 0.6, 0.2
        weather.full = 0.3
        self._aside(self._clear_up(weather, self._world.chance.randint(20, 400)))

    async def _clear_up(self, weather: Weather, steps: int) -> None:
        await self._world.loop.steps_later(steps)
        self._calm(weather)

    def _calm(self, weather: Weather) -> None:
        weather.refused = weather.unacknowledged = weather.late = 0.01
        weather.unreadable, self._world.model.outages, self._world.embedder.outages = 0.001, 0.05, 0.0
        weather.full = 0.02

    # -- workers

    def kill(self, worker: SimulatedWorker) -> None:
        """Stop a worker at once, wherever it is."""
        if worker.is_alive:
            worker.is_alive = worker.is_frozen = False
            self._world.loop.crash(worker.name)
            if isinstance(self._world.log, SimulatedExclusiveLog):
                self._world.log.end_process(worker.name)
            forget_uncommitted(worker.name)
            worker.shards.close()

    async def _cover(self) -> None:
        """Start what is down, and give away what nobody has."""
        group, chance = self._world.group, self._world.chance
        for seat, worker in list(self._seats.items()):
            if not worker.is_alive and (chance.random() < 0.7 or not self.alive):
                self._sit(seat)
        for partition in range(group.partitions):
            owner = group.owners.get(partition)
            if owner is None or not owner.worker.is_alive:
                await group.move(partition, self._some())

    def _sit(self, seat: int) -> SimulatedWorker:
        folder = self._folder / str(seat)
        if self._lives[seat] and self._world.chance.random() < 0.3:
            shutil.rmtree(folder)  # the shards are lost: they are folded again from the log
        self._lives[seat] += 1
        worker = SimulatedWorker(f"{seat}.{self._lives[seat]}", folder, self._world, self._stopped)
        self._seats[seat] = worker
        return worker

    def _stopped(self, worker: SimulatedWorker) -> None:
        """Start a worker again that ended by itself, as systemd or Kubernetes would."""
        self.happened["_stopped"] += 1

        async def replace() -> None:
            self.kill(worker)
            await self._cover()

        self._aside(replace())

    def _some(self) -> SimulatedWorker:
        alive = self.alive
        return self._world.chance.choice(alive) if alive else self._sit(0)

    def _somebody_but(self, worker: SimulatedWorker) -> SimulatedWorker:
        others = [w for w in self.alive if w is not worker and not w.is_frozen]
        if others:
            return self._world.chance.choice(others)
        free = next(s for s in count() if s not in self._seats or not self._seats[s].is_alive)
        return self._sit(free)

    def _wake(self, worker: SimulatedWorker) -> None:
        if worker.is_frozen:
            worker.is_frozen = False
            self._world.loop.wake(worker.name)

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._world.loop.create_task(work, context=self._world.group.outside)
        self._healing.add(task)
        task.add_done_callback(self._healing.discard, context=self._world.group.outside)

    def log_grew(self) -> None:
        """Tell every worker that the log has more."""
        self._appends += 1
        for worker in self.alive:
            worker.look()
