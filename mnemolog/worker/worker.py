"""The one composition root: everything that a worker consists of, wired on one screen."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, nullcontext, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from mnemolog.cluster.membership import Membership
from mnemolog.cluster.peers import Peers
from mnemolog.cluster.shard_source import PeersShards
from mnemolog.commands.commands import Commands
from mnemolog.commands.recalls import Recalls
from mnemolog.log.configured import broker_url, close_log, create_topics, kafka_security, lock_directory, open_log
from mnemolog.log.health import LogWatch
from mnemolog.operations.generations import active_folder
from mnemolog.operations.rebuild import Rebuilder
from mnemolog.publishing.publisher import Publisher
from mnemolog.wakes.wakes import Wakes
from mnemolog.worker import components
from mnemolog.worker.background import among_others, unless_failed
from mnemolog.worker.greeting import Speaking
from mnemolog.worker.metrics import Metrics
from projections.partitions.receiver import ShardReceiver
from projections.partitions.shards import Shards
from projections.queries.queries import Queries
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.clock import SystemClock
from streams.agents.app import handled, is_in_session, make_app, member_id, owners, urls
from streams.agents.observe import Observe
from streams.agents.project import Project
from streams.agents.reencode import Reencoder
from streams.agents.remember import Remember
from streams.agents.retention import RetentionTask
from streams.delivery.keyed_pool import KeyedPool
from streams.delivery.priority import AppendPriority
from streams.delivery.retry import PatientReads, fold_patiently
from streams.extraction.model.extractor import ModelExtractor
from streams.extraction.request import ExtractionService
from streams.extraction.verbatim import VerbatimExtractor
from streams.extraction.window import WindowLimits
from streams.ticks.scheduler import TickScheduler
from streams.transports.directory_lock import DirectoryLock
from streams.transports.kafka.log import KafkaLog
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine
    from typing import Any

    from mnemolog.settings import Settings
    from projections.embedding.embedder import Embedder
    from schemas.clock import Clock
    from streams.extraction.protocol import Extractor

log = logging.getLogger("mnemolog")
WORKED_AT_ONCE = 256
"""Users worked for at the same time where no model is asked; their appends share an fsync."""
WINDOWS_AT_ONCE = 1024
"""Windows in work: being asked about, waiting for their next attempt, or being appended."""
GLOBALS_SECONDS = 0.5
"""How long a query waits for global memories that another worker has decided a moment ago."""


class Worker:
    """The whole system in one process: the log, the three agents, the folds, and what the front door calls."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        extractor: Extractor | None = None,
        embedder: Embedder | None = None,
        url: str | None = None,
    ) -> None:
        """Take settings, and the URL where it listens, if it does.

        A clock, an extractor or an embedder given here takes the place of the configured one.
        """
        self.settings = settings
        # A worker that nobody reaches has a name of its own even so: Faust knows workers by their URLs.
        self.url = settings.advertised_url or url or f"http://{uuid4()}.invalid"
        self.clock = clock or SystemClock()
        self.metrics = Metrics()
        self.log_watch = LogWatch()
        self.failure: asyncio.Future[None] | None = None
        self.started = False
        self.stopping = asyncio.Event()
        self._extractor = extractor
        self._embedder = embedder
        self._lock: DirectoryLock | None = None
        self._membership: Membership | None = None
        self._exits = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the log, make the topics, fold what is new, and start the agents."""
        settings = self.settings
        self.failure = asyncio.get_running_loop().create_future()
        if not settings.is_embedded:  # the embedded log locks the directory by itself
            self._lock = lock_directory(settings)
            self._exits.callback(self._lock.release)
        self.registry = components.make_registry(settings)
        self._exits.push_async_callback(self.registry.aclose)
        await self.registry.register_now()
        self.log = await self._open_log()
        self._exits.push_async_callback(close_log, self.log)
        await create_topics(self.log, self.settings)
        await self._come_back()
        self.embedder = self._embedder or self._made_embedder()
        self.extractor = self._extractor or components.make_extractor(settings, self.metrics)
        if isinstance(self.extractor, ModelExtractor):
            self._exits.push_async_callback(self.extractor.aclose)
        patient = PatientReads(self.log)
        folder, index = active_folder(settings.data_dir), components.index_maker(settings)
        self.shards = Shards(folder, patient, settings.partitions, index)
        self._exits.callback(self.shards.close)
        self._exits.push_async_callback(self.shards.following.close)
        asked_at_once = settings.llm_concurrency if settings.extracts_with == "model" else WORKED_AT_ONCE
        self.observe_pool = KeyedPool(WINDOWS_AT_ONCE, self.fail, partial(self.metrics.took, "extract"))
        self.remember_pool = KeyedPool(WORKED_AT_ONCE, self.fail, partial(self.metrics.took, "remember"))
        self.observe = Observe(
            log=patient,
            shards=self.shards,
            asking=ExtractionService(self.embedder, asyncio.Semaphore(asked_at_once), vision=settings.sight),
            extractor=self.extractor,
            verbatim=VerbatimExtractor(),
            pool=self.observe_pool,
            rewriting=Reencoder(patient, self.shards.partition, self.registry, self.fail, self.metrics.counted),
            limits=WindowLimits(rounds=settings.save_every_turns, idle=timedelta(seconds=settings.idle_seconds)),
            memorize=settings.memorize,
            counted=self.metrics.counted,
            extracted=self.metrics.extracted,
        )
        self.retaining = RetentionTask(self.log, self.shards, self.handled)
        self.remember = Remember(
            log=patient,
            shards=self.shards,
            pool=self.remember_pool,
            parameters=components.make_parameters(settings),
            counted=self.metrics.counted,
            ticked=self.metrics.ticked,
            remove=self.retaining.remove,
        )
        self.project = Project(shards=self.shards, counted=self.metrics.counted)
        precedence = AppendPriority()
        clockwork = partial(TickScheduler, log=self.log, shards=self.shards, handled=self.handled, clock=self.clock)
        self.clocks = components.make_clocks(settings, clockwork)
        first = precedence.first if settings.is_embedded else nullcontext
        self.publishing = Publisher(self.log, self.shards, self.observe, first)
        self.commands = Commands(self.log, self.shards, self.remember, self.embedder, self.clock)
        self.wakes = Wakes(self.log, self.shards, self.commands, self.clock, settings)
        self.queries = Queries(self.shards, self.embedder)
        self.speaking = Speaking.made(settings, self.metrics, self.queries, self._exits)
        self.recalls = Recalls(self.commands)
        self.rebuilding = Rebuilder(settings.data_dir, self.log, self.shards)
        self._app = make_app(
            name="mnemolog",
            broker=broker_url(settings),
            credentials=kafka_security(settings).credentials(),
            partitions=settings.partitions,
            folder=settings.data_dir / "faust",
            observe=self.observe,
            remember=self.remember,
            project=self.project,
            moved=self,
            url=self.url,
            session_seconds=settings.session_seconds,
            failed=self.fail,
            took=self._took,
            give_way=precedence.give_way,
        )
        self.peers = Peers(self.shards, partial(owners, self._app), partial(urls, self._app), self.url)
        self._exits.push_async_callback(self.peers.aclose)
        self.shards.taking = None if settings.is_embedded else ShardReceiver(patient, PeersShards(self.peers))
        self._exits.push_async_callback(self._stop_agents)
        await self._join()
        await unless_failed(self.failure, self.shards.settled())
        for work in (
            self.project.tell_index,
            self.project.look_after_index,
            self.observe.close_idle,
            self.recalls.run,
            self.registry.register_later,
            self.retaining.run,
            self.wakes.run,
            *(ticking.run for ticking in self.clocks),
            *among_others(self),
        ):
            self._background(work)
        self.started = True

    async def _come_back(self) -> None:
        """Tell the group as early as possible who is dead: it settles while this worker starts."""
        if isinstance(self.log, KafkaLog):
            self._membership = Membership(self.settings, self.log, self.url)
            await self._membership.come_back()

    async def _join(self) -> None:
        """Start the agents, on Kafka as a member of the group."""
        await self._app.start()
        if self._membership is not None:
            told = (partial(member_id, self._app), lambda: self.shards.assigned, partial(owners, self._app))
            self._background(partial(self._membership.watch, *told))

    # -- what the group says

    def assigned(self, partitions: Collection[int]) -> None:
        """Hold these partitions as soon as their shards are folded, and no others."""
        self.shards.assign(partitions)
        self._background(partial(fold_patiently, self.shards.follow_globals))
        for partition in partitions:
            holding = partial(self.shards.hold, partition, self.shards.term(partition))
            self._background(partial(fold_patiently, holding))

    def revoked(self, partitions: Collection[int]) -> None:
        """Answer no more about the users of these partitions, until they are assigned again."""
        for partition in partitions:
            self.shards.release(partition)
        self.shards.unassign()

    def is_in_session(self) -> bool:
        """Tell whether no other worker can have been given this one's partitions, and decided there."""
        return is_in_session(self._app)

    async def follow_globals(self) -> None:
        """Fold what another worker may have decided for everyone; go on with what is folded when the log is away."""
        if not self.settings.is_embedded:
            with suppress(TimeoutError, ShardUnavailable):
                await asyncio.wait_for(self.shards.follow_globals(), GLOBALS_SECONDS)

    async def _open_log(self) -> SqliteLog | KafkaLog:
        """Open the log; a test may put something between it and the worker."""
        return await open_log(self.settings, self.clock.now)

    def _made_embedder(self) -> Embedder:
        """Make the configured embedder, which stop closes; one that was given is its giver's to close."""
        embedder = components.make_embedder(self.settings)
        self._exits.push_async_callback(embedder.close)
        return embedder

    def write_note(self, note: dict[str, object]) -> None:
        """Tell the commands on this machine who holds the data directory, and where it listens."""
        holder = self._lock or self.log
        if isinstance(holder, DirectoryLock | SqliteLog):
            holder.write_note(note)

    def handled(self, topic: str, partition: int) -> int:
        """Return the offset before which everything of a topic's partition is done."""
        return handled(self._app, topic, partition)

    async def stop(self) -> None:
        """Stop the agents and close everything, the newest first; safe to call at any point of starting."""
        self.started = False
        self.stopping.set()
        await self._exits.aclose()

    async def _stop_agents(self) -> None:
        """Flush what was recalled, then read and decide no more."""
        await self.recalls.flush_last()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._app.stop()
        await self.rebuilding.close()
        for partition in self.shards.held():
            self.observe.revoke(partition)
            self.remember.revoke(partition)

    def _took(self, step: str, seconds: float) -> None:
        """Keep how long a record took; remember only queues it, and its pool knows how long deciding takes."""
        if step != "remember":
            self.metrics.took(step, seconds)

    def _background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - the boundary of a background step
                self.fail(error)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def fail(self, error: BaseException) -> None:
        """End the worker with the first error that no step could handle: the log has everything for the next start."""
        trace = None if isinstance(error, ShardDamaged) else error  # that one says everything itself
        log.error("the worker stops: %s: %s", type(error).__name__, error, exc_info=trace)
        if self.failure is not None and not self.failure.done():
            self.failure.set_exception(error)
