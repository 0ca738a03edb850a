"""A worker as production composes it, fed by the simulated group in the place of Faust."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from simulation.clocks import look_back
from simulation.erasures import MASTERS
from simulation.exclusive_log import SimulatedExclusiveLog
from simulation.simulated_group import AGENTS
from simulation.uncommitted import let_commits_fail
from simulation.virtual_loop import WORKER
from support.master_key import MASTER_KEY

from mnemolog.clock.trusted_clock import TrustedClock
from mnemolog.commands.commands import Commands
from mnemolog.extensions.webhooks.part import erase_webhooks
from mnemolog.extensions.webhooks.registered import Webhooks
from mnemolog.log.sealing import Sealing
from mnemolog.log.word_ids import WordIds
from mnemolog.operations.erasing.erasure import ErasureParts, NothingKnown
from mnemolog.operations.erasing.memory_erasures import MemoryErasures
from mnemolog.operations.erasing.receipts import ErasureList
from mnemolog.operations.erasing.recovery import ErasureRecovery
from mnemolog.operations.erasing.user_erasures import UserErasures
from mnemolog.settings import from_environment
from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.assignment import NotHeld
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.shards import Shards
from schemas.log import LogUnavailable
from streams.agents.extraction_queue import ExtractionQueue, decide_none
from streams.agents.immediate_decisions import ImmediateDecisions
from streams.agents.observe import Observe
from streams.agents.project import Project
from streams.agents.reencode import Reencoder
from streams.agents.remember import Remember
from streams.decisions.parameters import Parameters
from streams.delivery.delivery import Delivery
from streams.delivery.keyed_pool import KeyedPool
from streams.delivery.retry import fold_with_retry, retry
from streams.extraction.request import ExtractionService
from streams.extraction.verbatim import VerbatimExtractor
from streams.extraction.window import WindowLimits
from streams.registry.protocol import NoRegistry
from streams.sealing.key_ring import INSTALLATION
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import LEASE_SECONDS, UserKeys
from streams.ticks.scheduler import TickScheduler, decay_due
from streams.ticks.wake_scheduler import WakeScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path
    from random import Random

    from simulation.clocks import MachineClock
    from simulation.scripted_extractor import HashEmbedder, Model
    from simulation.simulated_group import SimulatedGroup
    from simulation.simulated_log import SimulatedLog
    from simulation.virtual_loop import VirtualLoop

    from mnemolog.cluster.peers import WorkerAnswer
    from projections.partitions.assignment import Lease
    from schemas.identity import Owner
    from schemas.instant import Clock
    from schemas.log import NewRecord, Record
    from schemas.messages.inbox import UserItem
from streams.agents.immediate_decisions import Decided

ROUNDS = 3
FOLLOW_SECONDS = 1.0
IDLE_SECONDS = 30.0
TICK_EVERY = timedelta(hours=24)
WAKE_LOOK_SECONDS = 3.0
PATIENCE_SECONDS = 2.0
"""So long a command waits to be decided at once: everything takes longer here than in production."""
KNOWN = 0.9
"""How many settled records are known to be when they come to be delivered, 0 to 1: the others were read from a file."""


@dataclass(slots=True)
class Books:
    """What one generation of one topic partition was given, and what of it is done."""

    generation: int
    following: int
    committed: int
    given: deque[int] = field(default_factory=deque)
    done: set[int] = field(default_factory=set)
    again: list[Record] = field(default_factory=list)

    def reached(self) -> int:
        """Return the offset before which everything that this generation was given is done."""
        while self.given and self.given[0] in self.done:
            self.done.discard(self.given.popleft())
        return self.given[0] if self.given else self.following


@dataclass(frozen=True, slots=True)
class Parts:
    """The classes that a worker is made of; a mutant replaces one of them."""

    observe: type[Observe] = Observe
    remember: type[Remember] = Remember
    shards: type[Shards] = Shards
    books: type[Books] = Books
    replacements: type[Replacements] = Replacements
    keys: type[UserKeys] = UserKeys
    immediate: type[ImmediateDecisions] = ImmediateDecisions
    clock: type[TrustedClock] = TrustedClock
    guarded: bool = True


@dataclass(frozen=True, slots=True)
class World:
    """What all workers share."""

    loop: VirtualLoop
    log: SimulatedLog
    group: SimulatedGroup
    model: Model
    embedder: HashEmbedder
    clock: Clock
    """The right time."""
    machine: Callable[[str], MachineClock]
    """Returns the clock of the machine where a worker of that name runs."""
    chance: Random
    parts: Parts
    twice: float
    """How many records are delivered again out of turn, 0 to 1."""
    sealed: bool
    """Whether workers seal what they append."""
    commit_fails: Callable[[], bool]
    """Whether a commit of a shard's file that is about to be made fails."""
    note: Callable[[str], None]
    """Counts what has happened."""


