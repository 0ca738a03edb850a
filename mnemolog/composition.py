"""The one composition root: everything that a worker consists of, wired on one screen."""

from __future__ import annotations

import asyncio
import gc
import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from mnemolog.commands import Commands
from mnemolog.log_opening import close_log, create_topics, open_log
from mnemolog.metrics import Metrics
from mnemolog.publishing import Publishing
from mnemolog.rebuilding import Rebuilding, active_folder
from mnemolog.recalls import Recalls
from projections.builtin_embedder import BuiltinEmbedder
from projections.embedded_index import EmbeddedIndex
from projections.openai_embedder import OpenAIEmbedder
from projections.queries import Queries
from projections.shards import Shards
from projections.weaviate_address import WeaviateAddress
from schemas.clock import SystemClock
from schemas.log import LogError
from streams.agents import handled, make_app
from streams.extraction import Asking
from streams.model_extractor import ModelExtractor
from streams.observe import Observe
from streams.parameters import Parameters
from streams.patience import PatientReads
from streams.pool import KeyedPool
from streams.project import Project
from streams.remember import Remember
from streams.rule_extractor import RuleExtractor
from streams.ticking import Ticking
from streams.transports.directory_lock import DirectoryLock
from streams.transports.sqlite_log import SqliteLog
from streams.verbatim_extractor import VerbatimExtractor
from streams.window import WindowLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from mnemolog.settings import Settings
    from projections.embedder import Embedder
    from projections.index import Index, IndexEntry
    from schemas.clock import Clock
    from streams.extractor import Extractor
    from streams.transports.kafka_log import KafkaLog

log = logging.getLogger("mnemolog")
COLLECT_AFTER = (50_000, 20, 100)
"""Allocations before Python looks for cycles: a worker keeps many small values for long, and makes few cycles."""
WORKED_AT_ONCE = 128
"""Users worked for at the same time where no model is asked; their appends share an fsync."""
WINDOWS_AT_ONCE = 1024
"""Windows in work: being asked about, waiting for their next attempt, or being appended."""
LOOK_FOR_OLD_SECONDS = 3600.0
OPENAI_URL = "https://api.openai.com/v1"


