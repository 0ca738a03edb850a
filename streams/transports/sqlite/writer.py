"""The writer thread of the log: jobs that wait at the same time share one transaction and one fsync."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemas.log import LogDamaged, LogError, LogUnavailable
from streams.transports.batching import when_idle
from streams.transports.sqlite.file import BUSY_MILLISECONDS, meaning

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from pathlib import Path

Answer = TypeVar("Answer")

GROUP = 256  # jobs in one transaction; with more, the first would wait long for the last
REST_SECONDS = 5.0  # the time without a job after which the write-ahead log is emptied
REST_BYTES = 1 << 20  # a shorter write-ahead log is left as it is
LEAST_ROOM_BYTES, MOST_ROOM_BYTES = 256 << 10, 2 << 20  # by which a write-ahead log is extended at once
_ZEROS = bytes(64 << 10)


@dataclass(slots=True)
class Job(Generic[Answer]):
    """Work inside a write transaction; `published` runs after the commit, before any caller is answered."""

    write: Callable[[sqlite3.Connection], Answer]
    published: Callable[[Answer], None]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Answer]
    records: int = 1
    """The number of records that the job writes."""


class SqliteWriter:
    """Runs jobs in the order of `submit`, many to a transaction. Once the file seems damaged it writes nothing more."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        on_commit: Callable[[], None],
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """Take over the connection.

        The writer's thread calls `on_failure` after a failed transaction. It calls `on_commit` after each group of
        jobs, when their callers have been answered: callers need not wait for the followers of the log.
        """
        self._connection = connection
        self._path = path
        self._write_ahead_log = path.with_name(f"{path.name}-wal")
        self._room_to = 0
        """The length to which this thread has extended the write-ahead log."""
        self._on_commit = on_commit
        self._on_failure = on_failure
        self._jobs: queue.SimpleQueue[list[Job[Any]] | None] = queue.SimpleQueue()
        self._collected: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
        self._damage: LogDamaged | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job[Any], *, at_once: bool = False) -> None:
        """Queue a job; its future gets the result in its own loop once the transaction is durable, or has failed.

        Call it in the job's loop. Jobs of a busy loop are collected and handed over together, except a job with
        `at_once`, which already combines several.
        """
        if self._closed:
            raise LogUnavailable(f"{self._path} is closed: open the log again")
        if at_once:
            self._jobs.put([job])
            return
        loop = job.loop
        if (jobs := self._collected.get(loop)) is None:
            jobs = new_jobs = self._collected[loop] = []
            when_idle(loop, lambda: self._hand_over(loop), lambda: sum(each.records for each in new_jobs))
        jobs.append(job)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if jobs := self._collected.pop(loop, None):
            self._jobs.put(jobs)

    def refuse(self, damage: LogDamaged) -> None:
        """Write nothing from now on: a reader found the file damaged."""
        self._damage = damage

    def close(self) -> None:
        """Finish the submitted jobs, then stop the thread and close the connection."""
        if not self._closed:
            self._closed = True
            for loop in list(self._collected):
                self._hand_over(loop)
            self._jobs.put(None)
            self._thread.join()
            self._connection.close()

    def _run(self) -> None:
        while (group := self._next()) is not None:
            more: list[Job[Any]] | None = group
            while more and len(group) < GROUP:
                more = self._waiting()
                group += more or ()
            outcome = self._transact(group)
            if isinstance(outcome, LogError) and len(group) > 1:
                for job in group:  # one of them may be bad: the others must not fail with it
                    self._answer([job], self._transact([job]))
            else:
                self._answer(group, outcome)
            self._on_commit()
            if more is None:
                return

    def _next(self) -> list[Job[Any]] | None:
        """Wait for jobs, and return them; None at the end. If none come for a while, empty the write-ahead log once."""
        try:
            return self._jobs.get(timeout=REST_SECONDS)
        except queue.Empty:
            self._rest()
            return self._jobs.get()

    def _rest(self) -> None:
        """Move the write-ahead log into the file and empty it. It stays if it is being read, or if that fails."""
        try:
            is_long = self._write_ahead_log.stat().st_size >= REST_BYTES
        except OSError:
            return
        if is_long and self._damage is None:
            with suppress(sqlite3.Error):  # such as a full disk, which the next commit reports
                self._connection.execute("pragma busy_timeout = 0")
                self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            with suppress(sqlite3.Error):
                self._connection.execute(f"pragma busy_timeout = {BUSY_MILLISECONDS}")

    def _waiting(self) -> list[Job[Any]] | None:
        """Return the jobs that are queued by now, in order; None if there are none and the writer is closed."""
        jobs: list[Job[Any]] = []
        while len(jobs) < GROUP:
            try:
                more = self._jobs.get_nowait()
            except queue.Empty:
                break
            if more is None:
                if not jobs:
                    return None
                self._jobs.put(None)
                break
            jobs += more
        return jobs

    def _transact(self, group: list[Job[Any]]) -> list[Any] | LogError:
        if self._damage is not None:
            return self._damage
        try:
            self._connection.execute("begin immediate")
            self._make_room()
            answers = [job.write(self._connection) for job in group]
            self._connection.execute("commit")
        except Exception as error:  # noqa: BLE001 - a dead writer thread would leave every caller waiting
            return self._undo(error)
        for job, answer in zip(group, answers, strict=True):
            job.published(answer)
        return answers

    def _make_room(self) -> None:
        """Extend the write-ahead log beyond its present need, once in many transactions.

        A commit that makes a file longer also waits for the file system's own journal, and thus for all other programs
        that write to the disk. Extending it here is safe: this connection holds the writers' lock, so that no other one
        appends, and SQLite takes zeros for the end of its log. If it fails, commits are slower, or report the fault.
        """
        with suppress(OSError):
            length = self._write_ahead_log.stat().st_size
            if length != self._room_to:  # SQLite has made it longer, or it was emptied
                self._room_to = length
                room = min(max(length, LEAST_ROOM_BYTES), MOST_ROOM_BYTES)
                with self._write_ahead_log.open("r+b", buffering=0) as file:
                    for place in range(length, length + room, len(_ZEROS)):
                        self._room_to = place + os.pwrite(file.fileno(), _ZEROS, place)

    def _undo(self, error: Exception) -> LogError:
        self._on_failure()
        if isinstance(error, sqlite3.Error):
            failure = meaning(error, self._path)
        else:
            failure = LogError(f"{self._path}: could not be written: {type(error).__name__}: {error}")
        if isinstance(failure, LogDamaged):
            self._damage = failure
        if self._connection.in_transaction:
            try:
                self._connection.execute("rollback")
            except sqlite3.Error as second:  # then the state of the connection is unknown
                self._damage = LogDamaged(f"{self._path}: {second} after {error}; restart the process")
        return failure

    @staticmethod
    def _answer(group: list[Job[Any]], outcome: list[Any] | LogError) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for index, job in enumerate(group):
            answer = outcome if isinstance(outcome, LogError) else outcome[index]
            by_loop.setdefault(job.loop, []).append((job.future, answer))
        for loop, pairs in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed: no task waits in it any more
                loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in pairs:
        if future.done():
            continue  # cancelled: the caller gave up, and does not learn that it was written
        if isinstance(answer, LogError):
            # Each caller gets an error of its own: one instance raised in many tasks would mix their tracebacks.
            future.set_exception(type(answer)(*answer.args))
        else:
            future.set_result(answer)
