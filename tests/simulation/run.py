"""Plays one seed, twice where it can be compared: with faults, and without. `python -m simulation.run --help`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, TypeAlias
from unittest.mock import patch

from simulation.clocks import MachineClock, check_times
from simulation.door import Door, check_acknowledged, comes_by_the_door
from simulation.erasures import COMMAND, MASTERS, AfterErasure, Opened, PlannedErasure, erase_somewhere, reminders_due
from simulation.exclusive_log import SimulatedExclusiveLog
from simulation.faults import Faults
from simulation.memory_erasures import (
    ErasedMemory,
    PlannedMemoryErasure,
    check_memory_erasures,
    check_rows_of_memories,
    choose,
    erased_events,
)
from simulation.reminders import raised
from simulation.scripted_extractor import HashEmbedder, Model
from simulation.simulated_group import SimulatedGroup
from simulation.simulated_log import SimulatedLog, Weather
from simulation.simulated_worker import TICK_EVERY, Parts, World
from simulation.steps import Step
from simulation.verdict import check_edits, check_folds, check_index, check_log, check_rows, check_told, compare
from simulation.virtual_loop import VirtualLoop
from simulation.workload import FIRST_DAY, PARTITIONS, Workload
from support.counting import counted

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable
from projections.shard.wal import Checkpoints
from schemas import codec
from schemas.identity import partition_owner
from schemas.log import LogUnavailable
from schemas.messages.decision import Decision
from schemas.messages.inbox import INBOX_ITEMS, Tick
from schemas.topics import INBOX, LEDGER, TOPICS, partition_of
from streams.delivery.retry import append_with_retry, retry
from streams.sealing.user_keys import LEASE_SECONDS, UserKeys
from streams.ticks.scheduler import decay_due, slots_between, tick_record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from simulation.erasures import Records
    from simulation.simulated_worker import SimulatedWorker
    from simulation.steps import Phase

    from projections.state.memory import UserState
    from schemas.identity import Owner
    from streams.agents.immediate_decisions import Decided

AnyErasure: TypeAlias = PlannedErasure | PlannedMemoryErasure
PRODUCTION: Final = Parts()
MAX_STEPS: Final = 100_000
AT_ONCE: Final = 0.8
"""How many commands are given to a worker that is alone, 0 to 1, instead of being published."""
PATIENCE_SECONDS: Final = 30.0
"""So long the caller of such a command waits: longer than an append and a fold may take."""
SETTLED_SECONDS: Final = 60.0
"""So long is waited in the end for what is still on its way: longer than any pause between two attempts."""
STUCK: Final = 0.1
"""How many appends arrive as late as they can while something is erased."""
REPLAY: Final = "PYTHONPATH=tests python -m simulation.run --from {seed} --seeds 1"


class SeedFailed(AssertionError):
    """What must hold did not; the text says how to see it again."""


class VirtualClock:
    """The wall clock of a run: it goes with the loop's seconds, and jumps from day to day between phases."""

    def __init__(self, loop: VirtualLoop) -> None:
        """Start on the first day."""
        self._loop = loop
        self._begin = FIRST_DAY
        self._phase, self._phase_began = 0, 0.0

    def now(self) -> datetime:
        """Return the virtual instant."""
        return self._begin + timedelta(seconds=self._loop.time())

    def jump_to(self, instant: datetime) -> None:
        """Let it be later: another phase begins."""
        self._phase, self._phase_began = self._phase + 1, self._loop.time()
        self._begin += max(instant - self.now(), timedelta(0))

    def in_phase(self) -> tuple[int, float]:
        """Return which phase it is, and how many seconds it has lasted."""
        return self._phase, self._loop.time() - self._phase_began


@dataclass(frozen=True, slots=True)
class Played:
    """One run: `trace` is a hash over all its steps and records, `states` what it remembers."""

    states: list[UserState]
    trace: str
    steps: int
    happened: Counter[str]


