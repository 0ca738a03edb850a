"""Background tasks of a worker, including those that run only in a group of several workers."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from mnemolog.cluster.peers import PeerUnavailable, WorkersDiffer
from mnemolog.operations.rebuild import RebuildDiffers, RebuildInterrupted, RebuildRunning
from projections.embedding.choice import EmbedderUnusable
from projections.index.protocol import IndexUnavailable
from projections.partitions.generation import delete_shard
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.log import LogUnavailable
from streams.decisions.edited_value import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from mnemolog.access.usage import Usage
    from mnemolog.cluster.scatter_gather import ScatterGather
    from mnemolog.operations.generations import Generations
    from mnemolog.operations.rebuild_coordinator import RebuildCoordinator
    from projections.partitions.assignment import Assignment
    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from streams.policies.in_force import Policies
    from streams.sealing.user_keys import UserKeys

log = logging.getLogger("mnemolog")
GLOBALS_EVERY_SECONDS: Final = 1.0
MEASURE_EVERY_SECONDS: Final = 0.25
COMPACT_EVERY_SECONDS: Final = 60.0
CATCH_UP_EVERY_SECONDS: Final = 10.0
EXCHANGE_SECONDS: Final = 5.0
IDLE_SECONDS: Final = 600.0
"""How long a worker keeps the shards of a partition that it no longer holds."""
LOOK_SECONDS: Final = 30.0
DAMAGED_SECONDS: Final = 1.0
"""The delay before a task that has found a damaged shard begins anew."""
RULES_AFTER_SECONDS: Final = 10.0
"""The delay after a start before the rules are loaded, which takes half a second of processor time that the first
requests need."""
DIFFERS_SECONDS: Final = 3_600.0
"""The delay before a generation whose digest differed is rebuilt."""


class BackgroundTasks:
    """The tasks of a worker that run until it stops; the first failure of a task ends the worker.

    A task that finds a shard damaged begins anew after a moment, when that shard is not held any more.
    """

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        """`fail` is called with the exception that a task raises."""
        self._fail = fail
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a task in the background until it ends or is cancelled."""

        async def run() -> None:
            while True:
                try:
                    await work()
                except ShardDamaged:  # it was reported, and its partition is not answered; the task begins anew
                    await asyncio.sleep(DAMAGED_SECONDS)
                    continue
                except Exception as error:  # noqa: BLE001 - the boundary of a background step
                    self._fail(error)
                return

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)  # the event loop itself keeps only weak references to tasks
        task.add_done_callback(self._tasks.discard)

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def load_rules() -> None:
    """Load, in a thread, the modules that read a slot's value from an edited text, before the first edit needs them."""
    await asyncio.sleep(RULES_AFTER_SECONDS)
    for module in RULES:
        await asyncio.to_thread(import_module, module)


