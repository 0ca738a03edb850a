"""The composition root: every part of a worker, built in one order, with its background tasks started from one list."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack, nullcontext, suppress
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import uuid4

from mnemolog.access.usage import Usage
from mnemolog.backup.last_backup import BackupAge
from mnemolog.changes.feed import ChangeFeed
from mnemolog.changes.stream import ChangeStreams
from mnemolog.clock.trusted_clock import TrustedClock
from mnemolog.cluster.dead_peers import DeadPeers
from mnemolog.cluster.membership import Membership
from mnemolog.cluster.peers import Peers
from mnemolog.cluster.scatter_gather import ScatterGather
from mnemolog.cluster.shard_source import PeerShardSource
from mnemolog.cluster.tenant_memories import TenantMemories
from mnemolog.commands.commands import Commands
from mnemolog.commands.recalls import Recalls
from mnemolog.commands.sharing import Sharer
from mnemolog.commands.similar import SimilarMemories
from mnemolog.commands.wakes import WakeCommands
from mnemolog.hooks import Collaborators, extensions
from mnemolog.imports.importer import Importer
from mnemolog.imports.memories import MemoryImporter
from mnemolog.imports.wakes import WakeImporter
from mnemolog.log.connection import broker_url, close_log, create_topics, kafka_security, lock_directory, open_log
from mnemolog.log.deadline import RequestDeadlines, suspend_deadline
from mnemolog.log.health import LogWatch
from mnemolog.log.private_files import close_files, create_privately
from mnemolog.log.sealing import KeyedLog, seal_log
from mnemolog.operations.clocks import Clocks, look_back
from mnemolog.operations.dead_letters import DeadLetters
from mnemolog.operations.digests import Digests
from mnemolog.operations.drain import Drain
from mnemolog.operations.encryption import MasterKeyRotation
from mnemolog.operations.erasing.erasure import ErasureParts
from mnemolog.operations.erasing.memory_erasures import MemoryErasures
from mnemolog.operations.erasing.receipts import ErasureList
from mnemolog.operations.erasing.recovery import ErasureRecovery
from mnemolog.operations.erasing.user_erasures import UserErasures
from mnemolog.operations.generations import Generations, active_folder
from mnemolog.operations.integrity.data_folder import check_folder, mark_shards
from mnemolog.operations.integrity.kept_heads import HeadKeeper, place_of
from mnemolog.operations.model_usage import ModelUsages, TokenBudgets
from mnemolog.operations.rebuild import Rebuilder
from mnemolog.operations.rebuild_coordinator import RebuildCoordinator
from mnemolog.operations.reembed_coordinator import ReembedCoordinator
from mnemolog.operations.reembedding import Reembedder
from mnemolog.operations.reextraction import Reextraction
from mnemolog.operations.ticks import Ticks
from mnemolog.operations.vector_spaces import VectorSpaces
from mnemolog.publishing.publisher import Publisher
from mnemolog.publishing.router import PublishRouter
from mnemolog.publishing.states import EventStates
from mnemolog.receivers import Receivers
from mnemolog.tls import client_context
from mnemolog.wakes.settings import WakeSettings
from mnemolog.wakes.stream import WakeStreams
from mnemolog.worker import components
from mnemolog.worker.background import (
    BackgroundTasks,
    GroupMaintenance,
    delete_idle_files,
    keep_compacted,
    keep_followed,
    load_rules,
    measure_lag,
    wait_unless_failed,
)
from mnemolog.worker.clock_gauges import ClockGauges
from mnemolog.worker.entity_reader import EntityReader
from mnemolog.worker.extractors import make_extractors
from mnemolog.worker.gauges import Gauges
from mnemolog.worker.greeting import Greeting
from mnemolog.worker.group import Group
from mnemolog.worker.lag import Lags
from mnemolog.worker.metrics import Metrics
from projections.embedding.embedder import EmbedderUnavailable
from projections.embedding.serving import ServingEmbedder, load
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.receiver import ShardReceiver
from projections.partitions.shards import Shards
from projections.queries.queries import Queries
from projections.shard.errors import ShardUnavailable, damage_reported
from projections.shard.rows.damage import LedgerDamaged
from schemas.disclosure import describe
from schemas.redaction import actions_of
from streams.agents.app import is_in_session, leave_group, make_app, member_id, owners, urls
from streams.agents.extraction_queue import ExtractionQueue, decide_none, decided_at_once
from streams.agents.immediate_decisions import ImmediateDecisions
from streams.agents.observe import Observe
from streams.agents.project import Project
from streams.agents.reencode import Reencoder
from streams.agents.remember import Remember
from streams.agents.retention import RetentionTask
from streams.delivery.fair_slots import FairSlots
from streams.delivery.keyed_pool import KeyedPool
from streams.delivery.priority import AppendPriority
from streams.delivery.retry import RetryingReads
from streams.extraction.known import KnownMemories
from streams.extraction.own_words.fact_reader import FactReader
from streams.extraction.request import ExtractionService, know_nothing
from streams.extraction.verbatim import VerbatimExtractor
from streams.extraction.window import WindowLimits
from streams.policies.in_force import Policies
from streams.policies.redactions import Redactions
from streams.ticks.scheduler import TickScheduler
from streams.ticks.wake_scheduler import WakeScheduler
from streams.transports.kafka.log import KafkaLog
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mnemolog.settings import Settings
    from projections.embedding.embedder import Embedder
    from schemas.instant import Clock
    from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
    from streams.extraction.protocol import Extractor, Window
    from streams.transports.directory_lock import DirectoryLock

log = logging.getLogger("mnemolog")
WORKED_AT_ONCE = 256
"""The most users whose work runs at the same time if no model is asked; their appends share an fsync."""
WINDOWS_AT_ONCE = 1024
"""The most windows in progress: at the model, waiting for a retry, or being appended."""
ANSWERS_SECONDS = 1.5
"""How long a stopping worker still answers accepted requests if it cannot leave the group first."""
LOAD_SECONDS = 60.0
"""How long a start waits for the encoder; without it, everything but searches and new memories works."""
GLOBALS_SECONDS = 0.5
"""How long a query waits for global memories that another worker has just decided."""


class Worker:
    """One process of the system: the log, the three agents, the folds, and the parts that HTTP routes call.

    It wires the parts, starts them and stops them, and has no logic of its own: each part gets its collaborators here,
    in the order in which `start` builds them. No part refers to it. Only programs that start a worker do, and HTTP's
    dependencies, through which routes reach the parts.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        extractor: Extractor | None = None,
        embedder: Embedder | None = None,
        url: str | None = None,
    ) -> None:
        """Take the settings, and the URL at which the worker listens, if it does.

        A clock, an extractor or an embedder passed here replaces the configured one. The caller closes its own
        embedder.
        """
        self.settings = settings
        # A worker that does not listen also needs a unique URL, because Faust identifies workers by their URLs.
        self.url = settings.url_for_workers or url or f"http://{uuid4()}.invalid"
        self.clock = TrustedClock.of(clock)
        self.trust = components.make_trust(settings, self.clock.seconds_of_peers)
        self.metrics = Metrics()
        self.deadlines = RequestDeadlines()
        self.log_watch = LogWatch(self.deadlines)
        self.failure: asyncio.Future[None] | None = None
        self.started = False
        self.hindrances: Mapping[int, str] = {}
        """The reasons why assigned partitions cannot be held now, by partition; GLOBALS stands for the global
        memories."""
        self.stopping = asyncio.Event()
        self._stopping_since: float | None = None
        self._extractor = extractor
        self._embedder = embedder
        self._lock: DirectoryLock | None = None
        self._membership: Membership | None = None
        self._exits = AsyncExitStack()
        self._tasks = BackgroundTasks(self.fail)

    async def start(self) -> None:
        """Start everything; the worker answers when this returns. Raises the first failure of any part.

        A shard that cannot be opened or written affects only the users of its partition, who are not answered.
        """
        self.failure = asyncio.get_running_loop().create_future()
        await self._open()
        self._build_projections()
        loading = asyncio.create_task(self._load_encoder())
        self._exits.callback(loading.cancel)
        self._build_agents()
        self._build_group()
        self._build_publishing()
        self._build_services()
        self._build_operations()
        self._exits.push_async_callback(self._stop_agents)
        await self.head_keeper.look_back()
        await loading  # before other workers hand over their partitions
        await self._join_group()
        await wait_unless_failed(self.failure, self.shards.assignment.wait_until_answered())
        # On Kafka, partitions can arrive later: `ErasureRecovery.run` covers them.
        await wait_unless_failed(self.failure, self.erasure_recovery.repeat_before_start())
        self._start_background()
        for partition in self.hindrances:
            log.warning("users of partition %d are not answered until what it waits for is mended", partition)
        self.started = True

    async def stop(self) -> None:
        """Stop the agents and close everything in reverse order. Safe to call at any point of a start."""
        self.started = False
        self.stopping.set()
        await self._exits.aclose()

    def fail(self, error: BaseException) -> None:
        """End the worker with the first error that no step could handle: the log has everything for the next start."""
        trace = None if isinstance(error, LedgerDamaged) else error  # it says everything itself
        log.error("the worker stops: %s", describe(error), exc_info=trace)
        if self.failure is not None and not self.failure.done():
            self.failure.set_exception(error)

    # -- start-up, in its order

    async def _open(self) -> None:
        """Lock the directory, register the schemas, open the log, create the topics, and rejoin the group."""
        create_privately()
        await check_folder(self.settings)
        if not self.settings.is_embedded:  # the embedded log locks the directory by itself
            self._lock = lock_directory(self.settings)
            self._exits.callback(self._lock.release)
        self.registry = components.make_registry(self.settings)
        self._exits.push_async_callback(self.registry.aclose)
        await self.registry.register_now()
        inner = self._inner_log = await self._open_log()
        self._exits.push_async_callback(close_log, inner)
        close_files(self.settings.data_dir.resolve())
        await create_topics(inner, self.settings)
        await look_back(self.clock, inner, self.settings)
        mark_shards(self.settings, inner)
        self.sealing = await seal_log(self.settings, inner, self.metrics.unopened)
        self.keyed_log = KeyedLog(inner, self.sealing.keys)
        self.log = self.sealing.log
        self._retrying_log = RetryingReads(self.log)
        self.policies = Policies(self._retrying_log)
        await self.policies.follow()
        self.receivers = Receivers(self.settings.private_receivers, tls=client_context(None))
        self._exits.push_async_callback(self.receivers.aclose)
        self.redactions = Redactions(self.policies, actions_of(self.settings.redaction or ""), self.metrics.redacted)
        if isinstance(inner, KafkaLog):
            # As early as possible, so that the group settles while this worker starts.
            self._membership = Membership(self.settings, inner, self.url)
            await self._membership.release_former_process()

    async def _open_log(self) -> SqliteLog | KafkaLog:
        """Open the configured log; a subclass may wrap it."""
        return await open_log(self.settings, self.clock.now)

    def _build_projections(self) -> None:
        """Build the parts that store and find memories."""
        settings = self.settings
        if self._embedder is None:
            embedder = components.make_embedder(settings)
            self._exits.push_async_callback(embedder.close)
            self.embedder = ServingEmbedder(embedder)
        else:
            self.embedder = ServingEmbedder(self._embedder)
        self._extractors = make_extractors(
            settings,
            self.metrics,
            self.embedder,
            self._exits,
            known=lambda window: self._known.of(window),  # noqa: PLW0108 - it is built later
            extractor=self._extractor,
            is_judged=self._embedder is None,
        )
        self.shards = Shards(active_folder(settings.data_dir), self._retrying_log, settings.partitions)
        if isinstance(self._inner_log, SqliteLog):
            self.shards.takeover.comparison.kept_head = self._inner_log.kept_head
        self.hindrances = self.shards.assignment.hindrances
        self.index_sync = IndexSync(components.index_maker(settings), ShardIndexSource(self.shards))
        self.shards.subscribe(self.index_sync)
        self._exits.callback(self.shards.close)
        self._exits.push_async_callback(self.index_sync.close)
        self.entity_reader = EntityReader()
        self.vector_spaces = VectorSpaces(self.shards, self.embedder)
        self.reembedder = Reembedder(
            folder=settings.data_dir / "encodings",
            configured=settings.embedding_model,
            make=partial(components.make_encoder, settings),
            serving=self.embedder,
            shards=self.shards,
            index_sync=self.index_sync,
        )
        self._exits.push_async_callback(self.reembedder.close)
        self.reembedder.open()
        self.queries = Queries(
            self.shards,
            self.index_sync,
            self.embedder,
            makes_turn_vectors=settings.makes_turn_vectors,
            zone=settings.zone,
        )
        self._exits.push_async_callback(self.queries.close)

    async def _load_encoder(self) -> None:
        """Load this machine's encoder for the first search, which reports the error if loading fails."""
        with suppress(TimeoutError, EmbedderUnavailable):
            await asyncio.wait_for(load(self.embedder), LOAD_SECONDS)

    def _build_agents(self) -> None:
        """Build the three agents, their pools, and the schedulers of ticks."""
        settings, metrics = self.settings, self.metrics
        self.usage = Usage(settings.data_dir / "usage.json", self.clock)
        self._exits.callback(self.usage.save)
        asked_at_once = settings.llm_concurrency if settings.extracts_with == "model" else WORKED_AT_ONCE
        self.observe_pool = KeyedPool(
            WINDOWS_AT_ONCE, self.fail, partial(metrics.took, "extract"), attrgetter("tenant")
        )
        self.remember_pool = KeyedPool(
            WORKED_AT_ONCE, self.fail, partial(metrics.took, "remember"), attrgetter("tenant")
        )
        self._known = known = KnownMemories(
            self.shards,
            self.index_sync,
            self.embedder,
            visibility=lambda held, agent_id: self.contexts.visibility(held, agent_id),  # noqa: PLW0108 - as above
            tokens=settings.known_tokens,
        )
        self.extractions = ExtractionQueue(
            log=self._retrying_log,
            shards=self.shards,
            service=ExtractionService(
                self.embedder,
                FairSlots(asked_at_once),
                vision=settings.vision,
                policy_of=self.policies.of,
                redaction_of=self.redactions.of,
                known_of=known.of if settings.known_tokens else know_nothing,
                within_budget=lambda window: self.token_budgets.allow(window),  # noqa: PLW0108 - they are built later
                judge=self._extractors.judge,
                rules=self._extractors.rules,
            ),
            extractor=self._extractors.main,
            verbatim=VerbatimExtractor(),
            pool=self.observe_pool,
            zone=settings.zone,
            counted=metrics.counted,
            extracted=self._count_extracted,
            decide=(lambda *asked: self.immediate.decide(*asked))  # noqa: PLW0108 - it is built later
            if settings.is_embedded
            else decide_none,
            decided=(lambda *asked: self.remember.decided(*asked))  # noqa: PLW0108 - as `decide`
            if settings.known_tokens
            else decided_at_once,
        )
        self.observe = Observe(
            log=self._retrying_log,
            shards=self.shards,
            extractions=self.extractions,
            reencoder=Reencoder(self._retrying_log, self.shards.partition, self.registry, self.fail, metrics.counted),
            limits=WindowLimits(rounds=settings.save_every_turns, idle=timedelta(seconds=settings.idle_seconds)),
            memorizes=settings.memorize,
        )

        def handled(topic: str, partition: int) -> int:  # the group is built later
            return self.group.handled(topic, partition)

        self.retention = RetentionTask(self.log, self.shards, handled)
        self.remember = Remember(
            log=self._retrying_log,
            shards=self.shards,
            index_sync=self.index_sync,
            pool=self.remember_pool,
            parameters=components.make_parameters(settings),
            counted=metrics.counted,
            ticked=metrics.ticked,
            remove=self.retention.remove,
            destroy=self.sealing.keys.destroy,
            is_only_writer=settings.is_embedded,  # its directory is locked
            resume=self.observe.resumption.later,
            erased=lambda owner: self.erasure_recovery.complete_later(owner),  # noqa: PLW0108 - it is built later
        )
        # Used with the embedded log only: its directory is locked, so that this worker is the only writer.
        self.immediate = ImmediateDecisions(
            log=self.log,
            remember=self.remember,
            shards=self.shards,
            index_sync=self.index_sync,
            pool=self.remember_pool,
            failed=self.fail,
            counted=metrics.counted,
        )
        self.project = Project(shards=self.shards, index_sync=self.index_sync, counted=metrics.counted)
        self._priority = AppendPriority()
        scheduler = partial(
            TickScheduler,
            log=self.log,
            shards=self.shards,
            handled=handled,
            clock=self.clock,
            is_doubted=self.clock.is_doubted,
        )
        self.tick_schedulers = components.make_tick_schedulers(settings, scheduler)

    def _build_group(self) -> None:
        """Build the agents' application, which is a member of the group, and the connections to the other members."""
        settings = self.settings
        make = partial(
            make_app,
            name="mnemolog",
            broker=broker_url(settings),
            credentials=kafka_security(settings).credentials(),
            partitions=settings.partitions,
            folder=settings.data_dir / "faust",
            observe=self.observe,
            remember=self.remember,
            project=self.project,
            url=self.url,
            session_seconds=settings.session_seconds,
            failed=self.fail,
            # Remember only queues the record, so its pool is measured instead.
            took=lambda step, seconds: None if step == "remember" else self.metrics.took(step, seconds),
            give_way=self._priority.give_way,
            open_record=self.log.open,
        )
        agents = (self.observe, self.remember)
        self.group = Group(make, self.shards, agents, self._tasks, is_embedded=settings.is_embedded)
        run_here, damaged = asyncio.get_running_loop().call_soon_threadsafe, self.group.damaged
        self._exits.enter_context(damage_reported(settings.data_dir, lambda found: run_here(damaged, found)))
        app = self.group.app
        self.peers = Peers(self.shards, partial(owners, app), partial(urls, app), self.url, self.trust)
        if isinstance(self._inner_log, KafkaLog):
            dead_peers = DeadPeers(self._inner_log)
            self._exits.push_async_callback(dead_peers.aclose)
            self.peers.suspect, self.peers.reached = dead_peers.suspect, dead_peers.reached
        self._exits.push_async_callback(self.peers.aclose)
        self.cluster = ScatterGather(self.shards, self.peers, self.url, settings)
        self.tenant_memories = TenantMemories(self.shards, self.cluster)
        self.shards.takeover.receiver = (
            None if settings.is_embedded else ShardReceiver(self._retrying_log, PeerShardSource(self.peers))
        )

    def _count_extracted(self, item: CandidatesExtracted | ExtractionRejected, window: Window) -> None:
        self.metrics.extracted(item)
        self.usage.spend(item, window)

    def _build_publishing(self) -> None:
        """Build the parts that append events, here or at their user's worker, and those that report their states."""
        priority = self._priority.first if self.settings.is_embedded else nullcontext
        self.publisher = Publisher(self.log, self.shards, priority, is_log_here=self.settings.is_embedded)
        self.event_states = EventStates(
            self.log,
            self.shards,
            self.extractions.pending,
            memorizes=self.settings.memorize,
            settled=self.remember.settled,
            redaction_of=self.redactions.of,
            suspend_deadline=suspend_deadline,
        )
        self.publish_router = PublishRouter(
            self.shards, self.publisher, self.event_states, self.peers, suspend_deadline=suspend_deadline
        )

    def _build_services(self) -> None:
        """Build the other parts that HTTP routes call: commands, sharing, imports, wakes, contexts and greetings."""
        settings, shards, peers, clock = self.settings, self.shards, self.peers, self.clock
        facts, zone_of = self._extractors.fact_rules, lambda owner: self.queries.zone_of(shards.resolve(owner))
        self.commands = Commands(
            self.log,
            shards,
            self.remember,
            self.embedder,
            clock,
            immediate=self.immediate if settings.is_embedded else None,
            suspend_deadline=suspend_deadline,
            facts=None if facts is None else FactReader(facts, self._known.of, zone_of, self.policies.of),
        )
        self.similar = SimilarMemories(shards, self.index_sync)
        self.recalls = Recalls(self.commands)
        self.sharer = Sharer(shards, self.commands, peers, clock)
        self.wake_commands = WakeCommands(self.commands, settings)
        self.wake_settings = WakeSettings(shards, self.wake_commands, settings, self.embedder.model)
        self.wake_scheduler = WakeScheduler(log=self.log, shards=shards, clock=clock, is_doubted=clock.is_doubted)
        self.wake_streams = WakeStreams(shards, peers, clock, stopping=self.stopping, is_in_session=self.is_in_session)
        self.change_feed = ChangeFeed(shards, peers, clock, is_in_session=self.is_in_session)
        self.change_streams = ChangeStreams(self.change_feed, self.stopping)
        collaborators = Collaborators(
            log=self.log,
            inner=self._inner_log,
            shards=shards,
            clock=clock,
            change_feed=self.change_feed,
            receivers=self.receivers,
            is_in_session=self.is_in_session,
            counted=self.metrics.counted,
        )
        found = (extension.worker_part(collaborators) for extension in extensions())
        self.parts = [part for part in found if part is not None]
        memory_importer = MemoryImporter(shards, self.commands, self.embedder, clock)
        wake_importer = WakeImporter(shards, self.commands, self.wake_commands, self.embedder, clock)
        self.importer = Importer(shards, peers, clock, memory_importer, wake_importer, ids=self.sealing.word_ids)
        self.contexts = components.make_contexts(settings, self.queries, self.embedder)
        model = components.make_greeting_model(settings, self.metrics)
        if model is not None:
            self._exits.push_async_callback(model.aclose)
        write = None if model is None else model.write
        self.greeting = Greeting(self.contexts, write, seconds=settings.greeting_timeout_seconds)

    def _build_operations(self) -> None:
        """Build the parts that operators use, and the gauges."""
        self.dead_letters = DeadLetters(self.log)
        self.key_rotation = MasterKeyRotation(self.settings, self._inner_log, self.sealing.keys)
        self.rebuilder = Rebuilder(self.settings.data_dir, self.log, self.shards, self.index_sync, self.reembedder)
        erasure_parts = ErasureParts(
            settings=self.settings,
            inner=self._inner_log,
            sealing=self.sealing,
            shards=self.shards,
            gate=self.extractions.gate,
            commands=self.commands,
            index_sync=self.index_sync,
            clock=self.clock,
            erase_from_built=self.rebuilder.erase_from_built,
        )
        self.user_erasures = UserErasures(erasure_parts, [part.erase for part in self.parts])
        self.memory_erasures = MemoryErasures(erasure_parts)
        self.erasure_list = ErasureList(erasure_parts.receipts, self.cluster.ask_others)
        self.erasure_recovery = ErasureRecovery(
            erasure_parts, self.user_erasures, self.memory_erasures, self.erasure_list
        )
        self.head_keeper = HeadKeeper(
            place_of(self.settings, self.receivers),
            timedelta(hours=self.settings.heads_every_hours).total_seconds(),
            shards=self.shards,
            receipts=erasure_parts.receipts,
            clock=self.clock,
        )
        self.digests = Digests(self.shards, self.cluster)
        self.model_usages = ModelUsages(self.shards, self.cluster)
        self.token_budgets = TokenBudgets(self.model_usages, self.shards, self.clock)
        self.reextraction = Reextraction(
            log=self.log,
            shards=self.shards,
            extractions=self.extractions,
            memorizes=self.settings.memorize,
            cluster=self.cluster,
            handled=self.group.handled,
        )
        self.drain = Drain(
            log=self.log,
            shards=self.shards,
            index_sync=self.index_sync,
            observe=self.observe,
            publisher=self.publisher,
            recalls=self.recalls,
            cluster=self.cluster,
            handled=self.group.handled,
            clock=self.clock,
            turn_vectors=self.queries.index_search.turn_vectors,
        )
        self.clocks = Clocks(
            clock=self.clock,
            inner=self._inner_log,
            settings=self.settings,
            commands=self.commands,
            cluster=self.cluster,
            url=self.url,
        )
        self.ticks = Ticks(self.commands, self.cluster, self.settings.retention_days)
        self.rebuild = RebuildCoordinator(self.rebuilder, self.cluster, self.shards, self.index_sync)
        self.reembed = ReembedCoordinator(self.reembedder, self.cluster, self.rebuild)
        self.lags = Lags(self.log, self.shards, self.cluster, self.clock, handled=self.group.handled, url=self.url)
        self.gauges = Gauges(self.log, self.shards, self.rebuilder, self.lags)
        self.metrics.registry.register(self.gauges)
        self.metrics.registry.register(ClockGauges(self.clock, self.clocks))
        self.metrics.registry.register(BackupAge(self.settings.data_dir))
        self.metrics.registry.register(self.head_keeper)

    async def _join_group(self) -> None:
        """Start the agents, which on Kafka join the group."""
        await self.group.app.start()
        if self._membership is not None:
            member, peers = partial(member_id, self.group.app), partial(owners, self.group.app)
            self._tasks.start(partial(self._membership.watch, member, lambda: self.shards.assignment.partitions, peers))

    def _start_background(self) -> None:
        """Start the tasks that run alongside the agents until the worker stops or fails."""
        tasks = [
            self.project.flush_index,
            self.project.check_index,
            self.observe.keep_current,
            self.recalls.run,
            self.erasure_recovery.run,
            self.registry.register_later,
            self.retention.run,
            self.wake_scheduler.run,
            self.wake_settings.run,
            self.usage.run,
            self.clocks.run,
            self.head_keeper.run,
            self.reembedder.run,
            self.queries.index_search.turn_vectors.keep_made,
            *(scheduler.run for scheduler in self.tick_schedulers),
            *(part.run for part in self.parts),
        ]
        if not self.settings.is_embedded:  # there may be other workers
            group = GroupMaintenance(self.shards, self.cluster, self.rebuild, self.usage)
            tasks += [
                partial(keep_followed, self.policies),
                partial(keep_followed, self.sealing.keys),
                partial(keep_compacted, self.sealing.keys, self.clock),
                group.keep_globals_folded,
                partial(delete_idle_files, self.shards, Generations(self.settings.data_dir)),
                group.report_other_settings,
                group.catch_up,
            ]
            if self.settings.api_keys_file is not None:
                tasks.append(group.exchange_usage)
            tasks += [partial(self.log_watch.run, self.log, self.shards)]
        tasks += [partial(measure_lag, self.metrics.lagged), load_rules]
        for task in tasks:
            self._tasks.start(task)

    def begin_stop(self) -> None:
        """Note that the server accepts no more connections and that the worker is about to leave the group."""
        self.stopping.set()
        self._stopping_since = time.monotonic()

    async def hand_over(self) -> None:
        """Leave the group before closing everything else, so that other workers get the partitions at once.

        Nothing is handed over without the log. If leaving fails, the group notices the absence by itself.
        """
        if self._membership is None or not self.started or self.log_watch.away is not None:
            return
        self.group.drop_jobs()
        self.group.revoked(self.shards.held())
        try:
            await self.recalls.flush_last()
            await leave_group(self.group.app)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the rest is to be closed
            log.warning("the group has not been left ahead of the stop: %s", describe(error))

    async def _stop_agents(self) -> None:
        """Flush the recalls, then stop reading and deciding."""
        await self.recalls.flush_last()
        await self._tasks.cancel()
        await self.group.app.stop()
        await self.head_keeper.keep_last()
        await self.rebuilder.close()
        self.group.drop_jobs()
        await self.immediate.stop()

    # -- its place in the group

    @property
    def hindrance(self) -> str | None:
        """What an operator must mend before every assigned partition can be answered; None if nothing is wrong."""
        return next(iter(self.hindrances.values()), None)

    def group_size(self) -> int:
        """Return the number of workers in the group, as far as this one knows; 1 before it has started."""
        return 1 + len(self.peers.others()) if self.started else 1

    def is_in_session(self) -> bool:
        """Return whether the group's session is alive, so that no other worker can hold this one's partitions."""
        since = self._stopping_since
        if self._membership is not None and since is not None and time.monotonic() - since > ANSWERS_SECONDS:
            return False
        return is_in_session(self.group.app)

    async def fold_globals(self) -> None:
        """Fold global memories that another worker may have decided; without the log, use those already folded."""
        if not self.settings.is_embedded:
            with suppress(TimeoutError, ShardUnavailable):
                await asyncio.wait_for(self.shards.takeover.fold_globals(), GLOBALS_SECONDS)

    def write_note(self, note: dict[str, object]) -> None:
        """Leave a note for commands on this machine: the process that holds the data directory, and its URL."""
        lock = self._inner_log.lock if isinstance(self._inner_log, SqliteLog) else self._lock
        if lock is not None:
            lock.write_note(note)