class _Run:
    """The world of one run, and its publishers."""

    def __init__(self, workload: Workload, folder: Path, parts: Parts, *, calm: bool) -> None:
        chance = Random(f"{'calm' if calm else 'faults'} {workload.seed}")  # noqa: S311 - repeatable on purpose
        self.workload = workload
        self.folder = folder
        self.loop = VirtualLoop(chance, MAX_STEPS)
        self.clock = VirtualClock(self.loop)
        self.chance = chance
        self._ticks: dict[int, set[str]] = {p: set() for p in range(PARTITIONS)}
        self._read = dict.fromkeys(range(PARTITIONS), 0)
        self._weather = weather = None if calm else Weather(chance)
        if weather is not None and workload.is_alone:
            ends = Random(f"ends {workload.seed}")  # noqa: S311 - repeatable on purpose
            self.log: SimulatedLog = SimulatedExclusiveLog(self.clock, ends, weather, self.loop.trace)
        else:
            self.log = SimulatedLog(self.clock, weather, self.loop.trace)
        self.told: list[tuple[Owner, Decided]] = []
        """What was answered to those whose commands were decided at once."""
        self._disk = Random(f"disk {workload.seed}")  # noqa: S311 - repeatable on purpose
        self.group = SimulatedGroup(self.loop, self.log, chance, PARTITIONS, guarded=parts.guarded)
        model, embedder = Model(chance), HashEmbedder(chance)
        twice = 0.0 if calm else 0.1
        sealed = workload.erasure is not None or bool(workload.memory_erasures)
        world = World(
            self.loop,
            self.log,
            self.group,
            model,
            embedder,
            self.clock,
            self._machine,
            chance,
            parts,
            twice,
            sealed,
            commit_fails=self._commit_fails,
            note=self._note,
        )
        self.opened = Opened(self.log.still())
        self.erased: list[ErasedMemory] = []
        keys = UserKeys(self.log, MASTERS, lease_seconds=LEASE_SECONDS)
        self.door = Door(self.log, keys)
        self._sealed_for = comes_by_the_door(workload)
        self._make = lambda: Faults(world, folder, 1 if calm else workload.workers, weather, 0 if calm else 6)

    async def play(self) -> list[UserState]:
        """Go through the workload; return the users' states."""
        for topic in TOPICS:
            await self.log.create_topic(topic.name, 1 if topic.single_partition else PARTITIONS)
        self.faults = self._make()
        self.log.on_append = self.faults.log_grew
        await self.faults.heal()
        for number, phase in enumerate(self.workload.phases):
            erasure = self.workload.erasure
            erasures = [one for one in (erasure, *self.workload.memory_erasures) if one is not None]
            await self._phase(phase, [one for one in erasures if one.phase == number])
        await asyncio.sleep(SETTLED_SECONDS)
        await self._reminded()
        await self._drained()
        workers = {partition: owner.worker for partition, owner in self.group.owners.items()}
        records = await self.opened.read()
        after = self._after(records)
        check_times(records, self.clock.now())
        check_log(records, self.workload, after)
        check_acknowledged(self.door, records, after, erased_events(records))
        check_told(self.told, records, after)
        await check_memory_erasures(self.opened, records, self.erased, words_are_once=self.workload.comparable)
        for worker in dict.fromkeys(workers.values()) if self.faults.happened else ():
            await retry(partial(_catch_up, worker), LogUnavailable)
        states = check_folds(self.log, records, workers, self.folder)
        self.faults.happened.update(check_edits(self.log, records, self.folder, self.workload.seed))
        if after is not None:
            await check_rows(self.opened.log, workers, self.folder, after)
        owners = [one.owner for one in self.erased]
        await check_rows_of_memories(self.opened.log, workers, self.folder, owners)
        await check_index(workers)
        for worker in self.faults.alive:
            worker.shards.close()
        return states

    def _machine(self, worker: str) -> MachineClock:
        seat = worker.partition(".")[0]
        seed = None if self._weather is None else self.workload.seed
        return MachineClock(self.clock, self.log, seed, seat, self._note)

    def _note(self, what: str) -> None:
        self.faults.happened[what] += 1

    def _commit_fails(self) -> bool:
        weather = self._weather
        if weather is None or not self.workload.disk_fills or self._disk.random() >= weather.full:
            return False
        self.faults.happened["commits that failed"] += 1
        return True

    def _after(self, records: Records) -> AfterErasure | None:
        erasure = self.workload.erasure
        if erasure is None:
            return None
        partition = partition_of(erasure.owner.key, PARTITIONS)
        return AfterErasure(records, erasure, partition, self.opened.said(records, self.door.clear))

    async def _phase(self, phase: Phase, erasures: list[AnyErasure]) -> None:
        self.clock.jump_to(phase.at)
        trouble = self.loop.create_task(self.faults.for_a_while())
        await self._slots_passed()
        await trouble
        if self.workload.comparable:
            await self._stage(phase.said, [one for one in erasures if one.stage == "said"])
            await self._stage(phase.asked, [one for one in erasures if one.stage == "asked"])
        else:
            amid = [one for one in erasures if one.stage != "after"]
            await self._stage([*phase.said, *phase.asked, *self._ticks_of(phase)], amid)
        for erasure in erasures:  # one after the other: which memories there are is the same in every run
            if erasure.stage == "after":
                await self._stage([], [erasure])
        if self.workload.comparable:
            await self._stage(self._ticks_of(phase))

    def _ticks_of(self, phase: Phase) -> list[list[Step]]:
        """Return what an operator appends who asks for the phase's tick."""
        ticks = [] if phase.tick is None else [decay_due(p, "ladder", phase.tick) for p in range(PARTITIONS)]
        records = [tick_record(partition, tick) for partition, tick in enumerate(ticks)]
        return [[Step(self.chance.random() * 8, record)] for record in records]

    async def _stage(self, lists: list[list[Step]], erasures: Sequence[AnyErasure] = ()) -> None:
        trouble = self.loop.create_task(self.faults.for_a_while())
        await asyncio.gather(*map(self._erase, erasures), *(self._publish(steps) for steps in lists))
        await trouble
        await self._drained()

    async def _erase(self, erasure: AnyErasure) -> None:
        await asyncio.sleep(erasure.pause)
        if self._weather is not None:
            self._weather.stuck = STUCK
        try:
            await self._have_erased(erasure)
        finally:
            if self._weather is not None:
                self._weather.stuck = 0.0

    async def _have_erased(self, erasure: AnyErasure) -> None:
        owner, partition = erasure.owner, partition_of(erasure.owner.key, PARTITIONS)
        if isinstance(erasure, PlannedErasure):
            await erase_somewhere(self.group, partition, lambda worker: worker.erase(owner, COMMAND))
        elif (chosen := await choose(self.opened, erasure)) is not None:
            memory_id, command_id = chosen.memory_id, erasure.command_id
            await erase_somewhere(
                self.group, partition, lambda worker: worker.erase_memory(owner, memory_id, command_id)
            )
            self.erased.append(chosen)

    async def _publish(self, steps: list[Step]) -> None:
        repeats = []
        for step in steps:
            await asyncio.sleep(step.pause)
            await self._append(step)
            if step.again:
                repeats.append(self.loop.create_task(self._repeat(step)))
        await asyncio.gather(*repeats)

    async def _repeat(self, step: Step) -> None:
        await asyncio.sleep(self.chance.random() * 60)
        await self._append(step)

    async def _append(self, step: Step) -> None:
        """Append what a publisher has: by a worker's door, or past it, which alone leads to a foreign partition."""
        key = step.record.key or b""
        if isinstance(self.log, SimulatedExclusiveLog) and self.chance.random() < AT_ONCE and await self._decided(step):
            return
        is_sealed = key in self._sealed_for and step.record.partition == partition_of(key, PARTITIONS)
        await append_with_retry(self.door if is_sealed else self.log, [step.record])

    async def _decided(self, step: Step) -> bool:
        """Have a command decided at once; return False where it is not, or nobody says so: then it is published."""
        record = step.record
        if record.topic != INBOX.name or record.partition != partition_of(record.key or b"", PARTITIONS):
            return False
        item, holder = codec.decode_as(record.value, *INBOX_ITEMS), self.group.owners.get(record.partition)
        if holder is None or not holder.worker.is_alive or isinstance(item, Tick):
            return False
        worker = holder.worker
        asked = self.loop.create_task(worker.decide(item, record), context=worker.context)
        until = self.loop.time() + PATIENCE_SECONDS
        while not asked.done() and worker.is_alive and self.loop.time() < until:  # noqa: ASYNC110 - nobody tells of deaths
            await asyncio.sleep(0.05)
        if not asked.done():
            return False
        if (error := asked.exception()) is not None:
            if not isinstance(error, (LogUnavailable, NotHeld, ShardUnavailable)):
                raise error
            return False
        if (decided := asked.result()) is None:
            self.faults.happened["not decided at once"] += 1
            return False
        self.told.append((item.envelope.owner, decided))
        self.door.acknowledged.append((decided.appended.position, record))
        self.faults.happened["decided at once"] += 1
        return True

    async def _drained(self) -> None:
        await self.faults.heal()

        async def is_done() -> bool:
            return self.group.is_done()

        await self._until(is_done)

    async def _slots_passed(self) -> None:
        """Wait until the slots that the jump left behind are decided."""
        for partition in range(PARTITIONS):
            first = self.log.records[INBOX.name, partition][:1]
            slots = slots_between(first[0].recorded_at, self.clock.now(), TICK_EVERY) if first else []
            due = {decay_due(partition, "ladder", slot).envelope.event_id for slot in slots}
            await self._until(partial(self._are_closed, partition, due))

    async def _reminded(self) -> None:
        """Wait until every reminder that is due was raised."""
        await self._drained()
        expected = reminders_due(self.workload, self._after(await self.opened.read()))
        due = {reminder for reminder, due_at in expected.items() if due_at <= self.clock.now()}

        async def is_raised() -> bool:
            chains = counted(await self.opened.read())
            return due <= {wake.reminder_id for chain in chains.values() for wake in raised(chain)}

        await self._drained()
        await self._until(is_raised)

    async def _are_closed(self, partition: int, ticks: set[str]) -> bool:
        return ticks <= await self._closed(partition)

    async def _closed(self, partition: int) -> set[str]:
        """Return the ticks that are closed; each record of the ledger is read once."""
        ledger, known = self.log.records[LEDGER.name, partition], self._ticks[partition]
        for record in ledger[self._read[partition] :]:
            opened = await self.opened.log.open(record)
            if opened.is_erased:
                continue
            decision = codec.decode_as(opened.value, Decision)
            if decision.envelope.owner == partition_owner(partition):
                known.add(decision.item_id)
        self._read[partition] = len(ledger)
        return known

    async def _until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        while not await holds():
            await asyncio.sleep(0.5)
            if self.loop.failures:
                raise AssertionError(f"escaped: {self.loop.failures[0]!r}")


