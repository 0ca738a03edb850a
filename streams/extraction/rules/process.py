"""The rules in a child process, which can be killed: no text that they read can block the event loop."""

from __future__ import annotations

import asyncio
import pickle
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.frames import LENGTH_BYTES, frame_of
from streams.delivery.fair_slots import FairSlots
from streams.extraction.protocol import Outage, Rejected

if TYPE_CHECKING:
    from streams.extraction.own_words.statements import Reading
    from streams.extraction.protocol import Window

CPU_SECONDS: Final = 2.0
"""Processor time of one window: a hundred times what the longest ordinary one takes."""
ANSWER_SECONDS: Final = 60.0
"""How long the process may take to be ready, or to answer: it may be frozen, or the machine busy."""
MAX_ATTEMPTS: Final = 3
"""Child processes that may die at the same window for other reasons than its processor time."""


@dataclass(frozen=True, slots=True)
class _Child:
    """A running process, and the socket over which frames go to it and come back.

    The event loop reads and writes by itself: a thread that waits for an answer takes the interpreter's lock from it.
    """

    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> bytes | None:
        """Return the next frame; None where the process ends before, or has to be ended."""
        timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.process.kill)
        try:
            length = int.from_bytes(await self.reader.readexactly(LENGTH_BYTES), "little")
            return await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        finally:
            timer.cancel()

    async def end(self) -> int:
        """End the process, and return its exit code."""
        self.writer.close()
        return await asyncio.to_thread(_end, self.process)


class RuleProcess:
    """Reads windows one after the other in a child process.

    The process is started when it is first needed, and again after it has died. It ends with this one, however this
    one ends: at the end of its input, or in a window, when that window's processor time is over.
    """

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self._cpu_seconds = cpu_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._child: _Child | None = None
        self._turns = FairSlots(1)
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None while none runs."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    async def read(self, window: Window) -> Reading:
        """Return what the rules find.

        Raises Rejected, with the window's words, where they take too long or fail; Outage while the process cannot be
        started or dies before it was asked anything, and after `aclose`.
        """
        reading = asyncio.create_task(self._read(window))
        reading.add_done_callback(lambda done: done.cancelled() or done.exception())
        # A caller who waits no longer leaves it to its end: its answer is not the next one's.
        return await asyncio.shield(reading)

    async def aclose(self) -> None:
        """End the process; a window that is being read is an outage to its caller."""
        self._closed = True
        if self._process is not None:
            self._process.kill()  # it holds nothing that could be lost
        async with self._turns.slot(None):
            await self._end()

    async def _read(self, window: Window) -> Reading:
        frame = pickle.dumps(window, pickle.HIGHEST_PROTOCOL)
        async with self._turns.slot(window.tenant):  # one tenant's windows do not keep another's waiting
            try:
                return await self._answer(frame)
            except Rejected as rejected:
                rejected.answer = "\n".join(piece.text for piece in window.pieces)
                raise

    async def _answer(self, frame: bytes) -> Reading:
        for _ in range(MAX_ATTEMPTS):
            child = await self._running()
            child.writer.write(frame_of(frame))
            answer = await child.answer()
            if answer is not None:
                found: Reading | str = pickle.loads(answer)  # noqa: S301 - of our own program
                if isinstance(found, str):
                    raise Rejected(f"the rules failed: {found}")
                return found
            if await self._end() == -signal.SIGPROF:
                raise Rejected(f"the rules took more than {self._cpu_seconds:g} s of processor time over these words")
        raise Rejected(f"the rules' process died {MAX_ATTEMPTS} times over these words")

    async def _running(self) -> _Child:
        """Return the process, started where there is none. Raises Outage where it cannot be, and after `aclose`."""
        if self._child is not None and self._child.reader.at_eof():
            await self._end()
        if self._child is None and not self._closed:
            try:
                self._child = await self._start()
            except OSError as error:
                raise Outage(f"the rules' process cannot be started: {error}") from error
        if self._child is None or self._closed:
            raise Outage("the rules' process is closed")
        if self._child.reader.at_eof():
            raise Outage("the rules' process has ended before it was asked anything")
        return self._child

    async def _start(self) -> _Child:
        """Start the process, and return it when it is ready. Raises OSError."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.to_thread(self._spawn, theirs)
            child = _Child(process, *await asyncio.open_unix_connection(sock=ours))
        except BaseException:
            ours.close()
            raise
        if await child.answer() is None:
            code = await child.end()
            raise ChildProcessError(f"it ended with code {code} before it was ready; its words are in our stderr")
        return child

    def _spawn(self, end: socket.socket) -> subprocess.Popen[bytes]:
        # -P: the working directory may hold a folder of our name. A group of its own: Ctrl-C is for this process.
        process = self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "streams.extraction.rules.child", str(self._cpu_seconds)],
            stdin=end.fileno(),
            stdout=end.fileno(),
            process_group=0,
        )
        if self._closed:
            process.kill()  # `aclose` has not seen it
        return process

    async def _end(self) -> int | None:
        """End the process, if there is one; return its exit code."""
        child, self._child = self._child, None
        return None if child is None else await child.end()


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a process; return its exit code."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.1)  # it has just closed its end: how it ended says why
    process.kill()
    return process.wait()