class Worker:
    """The whole system in one process: the log, the three agents, the folds, and what the front door calls."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        extractor: Extractor | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Take settings; a clock, an extractor or an embedder given here takes the place of the configured one."""
        self.settings = settings
        self.clock = clock or SystemClock()
        self.metrics = Metrics()
        self.failure: asyncio.Future[None] | None = None
        self.started = False
        self._extractor = extractor
        self._embedder = embedder
        self._lock: DirectoryLock | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the log, make the topics, fold what is new, and start the agents."""
        settings = self.settings
        gc.set_threshold(*COLLECT_AFTER)
        self.failure = asyncio.get_running_loop().create_future()
        if not self.settings.is_embedded:  # the embedded log locks the directory by itself
            folder = self.settings.data_dir.resolve() / "log"
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = DirectoryLock.take(folder)
        self.log = await self._open_log()
        await create_topics(self.log, self.settings)
        self.embedder = self._embedder or make_embedder(settings)
        self.extractor = self._extractor or make_extractor(settings, self.metrics)
        patient = PatientReads(self.log)
        self.shards = Shards(active_folder(settings.data_dir), patient, settings.partitions, index_maker(settings))
        asked_at_once = settings.llm_concurrency if settings.extracts_with == "model" else WORKED_AT_ONCE
        self.observe_pool = KeyedPool(WINDOWS_AT_ONCE, self._fail, partial(self.metrics.took, "extract"))
        self.remember_pool = KeyedPool(WORKED_AT_ONCE, self._fail, partial(self.metrics.took, "remember"))
        self.observe = Observe(
            log=patient,
            shards=self.shards,
            asking=Asking(self.embedder, asyncio.Semaphore(asked_at_once)),
            extractor=self.extractor,
            verbatim=VerbatimExtractor(),
            pool=self.observe_pool,
            limits=WindowLimits(rounds=settings.save_every_turns, idle=timedelta(seconds=settings.idle_seconds)),
            memorize=settings.memorize,
            counted=self.metrics.counted,
            extracted=self.metrics.extracted,
        )
        self.remember = Remember(
            log=patient,
            shards=self.shards,
            pool=self.remember_pool,
            parameters=make_parameters(settings),
            counted=self.metrics.counted,
            ticked=self.metrics.ticked,
        )
        self.project = Project(shards=self.shards, counted=self.metrics.counted)
        self.ticking = Ticking(
            log=patient,
            shards=self.shards,
            handled=self.handled,
            clock=self.clock,
            policy=settings.decay_policy,
            every=timedelta(hours=settings.decay_hours),
        )
        self.publishing = Publishing(self.log, self.shards, self.observe)
        self.commands = Commands(self.log, self.shards, self.remember, self.embedder, self.clock)
        self.queries = Queries(self.shards, self.embedder)
        self.recalls = Recalls(self.commands)
        self.rebuilding = Rebuilding(settings.data_dir, self.log, self.shards)
        for shard in await self.shards.check():
            log.warning("shard %s is no fold of this log, and is folded anew", shard.path.name)
        for shard in self.shards.all():
            await shard.catch_up()
        self.shards.following.note_missed()
        self._app = make_app(
            name="mnemolog",
            broker=self._broker(),
            partitions=settings.partitions,
            folder=settings.data_dir / "faust",
            observe=self.observe,
            remember=self.remember,
            project=self.project,
            failed=self._fail,
            took=self._took,
        )
        await self._app.start()
        self._background(self.project.look_after_index)
        self._background(self.observe.close_idle)
        self._background(self.ticking.run)
        self._background(self.recalls.run)
        if isinstance(self.log, SqliteLog):
            self._background(self._drop_expired)
        self.started = True

    async def _open_log(self) -> SqliteLog | KafkaLog:
        """Open the log; a test may put something between it and the worker."""
        return await open_log(self.settings, self.clock.now)

    def write_note(self, note: dict[str, object]) -> None:
        """Tell the commands on this machine who holds the data directory, and where it listens."""
        holder = self._lock or self.log
        if isinstance(holder, DirectoryLock | SqliteLog):
            holder.write_note(note)

    def handled(self, topic: str, partition: int) -> int:
        """Return the offset before which everything of a topic's partition is done."""
        return handled(self._app, topic, partition)

    async def stop(self) -> None:
        """Flush what was recalled, stop the agents, and close everything; safe to call at any point of starting."""
        self.started = False
        if hasattr(self, "recalls"):
            try:
                await self.recalls.flush()
            except LogError as error:
                log.warning("recalls of the last seconds are lost: %s", error)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "_app"):
            await self._app.stop()
            for partition in range(self.settings.partitions):
                self.observe.revoke(partition)
                self.remember.revoke(partition)
        if hasattr(self, "shards"):
            await self.shards.index.close()
            self.shards.close()
        if isinstance(getattr(self, "extractor", None), ModelExtractor):
            await self.extractor.aclose()  # type: ignore[attr-defined]
        if hasattr(self, "log"):
            await close_log(self.log)
        if self._lock is not None:
            self._lock.release()

    def _took(self, step: str, seconds: float) -> None:
        """Keep how long a record took; remember only queues it, and its pool knows how long deciding takes."""
        if step != "remember":
            self.metrics.took(step, seconds)

    def _broker(self) -> str:
        if self.settings.is_embedded:
            return f"sqlite://{self.settings.data_dir.resolve() / 'log'}"
        return self.settings.broker.replace(",", ";kafka://")

    async def _drop_expired(self) -> None:
        assert isinstance(self.log, SqliteLog)  # noqa: S101 - started for the embedded log only
        while True:
            await self.log.apply_retention()
            await asyncio.sleep(LOOK_FOR_OLD_SECONDS)

    def _background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - the boundary of a background step
                self._fail(error)

        self._tasks.append(asyncio.get_running_loop().create_task(run()))

    def _fail(self, error: BaseException) -> None:
        """End the worker with the first error that no step could handle: the log has everything for the next start."""
        log.error("the worker stops: %s: %s", type(error).__name__, error, exc_info=error)
        if self.failure is not None and not self.failure.done():
            self.failure.set_exception(error)


def make_parameters(settings: Settings) -> Parameters:
    """Return what remember decides by."""
    return Parameters(
        keyword_overlap=settings.keyword_overlap,
        episode_merge_hours=settings.episode_merge_hours,
        profile_keeps=settings.profile_conflict == "keep",
        min_episode_grade=settings.min_episode_grade,
        max_episodes=settings.max_episodes,
        episode_min_strength=settings.episode_min_strength,
        keep_important=settings.keep_important,
    )


def index_maker(settings: Settings) -> Callable[[Callable[[str, str], Sequence[IndexEntry]]], Index]:
    """Return what makes the configured index; it is given the loader of a user's memories."""
    if settings.index == "embedded":
        return EmbeddedIndex
    from projections.weaviate_index import WeaviateIndex  # noqa: PLC0415 - its client takes a second to import

    address = WeaviateAddress.parse(settings.index)
    return partial(WeaviateIndex, address, partitions=settings.partitions, api_key=settings.weaviate_api_key)


def make_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder."""
    if settings.embedding_model == "builtin":
        return BuiltinEmbedder()
    return OpenAIEmbedder(
        base_url=settings.embedding_base_url or OPENAI_URL,
        api_key=settings.embedding_api_key or "none",
        model=settings.embedding_model,
    )


def make_extractor(settings: Settings, metrics: Metrics) -> Extractor:
    """Return the configured extractor."""
    if settings.extracts_with == "rules":
        return RuleExtractor()
    if settings.extracts_with == "verbatim":
        return VerbatimExtractor()
    return ModelExtractor(
        settings.llm_base_url,
        settings.llm_api_key or "none",
        settings.llm_model,
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        timeout_seconds=settings.llm_timeout_seconds,
        observe=metrics.asked,
    )