async def _catch_up(worker: SimulatedWorker) -> None:
    """Let a worker read what others had decided before it was given its partitions."""
    for shard in worker.shards.all():
        await shard.catch_up()
    await worker.index_sync.flush()


def _checkpoint_here(checkpoints: Checkpoints, how: str) -> bool:
    """Make a checkpoint at once: when a thread is done with one, for which others wait, is the machine's affair."""
    checkpoints._checkpoint(how, None)
    return True


def play(workload: Workload, parts: Parts = PRODUCTION, *, calm: bool = False) -> Played:
    """Play a workload and check it. Raises AssertionError."""
    memory = Path("/dev/shm")  # noqa: S108 - a file system in memory, where there is one
    resting = patch.object(Checkpoints, "_look_later", lambda _: None)  # it depends on a thread, and on nothing else
    checkpointing = patch.object(Checkpoints, "_start", _checkpoint_here)
    with (
        resting,
        checkpointing,
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="mnemolog-") as folder,
    ):
        run = _Run(workload, Path(folder), parts, calm=calm)
        try:
            states = run.loop.run(run.play())
            assert not run.loop.failures, f"escaped: {run.loop.failures[0]!r}"
            return Played(states, run.loop.trace.hexdigest(), run.loop.steps, run.faults.happened)
        finally:
            run.loop.close()