async def measure_lag(lagged: Callable[[float], None]) -> None:
    """Report at intervals how much later than planned the event loop runs a task, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + MEASURE_EVERY_SECONDS
        await asyncio.sleep(MEASURE_EVERY_SECONDS)
        lagged(loop.time() - due)


async def keep_followed(topic: Policies | UserKeys) -> None:
    """Read the records that other workers append to a shared topic. While the log is unavailable, try again later."""
    while True:
        await asyncio.sleep(GLOBALS_EVERY_SECONDS)
        with suppress(LogUnavailable):
            await topic.follow()


async def keep_compacted(keys: UserKeys, clock: Clock) -> None:
    """Let destroyed keys be compacted out of the topic, even if nothing is appended to it any more."""
    while True:
        await asyncio.sleep(COMPACT_EVERY_SECONDS)
        with suppress(LogUnavailable):
            await keys.let_compact(clock.now())


async def say_when_held(assignment: Assignment) -> None:
    """Log which partitions this worker has, and how long it takes to answer their users; stop if they change."""
    partitions, began = assignment.partitions, time.monotonic()
    if partitions is None:
        return
    names = ", ".join(map(str, sorted(partitions))) or "none"
    log.info("this worker has the partitions %s", names)
    while not assignment.is_settled:
        await assignment.changed()
        if assignment.partitions != partitions:
            return
    log.info("the users of its partitions are answered, %.1f s after they came", time.monotonic() - began)


async def delete_idle_files(shards: Shards, generations: Generations, idle_seconds: float = IDLE_SECONDS) -> None:
    """Delete the shards of partitions that now belong to other workers, as erasures there do not reach these files.

    If a partition returns, its shard is rebuilt from the log or copied from the worker that has it. The files are kept
    for a while, since partitions often return to a worker that has restarted.
    """
    loop = asyncio.get_running_loop()
    idle_since: dict[int, float] = {}
    while True:
        await asyncio.sleep(min(LOOK_SECONDS, idle_seconds / 2))
        for partition in range(shards.partitions):
            if shards.takeover.has(partition):
                idle_since.pop(partition, None)
            elif loop.time() - idle_since.setdefault(partition, loop.time()) >= idle_seconds:
                deleted = [delete_shard(generations.folder(one), partition) for one in generations.complete()]
                if any(deleted):
                    log.info("the shard of partition %d, another worker's by now, was deleted here", partition)


class GroupMaintenance:
    """The tasks that keep a worker in step with the others of its group; each runs until it is cancelled."""

    def __init__(self, shards: Shards, cluster: ScatterGather, rebuild: RebuildCoordinator, usage: Usage) -> None:
        self._usage = usage
        self._shards = shards
        self._cluster = cluster
        self._rebuild = rebuild

    async def keep_globals_folded(self) -> None:
        """Fold the global memories that other workers decide."""
        while True:
            await asyncio.sleep(GLOBALS_EVERY_SECONDS)
            with suppress(ShardUnavailable):
                await self._shards.takeover.fold_globals()

    async def report_other_settings(self) -> None:
        """Check once whether another worker differs in a setting that all must share, and log an error if so."""
        with suppress(PeerUnavailable):  # an unavailable worker makes the same check when it starts
            try:
                await self._cluster.check_settings()
            except WorkersDiffer as error:
                log.error("%s; until then searches miss memories, and drain and rebuild are refused", error)  # noqa: TRY400 - an operator's matter

    async def exchange_usage(self) -> None:
        """Ask the other workers how much of each quota they have used."""
        while True:
            with suppress(PeerUnavailable):  # the last report of a worker counts until its next one
                answers = await self._cluster.ask_others("usage", {}, EXCHANGE_SECONDS)
                self._usage.count_others(answer.body for answer in answers)
            await asyncio.sleep(EXCHANGE_SECONDS)

    async def catch_up(self) -> None:
        """Switch to the generation that the other workers have switched to, so that no worker stays behind."""
        while True:
            await asyncio.sleep(CATCH_UP_EVERY_SECONDS)
            try:
                await self._rebuild.catch_up()
            except (PeerUnavailable, RebuildRunning, RebuildInterrupted):
                pass  # the running work ends, and the next round tries again
            except (LogUnavailable, ShardUnavailable, IndexUnavailable, OSError) as error:
                log.warning("the generation that the other workers have switched to is built later: %s", error)
            except EmbedderUnusable as error:
                log.error("the encoder that the other workers have switched to cannot serve here: %s", error)  # noqa: TRY400 - it says all
            except RebuildDiffers as error:
                log.error("%s; this worker stays with the generation that it has", error)  # noqa: TRY400 - it says where
                await asyncio.sleep(DIFFERS_SECONDS)


async def wait_unless_failed(failure: asyncio.Future[None], awaited: Coroutine[Any, Any, None]) -> None:
    """Wait until a coroutine ends or a failure occurs. Raises the exception of either."""
    waiting = asyncio.ensure_future(awaited)
    await asyncio.wait({waiting, failure}, return_when=asyncio.FIRST_COMPLETED)
    if failure.done():
        waiting.cancel()
        failure.result()
    waiting.result()
