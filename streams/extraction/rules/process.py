"""The rules in a child process, which can be killed: no text that they read can block the event loop."""

from __future__ import annotations

import asyncio
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

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
"""How many child processes may die at the same window for reasons other than its processor time."""


class _DiedBefore(Exception):
    """The process died at a window that was sent before this one."""


class _Exchange(asyncio.Protocol):
    """Frames that are sent over a socket, and the answers in the same order. The first answer means: it is ready.

    The event loop reads and writes without a thread. A thread that waits for an answer takes the interpreter's lock
    from the loop and gives it back several times a window; without one, a turn took an eighth less processor time.
    """

    def __init__(self) -> None:
        """Wait for the connection."""
        self._received = bytearray()
        self.ready: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        """Done when the process can be asked; its result is None if the process died before."""
        self._asked = deque([self.ready])
        """The answers to come, also those whose callers no longer wait."""
        self._is_lost = False

    @property
    def is_over(self) -> bool:
        """Whether the process has ended, or closed its end."""
        return self._is_lost or self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast("asyncio.Transport", transport)

    def ask(self, body: bytes) -> asyncio.Future[bytes | None]:
        """Send a frame to a process that is not over; return its future answer, None if the process dies at it.

        The future raises _DiedBefore if the process dies at an earlier frame.
        """
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        self._transport.write(frame_of(body))
        return answer

    def data_received(self, data: bytes) -> None:
        """Read a part of the answers."""
        received = self._received
        received += data
        while len(received) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(received[:LENGTH_BYTES], "little")
            if len(received) < end:
                return
            answer = self._asked.popleft()
            if not answer.done():
                answer.set_result(bytes(received[LENGTH_BYTES:end]))
            del received[:end]

    def connection_lost(self, _error: Exception | None) -> None:
        """Settle the answers that will not come."""
        self._is_lost = True
        for number, answer in enumerate(self._asked):
            if answer.done():
                continue
            if number:
                answer.set_exception(_DiedBefore)
            else:
                answer.set_result(None)
        self._asked.clear()

    def close(self) -> None:
        """Close this end."""
        self._transport.close()


@dataclass(frozen=True, slots=True)
class _Child:
    """A running process, and the exchange with it."""

    process: subprocess.Popen[bytes]
    exchange: _Exchange


class RuleProcess:
    """Reads windows one after the other in a child process.

    The child is started when it is first needed, and again after it has died. When this process ends, for whatever
    reason, the child ends too: at the end of its input or, if it is reading a window, when that window's processor time
    is over.
    """

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self._cpu_seconds = cpu_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._starting: asyncio.Task[_Child] | None = None
        """The task that starts the process, or has started it."""
        self._turns = FairSlots(1)
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None while none runs."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    async def read(self, window: Window) -> Reading:
        """Return what the rules find in a window.

        Raises Rejected, with the window's words, if the rules take too long or fail. Raises Outage if the process
        cannot be started or dies before it was asked anything, and after `aclose`.
        """
        frame = pickle.dumps(window, pickle.HIGHEST_PROTOCOL)
        async with self._turns.slot(window.tenant):  # one tenant's windows do not keep another's waiting
            try:
                return await self._answer(frame)
            except Rejected as rejected:
                rejected.answer = "\n".join(piece.text for piece in window.pieces)
                raise

    async def aclose(self) -> None:
        """End the process; the caller of a window that is being read gets an Outage."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()  # it has nothing that could be lost
        if self._starting is not None:
            with suppress(OSError):
                child = await self._starting
                child.exchange.close()
                await asyncio.to_thread(_end, child.process)
        self._process = None

    async def _answer(self, frame: bytes) -> Reading:
        died = 0
        while died < MAX_ATTEMPTS:
            child = await self._running()
            timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, child.process.kill)
            try:
                answer = await child.exchange.ask(frame)
            except _DiedBefore:
                continue
            finally:
                timer.cancel()
            if answer is not None:
                found: Reading | str = pickle.loads(answer)  # noqa: S301 - of our own program
                if isinstance(found, str):
                    raise Rejected(f"the rules failed: {found}")
                return found
            code = await asyncio.to_thread(_end, child.process)
            if code == -signal.SIGPROF:
                raise Rejected(f"the rules took more than {self._cpu_seconds:g} s of processor time over these words")
            died += 1
        raise Rejected(f"the rules' process died {MAX_ATTEMPTS} times over these words")

    async def _running(self) -> _Child:
        """Return the process, and start it if none runs. Raises Outage if it cannot be started, and after `aclose`."""
        if self._closed:
            raise Outage("the rules' process is closed")
        if (starting := self._starting) is not None and starting.done():
            if starting.cancelled() or starting.exception() is not None:
                self._starting = None
            elif (child := starting.result()).exchange.is_over:
                await asyncio.to_thread(_end, child.process)
                self._starting = None
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        try:
            # If this caller stops waiting, the start goes on for the next one.
            child = await asyncio.shield(self._starting)
        except OSError as error:
            raise Outage(f"the rules' process cannot be started: {error}") from error
        if self._closed:
            raise Outage("the rules' process is closed")
        if child.exchange.is_over:
            raise Outage("the rules' process has ended before it was asked anything")
        return child

    async def _start(self) -> _Child:
        """Start the process, and return it when it is ready. Raises OSError.

        If it dies later, that concerns the window that it was asked about.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.to_thread(self._spawn, theirs)
            _, exchange = await asyncio.get_running_loop().create_unix_connection(_Exchange, sock=ours)
        except BaseException:
            ours.close()
            raise
        timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, process.kill)
        try:
            ready = await exchange.ready
        finally:
            timer.cancel()
        if ready is None:
            code = await asyncio.to_thread(_end, process)
            raise ChildProcessError(f"it ended with code {code} before it was ready; its words are in our stderr")
        return _Child(process, exchange)

    def _spawn(self, end: socket.socket) -> subprocess.Popen[bytes]:
        # -P: the working directory may have a folder of our name. A process group of its own: Ctrl-C is not for it.
        process = self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "streams.extraction.rules.child", str(self._cpu_seconds)],
            stdin=end.fileno(),
            stdout=end.fileno(),
            process_group=0,
        )
        if self._closed:
            process.kill()  # `aclose` came too early to end it
        return process


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a process; return its exit code."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.1)  # it may have just closed its end: its own exit code says why
    process.kill()
    return process.wait()