class SimulatedWorker:
    """One process: from its start until it stops, crashes, or fails."""

    def __init__(self, name: str, folder: Path, world: World, stopped: Callable[[SimulatedWorker], None]) -> None:
        """Take a name that no other process of the run has; `stopped` is told when it ends by itself."""
        self.name = name
        self.folder = folder
        self.is_alive = True
        self.is_frozen = False
        self.mailbox: deque[Callable[[], None]] = deque()
        """What the group has said and the worker has not heard."""
        self.context = copy_context()
        self.context.run(WORKER.set, name)
        self._world = world
        self._stopped = stopped
        self._books: dict[tuple[str, int], Books] = {}
        self._more = {agent: asyncio.Event() for agent in AGENTS}
        self._is_open = asyncio.Event()
        let_commits_fail(name, world.commit_fails)
        self.context.run(self._compose)

    def _compose(self) -> None:
        world = self._world
        machine = world.machine(self.name)
        self.clock = world.parts.clock(machine, machine.steady)
        look_back(self.clock, world.log)
        self.keys = world.parts.keys(world.log, MASTERS, lease_seconds=LEASE_SECONDS)
        replacements = world.parts.replacements(world.log, self.keys)
        self.log = log = SealedLog(world.log, self.keys, seals=world.sealed, replacements=replacements)
        self.shards = world.parts.shards(self.folder, log, world.group.partitions)
        self.index_sync = IndexSync(EmbeddedIndex, ShardIndexSource(self.shards))
        self.shards.subscribe(self.index_sync)
        is_alone = isinstance(world.log, SimulatedExclusiveLog)
        if isinstance(world.log, SimulatedExclusiveLog):
            world.log.date_by(self.clock)
        self.extractions = ExtractionQueue(
            log=log,
            shards=self.shards,
            service=ExtractionService(world.embedder),
            extractor=world.model,
            verbatim=VerbatimExtractor(),
            pool=KeyedPool(4, self._fail),
            decide=self._decide_answer if is_alone else decide_none,
        )
        self.observe = world.parts.observe(
            log=log,
            shards=self.shards,
            extractions=self.extractions,
            reencoder=Reencoder(log, self.shards.partition, NoRegistry(), self._fail),
            limits=WindowLimits(rounds=ROUNDS, idle=timedelta(seconds=IDLE_SECONDS)),
        )
        pool = KeyedPool(8, self._fail)
        self.remember = world.parts.remember(
            log=log,
            shards=self.shards,
            index_sync=self.index_sync,
            pool=pool,
            is_only_writer=is_alone,
            parameters=Parameters(),
            destroy=self.keys.destroy,
            resume=self.observe.resumption.later,
            erased=lambda owner: self._recovery.complete_later(owner),  # noqa: PLW0108 - it is built later
        )
        self.immediate = (
            world.parts.immediate(
                log=log,
                remember=self.remember,
                shards=self.shards,
                index_sync=self.index_sync,
                pool=pool,
                failed=self._fail,
                patience_seconds=PATIENCE_SECONDS,
            )
            if is_alone
            else None
        )
        self.project = Project(shards=self.shards, index_sync=self.index_sync)
        tick_scheduler = TickScheduler(
            log=log,
            shards=self.shards,
            handled=self.handled,
            clock=self.clock,
            is_doubted=self.clock.is_doubted,
            make=lambda partition, slot: decay_due(partition, "ladder", slot),
            every=TICK_EVERY,
        )
        wake_scheduler = WakeScheduler(
            log=log,
            shards=self.shards,
            clock=self.clock,
            is_doubted=self.clock.is_doubted,
            every_seconds=WAKE_LOOK_SECONDS,
        )
        self._start(partial(self._run, tick_scheduler, wake_scheduler))

    async def decide(self, item: UserItem, record: NewRecord) -> Decided | None:
        """Decide a command at once, as a worker does that is alone; None where it is to be published."""
        assert self.immediate is not None
        await self._is_open.wait()
        owner = item.envelope.owner
        self.shards.require(owner)
        await self.shards.load(owner)
        return await self.immediate.decide(item, record)

    async def _decide_answer(self, item: UserItem, record: NewRecord, holds: Callable[[], bool]) -> Decided | None:
        """Decide a model's answer to a window at once, where that can be done."""
        assert self.immediate is not None
        decided = await self.immediate.decide(item, record, holds)
        self._world.note("answers decided at once" if decided else "answers not decided at once")
        return decided

    async def erase(self, owner: Owner, command_id: str) -> None:
        """Erase a user, as `DELETE /v1/users/{user}` does. Raises what that answers."""
        await self._is_open.wait()
        try:
            await self._user_erasures.erase(owner, command_id)
        except NothingKnown:  # nothing of the user has come yet, and what comes belongs to a new one
            await self._user_erasures.erase(owner, command_id, force=True)

    async def erase_memory(self, owner: Owner, memory_id: str, command_id: str) -> None:
        """Erase a memory, as `DELETE /v1/memories/{memory_id}?forever=true` does. Raises what that answers."""
        await self._is_open.wait()
        await self._memory_erasures.erase(owner, memory_id, command_id)

    async def _keep_followed(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            with suppress(LogUnavailable):
                await self.keys.follow()

    async def _open_keys(self) -> None:
        """Read the keys and make the installation's, as a worker does before it takes any partition."""
        await retry(self.keys.follow, LogUnavailable)
        await retry(partial(self.keys.make, [INSTALLATION]), LogUnavailable)
        world, commands = (
            self._world,
            Commands(
                self.log,
                self.shards,
                self.remember,
                self._world.embedder,
                self.clock,
                immediate=self.immediate,
            ),
        )
        environment = {"MNEMOLOG_BROKER": "kafka://localhost:9092", "MNEMOLOG_MASTER_KEY": MASTER_KEY}
        parts = ErasureParts(
            settings=from_environment(environment, data_dir=self.folder),
            inner=world.log,
            sealing=Sealing(self.log, self.keys, WordIds(self.keys)),
            shards=self.shards,
            gate=self.extractions.gate,
            commands=commands,
            index_sync=self.index_sync,
            clock=self.clock,
            erase_from_built=_nothing_is_built,
        )
        self._user_erasures = UserErasures(parts, [partial(erase_webhooks, Webhooks(self.log, world.log), world.log)])
        self._memory_erasures = MemoryErasures(parts)
        listed = ErasureList(parts.receipts, _nobody)
        self._recovery = ErasureRecovery(parts, self._user_erasures, self._memory_erasures, listed)
        self._start(self._recovery.run)
        self._start(self._keep_followed)

    async def _run(self, tick_scheduler: TickScheduler, wake_scheduler: WakeScheduler) -> None:
        if self._world.sealed:
            await self._open_keys()
        self._is_open.set()
        self._start(partial(self._consume, "observe", self.observe))
        self._start(partial(self._consume, "remember", self.remember))
        self._start(partial(self._consume, "project", self.project))
        self._start(self.observe.keep_current)
        self._start(tick_scheduler.run)
        self._start(wake_scheduler.run)
        self._start(self._commit)

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - as production does: the process ends with the first failure
                self._fail(error)

        self._world.loop.create_task(run(), context=self.context)

    def _fail(self, error: BaseException) -> None:
        """End the process; a log that is away is no fault of ours, anything else is."""
        if not isinstance(error, LogUnavailable):
            self._world.loop.failures.append(error)
        self._stopped(self)

    def handled(self, topic: str, partition: int) -> int:
        """Return the offset before which everything of a topic's partition is done, as far as this worker knows."""
        books = self._books.get((topic, partition))
        return books.reached() if books is not None else 0

    # -- the group's word

    def assigned(self, generation: int, partition: int, offsets: dict[tuple[str, int], int]) -> None:
        """Take a partition: read each of its topics from the committed offset."""
        for place, offset in offsets.items():
            assert place[1] == partition
            self._books[place] = self._world.parts.books(generation, offset, offset)
        self._start(partial(self._hold, partition, self.shards.assignment.lease(partition)))
        self.look()

    async def _hold(self, partition: int, lease: Lease) -> None:
        await self._is_open.wait()
        await fold_with_retry(lambda: self.shards.takeover.hold(partition, lease))

    def revoked(self, partition: int, released: asyncio.Future[None]) -> None:
        """Let go of a partition, as production does when Faust says so."""
        for place in [place for place in self._books if place[1] == partition]:
            del self._books[place]
        self.observe.revoke(partition)
        self.remember.revoke(partition)
        self.shards.assignment.release(partition)
        if not released.done():
            released.set_result(None)

    def hear(self) -> None:
        """Take in the oldest word of the group that was not heard yet."""
        self.mailbox.popleft()()

    def look(self) -> None:
        """Hear that the log has more."""
        for event in self._more.values():
            event.set()

    # -- what Faust does

    async def _consume(self, agent: str, handler: Observe | Remember | Project) -> None:
        chance, records = self._world.chance, self._world.log.records
        while True:
            places = [
                place
                for place, books in self._books.items()
                if place[0] in AGENTS[agent] and (books.following < len(records[place]) or books.again)
            ]
            if not places:
                self._more[agent].clear()
                await self._more[agent].wait()
                continue
            place = chance.choice(places)
            delivery, books = self._next(place), self._books[place]
            if self._is_settled(delivery.record):
                delivery.ack()
                continue
            if chance.random() < 0.3:  # in a buffer
                await asyncio.sleep(chance.random() * 0.2)
            if self._world.sealed:
                opened = await retry(partial(self.log.open, delivery.record), LogUnavailable)
                delivery = replace(delivery, record=opened)
            if self._books.get(place) is not books:
                continue  # buffers are emptied when the partition moves
            if delivery.record.is_erased:
                delivery.ack()
                continue
            with suppress(NotHeld):  # taken away: whoever has it now gets the record again
                await handler.handle(delivery)

    def _is_settled(self, record: Record) -> bool:
        """Return whether the consumer passes over a record; it knows of those that its process appended lately."""
        log = self._world.log
        if not isinstance(log, SimulatedExclusiveLog) or not log.is_settled(record.position):
            return False
        return self._world.chance.random() < KNOWN

    def _next(self, place: tuple[str, int]) -> Delivery:
        books, chance = self._books[place], self._world.chance
        if books.again and chance.random() < 0.5:
            record = books.again.pop()
        elif books.following < len(self._world.log.records[place]):
            record = self._world.log.records[place][books.following]
            books.given.append(books.following)
            books.following += 1
            if chance.random() < self._world.twice:
                books.again.append(record)
        else:
            record = books.again.pop()
        return Delivery(record, lambda: self._ack(place, books, record.position.offset))

    def _ack(self, place: tuple[str, int], books: Books, offset: int) -> None:
        if self._books.get(place) is books and books.given and offset >= books.given[0]:
            books.done.add(offset)

    async def _commit(self) -> None:
        while True:
            await asyncio.sleep(0.2 + self._world.chance.random())
            for (topic, partition), books in list(self._books.items()):
                offset = books.reached()
                if offset > books.committed:
                    books.committed = offset
                    self._world.group.commit(self, books.generation, topic, partition, offset)


async def _nothing_is_built(_: Owner) -> None:
    """No worker here rebuilds into files of its own."""


async def _nobody(_operation: str, _request: object, _seconds: float | None) -> list[WorkerAnswer]:
    """Answer as a worker that is alone: each keeps its own list of erasures."""
    return []
