"""The encoder in a process of its own, so that it computes on another core than the event loop; one thread feeds it."""

from __future__ import annotations

import atexit
import queue
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias, cast

import numpy as np
import orjson

from projections.embedding.embedder import EmbedderUnavailable
from schemas.frames import read_frame, write_frame

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from projections.embedding.embedder import Vectors

BATCH_TEXTS: Final = 16
BATCH_CHARACTERS: Final = 2_000
"""Of one run, in NFKC; more texts are computed no faster, and whoever comes next would wait longer."""
RUNS_AHEAD: Final = 2
"""Runs given to the process, so that it has the next one when it is done with the first.

Together they have no more characters than one run may have: whoever comes next waits for so many, a tenth of a second.
"""
MAX_ATTEMPTS: Final = 3
"""Processes that may end over the same texts."""


BUILTIN_PROGRAM: Final[Mapping[str, str | int]] = {"kind": "builtin"}
"""What the program runs by default (`encoder.py`)."""
_AHEAD: Final[dict[bytes, subprocess.Popen[bytes]]] = {}
"""Processes that were started before there was an EncoderProcess for them, by what they run."""


def start_ahead(encoder: Mapping[str, str | int] = BUILTIN_PROGRAM) -> None:
    """Have an encoder load its model while this process loads its modules; the EncoderProcess for it finds it.

    Where none comes it ends with this process.
    """
    program = orjson.dumps(encoder)
    if program not in _AHEAD:
        _AHEAD[program] = _started(program)
        atexit.register(_end_ahead, program)


class _NotLoaded(Exception):
    """The process cannot load its model: the message is its own."""


@dataclass(frozen=True, slots=True)
class Request:
    """Texts that are wanted, and who waits for their vectors."""

    texts: list[str]
    characters: int
    """Of all texts in NFKC, which is what the encoder computes."""
    urgent: bool
    loop: asyncio.AbstractEventLoop
    vectors: asyncio.Future[Vectors]


Answer: TypeAlias = "tuple[Request, Vectors | EmbedderUnavailable]"


