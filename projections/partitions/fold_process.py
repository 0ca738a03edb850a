"""Folds a shard that is far behind in a process of its own, on another core than the event loop's.

The worker reads the log and hands the records over. An empty shard is built in a second file, without what makes a
commit safe, and that file replaces the shard's own when it is complete and durable. Any other shard is folded further
in its own file, each batch in one transaction, as the worker itself does it. So the shard's file is at every moment a
fold of the log, and the process may be killed at any moment: the next fold continues from that file.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from projections.blocking_work import run_in_thread, run_to_end
from projections.child_process import Child
from projections.encrypted_files import key_of
from projections.partitions.fold_program import BUILD, CONTINUE, GLOBALS
from projections.partitions.handed_records import pack
from projections.partitions.receiver import copy_of, put_in_place, remove
from projections.shard.log_position import ends_of
from projections.shard.shard import BULK_RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from projections.shard.shard import Shard
    from schemas.log import Log

WORTH_RECORDS: Final = 10_000
"""The worker itself folds no more records than this: a process takes half a second to start."""
ANSWER_SECONDS: Final = 60.0
"""A process that takes longer than this for a batch, two hundred times the usual time, is given up."""
FINISH_SECONDS: Final = 600.0
"""The time limit for creating the indexes of a file that was built, and for flushing it to the disk."""

log = logging.getLogger("mnemolog.shard")


def cores() -> int:
    """Return how many cores this process may use."""
    with suppress(AttributeError):  # which macOS lacks
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class FoldProcesses:
    """The processes that fold, at most one for each core; a caller that needs one more waits for it."""

    def __init__(self, log: Log, partitions: int, worth: int = WORTH_RECORDS) -> None:
        """Start no process for a shard that is behind by no more than `worth` records."""
        self._log = log
        self._partitions = partitions
        self._worth = worth
        self.answer_seconds = ANSWER_SECONDS
        self._slots = asyncio.Semaphore(cores())
        self._running: list[_FoldProcess] = []

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that fold now."""
        return [process.pid for process in self._running if process.pid is not None]

    async def fold(self, shard: Shard, progress: Callable[[int], None] = lambda _: None) -> None:
        """Fold nearly everything that the log holds for a shard that answers no query yet, if that is much.

        Returns early if the process fails: the caller folds the rest, and sees the error itself.
        `progress` is called with the number of records of each step; an exception from it ends the process, as a
        cancellation does. When this returns, the shard is not being folded any more.
        """
        if await self._behind(shard) <= self._worth:
            return
        async with self._slots, shard.folding:
            shard.committed_file()  # the process writes to it
            copy = None if any(map(shard.offset, shard.topics)) or shard.path.stem == GLOBALS else copy_of(shard.path)
            process, is_complete = _FoldProcess(shard, copy, self._partitions), False
            self._running.append(process)
            try:
                await process.start(self.answer_seconds)
                for topic in shard.topics:
                    await self._hand_over(process, topic, progress)
                await process.finish()
                is_complete = True
            except OSError as error:
                log.warning("shard %s is folded by the worker, its process has failed: %s", shard.path.name, error)
            finally:
                await process.end()
                self._running.remove(process)
                if copy is None:
                    shard.reload()
                elif not is_complete:
                    remove(copy)
                if copy is None or is_complete:  # otherwise they are folded, and counted, again
                    shard.ledger.void_decisions += process.void
            if copy is not None and is_complete:
                try:
                    shard.reopen(partial(put_in_place, copy, shard.path))
                except OSError as error:
                    log.warning("shard %s is folded again, it cannot be put in place: %s", shard.path.name, error)

    async def fold_all(self, shards: Iterable[Shard], progress: Callable[[int], None]) -> None:
        """Fold several shards as `fold` does. When this returns or raises, none of them is being folded any more."""
        folding = [asyncio.create_task(self.fold(shard, progress)) for shard in shards]
        try:
            await asyncio.gather(*folding)
        finally:
            for task in folding:
                task.cancel()
            await run_to_end(asyncio.gather(*folding, return_exceptions=True))

    async def _behind(self, shard: Shard) -> int:
        ends = await ends_of(self._log, shard.topics, shard.partition)
        return sum(end - shard.offset(topic) for topic, end in ends.items())

    async def _hand_over(self, process: _FoldProcess, topic: str, progress: Callable[[int], None]) -> None:
        start = process.shard.offset(topic)
        end = await self._log.end(topic, process.shard.partition)  # others may go on writing without an end
        while start < end and (records := await self._log.read(topic, process.shard.partition, start, BULK_RECORDS)):
            start = records[-1].position.offset + 1
            for frame in await run_in_thread(lambda records=records: list(pack(records))):  # type: ignore[misc]
                await process.hand(frame, self.answer_seconds)
            progress(len(records))


class _FoldProcess:
    """One process. Everything here raises OSError when it has died, or had to be killed."""

    def __init__(self, shard: Shard, copy: Path | None, partitions: int) -> None:
        """Build the file `copy`, or fold the shard's own file further if it is None."""
        self.shard = shard
        self._copy = copy
        self.void = 0
        """The number of void decisions that it has folded."""
        which = GLOBALS if shard.path.stem == GLOBALS else str(shard.partition)
        self._arguments = [str(copy or shard.path), which, str(partitions), CONTINUE if copy is None else BUILD]
        self._child: Child | None = None
        self._answers = deque[asyncio.Future[bytes]]()

    @property
    def pid(self) -> int | None:
        """The process's id, None before it was started."""
        return None if self._child is None else self._child.pid

    async def start(self, seconds: float) -> None:
        """Start it and wait until it has opened the file."""
        if self._copy is not None:
            await run_in_thread(remove, self._copy)  # of a process that was killed together with its worker
        self._child = Child("projections.partitions.fold_program", *self._arguments)
        await self._child.connect(seconds, key_of(self.shard.path) or b"")

    async def hand(self, frame: bytes, seconds: float) -> None:
        """Give it a batch while it folds the previous one."""
        self._ask(frame, seconds)
        if len(self._answers) > 1:
            await self._take()

    async def finish(self) -> None:
        """Wait until it has folded everything and closed the file."""
        self._ask(b"", FINISH_SECONDS)
        while self._answers:
            await self._take()

    async def end(self) -> None:
        """End it at once, whatever it is doing. Records that it has not committed count as not handed over."""
        if self._child is not None:
            await run_to_end(self._child.aclose())

    def _ask(self, frame: bytes, seconds: float) -> None:
        assert self._child is not None  # noqa: S101 - `start` has started it
        self._answers.append(self._child.ask(frame, seconds))

    async def _take(self) -> None:
        self.void += int(await self._answers.popleft())