@lru_cache(maxsize=512)
def _calm(seed: int) -> list[UserState]:
    """Return what a seed's run without faults remembers: the same for production and all mutants."""
    return play(Workload.of_seed(seed).world_without(), calm=True).states


def check_seed(seed: int, parts: Parts = PRODUCTION) -> Played:
    """Play a seed with faults and, where the digests must agree, without. Raises SeedFailed."""
    workload = Workload.of_seed(seed)
    try:
        played = play(workload, parts)
        if workload.comparable:
            compare(played.states, _calm(seed), workload.apart)
    except Exception as error:  # whatever escapes is a failure of this seed
        raise SeedFailed(
            f"seed {seed}: {type(error).__name__}: {error}\nto see it again: {REPLAY.format(seed=seed)}"
        ) from error
    return played


def main() -> int:
    """Play the seeds asked for; print each that fails, and the sum."""
    parser = argparse.ArgumentParser(prog="simulation.run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed (default 0)")
    asked = parser.parse_args()
    began, failed, happened, traces = time.monotonic(), 0, Counter[str](), blake2b(digest_size=16)
    for seed in range(asked.first, asked.first + asked.seeds):
        try:
            played = check_seed(seed)
        except SeedFailed as error:
            failed += 1
            sys.stdout.write(f"{error}\n")
        else:
            happened += played.happened + Counter(steps=played.steps)
            traces.update(played.trace.encode())
    seconds = (time.monotonic() - began) / asked.seeds
    sys.stdout.write(f"trace {traces.hexdigest()}\n")
    sys.stdout.write(f"{asked.seeds} seeds, {failed} failed, {seconds:.2f} s each; {dict(happened)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