class EncoderProcess:
    """Computes the texts of requests that wait at the same time together, urgent ones first.

    The process is started when it is first needed, and again when it has died: the texts that it had are sent again.
    It ends with this one, however this one ends. Usable from several event loops.
    """

    def __init__(self, name: str = "the built-in embedder", encoder: Mapping[str, str | int] | None = None) -> None:
        """`name` is for messages; `encoder` says what the program runs, the built-in one by default."""
        self._name = name
        self._program = orjson.dumps(encoder or BUILTIN_PROGRAM)
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._urgent: deque[Request] = deque()
        self._others: deque[Request] = deque()
        self._runs: deque[list[Request]] = deque()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_loaded = False
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None while there is none."""
        return None if self._process is None else self._process.pid

    def ask(self, request: Request) -> None:
        """Queue a request; its future gets the vectors, or EmbedderUnavailable."""
        if self._closed:
            raise EmbedderUnavailable(f"{self._name} is closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="encoder", daemon=True)
            self._thread.start()
        self._requests.put(request)

    def close(self) -> None:
        """End the process and the thread; what still waits gets EmbedderUnavailable. Blocks for some milliseconds."""
        self._closed = True
        self._requests.put(None)
        if self._process is not None:
            self._process.kill()  # it holds nothing that could be lost
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        attempts = 0
        while not self._closed:
            self._gather(wait=not self._runs)
            try:
                self._fill()
                if self._runs:
                    self._receive()
                    attempts = 0
            except _NotLoaded as error:  # another process would not either
                self._end()
                self._fail(f"cannot be loaded: {error}")
            except OSError as error:
                self._end()
                attempts += 1
                if attempts >= MAX_ATTEMPTS and not self._closed:
                    self._fail(f"gives no answer: {error}")
                    attempts = 0
        self._end()
        self._gather(wait=False)
        self._fail("is closed")

    def _gather(self, *, wait: bool) -> None:
        """Take in what was asked; wait for something if nothing is waiting here."""
        wait = wait and not self._urgent and not self._others
        with suppress(queue.Empty):
            while (request := self._requests.get(block=wait)) is not None:
                (self._urgent if request.urgent else self._others).append(request)
                wait = False

    def _fill(self) -> None:
        """Give the process what it has room for; a new process first gets what the last one had."""
        if self._process is None and (self._runs or self._urgent or self._others):
            self._start()
            for run in self._runs:
                self._send(run)
        while len(self._runs) < RUNS_AHEAD and (run := self._next_run()):
            self._runs.append(run)
            self._send(run)

    def _next_run(self) -> list[Request]:
        """Return what the process is to compute next, nothing while what it has is enough."""
        run: list[Request] = []
        texts = characters = 0
        room = BATCH_CHARACTERS - sum(request.characters for given in self._runs for request in given)
        for waiting in (self._urgent, self._others):
            while waiting:
                if waiting[0].vectors.cancelled():
                    waiting.popleft()
                    continue
                texts += len(waiting[0].texts)
                characters += waiting[0].characters
                if ((run or self._runs) and characters > room) or (run and texts > BATCH_TEXTS):
                    return run
                run.append(waiting.popleft())
        return run

    def _start(self) -> None:
        self._is_loaded = False
        self._process = _AHEAD.pop(self._program, None) or _started(self._program)
        if self._closed:
            self._process.kill()  # `close` has not seen it

    def _send(self, run: list[Request]) -> None:
        # A lone surrogate cannot be spelt in UTF-8.
        texts = [text.encode("utf-8", "replace").decode() for request in run for text in request.texts]
        write_frame(cast("BinaryIO", self._living().stdin), orjson.dumps(texts))

    def _receive(self) -> None:
        """Take the answer to the oldest run. Raises OSError when the process has ended, _NotLoaded."""
        if not self._is_loaded:
            if refusal := self._read():
                raise _NotLoaded(refusal.decode("utf-8", "replace"))
            self._is_loaded = True
        answer = self._read()
        run = self._runs.popleft()
        rows = np.frombuffer(answer, "<f4").reshape(sum(len(request.texts) for request in run), -1)
        pairs: list[Answer] = []
        start = 0
        for request in run:
            pairs.append((request, rows[start : start + len(request.texts)]))
            start += len(request.texts)
        _answer(pairs)

    def _read(self) -> bytes:
        frame = read_frame(cast("BinaryIO", self._living().stdout))
        if frame is None:
            raise BrokenPipeError("the encoder's process has ended")
        return frame

    def _living(self) -> subprocess.Popen[bytes]:
        assert self._process is not None  # noqa: S101 - `_fill` has started it
        return self._process

    def _end(self) -> None:
        """Put the process away, dead or alive."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            with suppress(OSError):
                process.communicate()  # closes the pipes and waits

    def _fail(self, why: str) -> None:
        """Fail every waiting request; callers whose failures are passing ask again."""
        waiting = [*(r for run in self._runs for r in run), *self._urgent, *self._others]
        for requests in (self._runs, self._urgent, self._others):
            requests.clear()
        _answer([(r, EmbedderUnavailable(f"{self._name} {why}")) for r in waiting])


def _end_ahead(program: bytes) -> None:
    if (process := _AHEAD.pop(program, None)) is not None:
        process.kill()
        process.communicate()  # closes the pipes and waits


def _started(program: bytes) -> subprocess.Popen[bytes]:
    # -P: the working directory may hold a folder of our name. A group of its own: Ctrl-C is for this process.
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", "projections.embedding.encoder", program.decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )


def _answer(pairs: Sequence[Answer]) -> None:
    """Answer in each request's own loop, all of a loop in one turn."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for pair in pairs:
        by_loop.setdefault(pair[0].loop, []).append(pair)
    for loop, some in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: no caller waits in it any more
            loop.call_soon_threadsafe(_resolve, some)


def _resolve(pairs: Sequence[Answer]) -> None:
    for request, answer in pairs:
        if request.vectors.done():
            continue
        if isinstance(answer, EmbedderUnavailable):
            request.vectors.set_exception(answer)
        else:
            request.vectors.set_result(answer)
