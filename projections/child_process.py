"""A module of this program that runs as a child process and answers frames, one by one, over a socket."""

from __future__ import annotations

import asyncio
import math
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from typing import Final, NamedTuple, cast

from schemas.frames import LENGTH_BYTES, frame_of

MAX_ANSWER_BYTES: Final = 64 << 20
"""The size of the largest answer. A child that announces a larger one is broken, and is killed."""


class ChildDied(ChildProcessError):
    """A child process ended before it answered a frame."""

    def __init__(self, message: str, *, was_at_it: bool) -> None:
        """`was_at_it` says whether the child had answered all frames before this one."""
        super().__init__(message)
        self.was_at_it = was_at_it


class _Asked(NamedTuple):
    """A frame that was sent: the future of its answer, which comes even if nobody waits for it, and its time limit."""

    answer: asyncio.Future[bytes]
    seconds: float
    deadline: float


class Child(asyncio.Protocol):
    """One child process, from its start to its end.

    The event loop reads and writes by itself. A thread that waits for an answer takes the interpreter's lock from the
    loop and gives it back several times a frame: without it a turn took an eighth less processor time. To start the
    process blocks for less than a millisecond, whatever the size of this one, so no caller can be cancelled meanwhile.

    The kernel closes the socket when this process ends, however it ends, and a program ends with its input.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        """Start `python -m module arguments`. Raises OSError."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                # -P: the working directory may hold a folder of our name. A group of its own: Ctrl-C is for us alone.
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-P", "-m", module, *arguments],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    process_group=0,
                )
            except OSError:
                ours.close()
                raise
        self._socket: socket.socket | None = ours
        """Our end, until the event loop has it."""
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._asked: deque[_Asked] = deque()
        self._watch: asyncio.TimerHandle | None = None
        """Looks whether an answer is late; one for all of them, because they are many and never late."""
        self._reason = "it has ended"

    @property
    def pid(self) -> int | None:
        """The process's id, None when it has ended."""
        return self._process.pid if self._process.poll() is None else None

    @property
    def is_over(self) -> bool:
        """Whether the process cannot be asked: it has ended, or is not connected."""
        return self._transport is None or self._transport.is_closing()

    async def connect(self, seconds: float, opening: bytes | None = None) -> bytes:
        """Send the opening, if there is one, and return the first frame: with it the program says that it is ready.

        Raises OSError if the process ends before, or has to be killed after `seconds`.
        """
        ready = self._answer(seconds)  # ahead of the connection, which may bring it at once
        ours, self._socket = self._socket, None
        await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=ours)
        if opening is not None:
            self._write(opening)
        try:
            return await ready
        except ChildDied:
            code = await self.aclose()
            message = f"it ended with code {code} before it was ready; its words are in our stderr"
            raise ChildProcessError(message) from None

    def ask(self, body: bytes, seconds: float) -> asyncio.Future[bytes]:
        """Send a frame; return the future of its answer. Any number may be sent ahead.

        A process that takes longer than `seconds` is killed. Both this and the future raise ChildDied.
        """
        if self.is_over:
            raise ChildDied(self._reason, was_at_it=False)
        answer = self._answer(seconds)
        self._write(body)
        return answer

    def kill(self, reason: str = "it has ended") -> None:
        """Kill the process, which holds nothing that could be lost. `reason` is for the message of ChildDied."""
        self._reason = reason
        self._process.kill()

    def close(self) -> int:
        """End a process that is not connected, or killed; return its exit code. Blocks for some milliseconds."""
        if self._socket is not None:
            self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)  # it has just closed its end: how it ended says why
        self._process.kill()
        return self._process.wait()

    async def aclose(self) -> int:
        """End the process, at once if it has not ended by itself; return its exit code."""
        if self._transport is None:
            self._process.kill()
        elif not self._transport.is_closing():
            self._process.kill()
            self._transport.abort()
        return await asyncio.to_thread(self.close)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take in a part of the answers."""
        received = self._received
        received += data
        while len(received) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(received[:LENGTH_BYTES], "little")
            if end > MAX_ANSWER_BYTES:
                self.kill("its answer is too large")
                return
            if len(received) < end:
                return
            answer = self._asked.popleft().answer
            if not answer.done():
                answer.set_result(bytes(received[LENGTH_BYTES:end]))
            del received[:end]

    def connection_lost(self, _error: Exception | None) -> None:
        """Take in that the process has ended, or has closed its end."""
        for number, asked in enumerate(self._asked):
            if not asked.answer.done():
                asked.answer.set_exception(ChildDied(self._reason, was_at_it=number == 0))
                asked.answer.exception()  # counts as retrieved: not everything that was sent ahead is awaited
        self._asked.clear()
        if self._watch is not None:
            self._watch.cancel()

    def _answer(self, seconds: float) -> asyncio.Future[bytes]:
        loop = asyncio.get_running_loop()
        asked = _Asked(loop.create_future(), seconds, loop.time() + seconds)
        self._asked.append(asked)
        if self._watch is None or asked.deadline < self._watch.when():
            self._look(loop)
        return asked.answer

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Kill the process if an answer is late, and look again when the next one would be."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if not self._asked:
            return
        first = min(self._asked, key=lambda asked: asked.deadline)
        if first.deadline <= loop.time():
            self.kill(f"it has not answered for {first.seconds:g} s")
        elif first.deadline < math.inf:
            self._watch = loop.call_at(first.deadline, self._look, loop)

    def _write(self, body: bytes) -> None:
        assert self._transport is not None  # noqa: S101 - `connect` comes first
        self._transport.write(frame_of(body))
