"""The encoder in a separate process, so that it computes on another core than the event loop; one thread feeds it."""

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
"""The characters of one run, in NFKC. Longer runs are not faster, and the next request would wait longer."""
RUNS_AHEAD: Final = 2
"""The runs that are sent to the process, so that it has the next one when it finishes the first.

Together they have at most the characters of one run, so that the next request waits a tenth of a second.
"""
MAX_ATTEMPTS: Final = 3
"""How many processes may die over the same texts."""


BUILTIN_PROGRAM: Final[Mapping[str, str | int]] = {"kind": "builtin"}
"""The default encoder of the program (`encoder.py`)."""
_AHEAD: Final[dict[bytes, subprocess.Popen[bytes]]] = {}
"""The processes that were started before their EncoderProcess was created, by their encoder."""


def start_ahead(encoder: Mapping[str, str | int] = BUILTIN_PROGRAM) -> None:
    """Start an encoder, so that it loads its model while this process loads its modules.

    The EncoderProcess for the same encoder takes it over; otherwise it ends with this process.
    """
    program = orjson.dumps(encoder)
    if program not in _AHEAD:
        _AHEAD[program] = _started(program)
        atexit.register(_end_ahead, program)


class _NotLoaded(Exception):
    """The process cannot load its model; the message comes from the process."""


@dataclass(frozen=True, slots=True)
class Request:
    """Texts to encode, and the future for their vectors."""

    texts: list[str]
    characters: int
    """The characters of all texts in NFKC, which the encoder processes."""
    urgent: bool
    loop: asyncio.AbstractEventLoop
    vectors: asyncio.Future[Vectors]


Answer: TypeAlias = "tuple[Request, Vectors | EmbedderUnavailable]"


class EncoderProcess:
    """An encoder process that computes the texts of waiting requests together, urgent ones first.

    The process is started when it is first needed, and restarted when it has died; its texts are then sent again. It
    ends with this process, however that ends. Several event loops may use it.
    """

    def __init__(self, name: str = "the built-in embedder", encoder: Mapping[str, str | int] | None = None) -> None:
        """`name` is for messages; `encoder` is the program's encoder, by default the built-in one."""
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
        """The id of the process; None while there is none."""
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
        """End the process and the thread; waiting requests get EmbedderUnavailable. Blocks for some milliseconds."""
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
            except _NotLoaded as error:  # another process would fail, too
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
        """Take new requests from the queue; wait for one if none is pending."""
        wait = wait and not self._urgent and not self._others
        with suppress(queue.Empty):
            while (request := self._requests.get(block=wait)) is not None:
                (self._urgent if request.urgent else self._others).append(request)
                wait = False

    def _fill(self) -> None:
        """Send the process as many runs as it has room for; a new process first gets the runs of the last one."""
        if self._process is None and (self._runs or self._urgent or self._others):
            self._start()
            for run in self._runs:
                self._send(run)
        while len(self._runs) < RUNS_AHEAD and (run := self._next_run()):
            self._runs.append(run)
            self._send(run)

    def _next_run(self) -> list[Request]:
        """Return the next run of the process; an empty one while it has enough work."""
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
        # A lone surrogate cannot be encoded in UTF-8.
        texts = [text.encode("utf-8", "replace").decode() for request in run for text in request.texts]
        write_frame(cast("BinaryIO", self._living().stdin), orjson.dumps(texts))

    def _receive(self) -> None:
        """Read the answer to the oldest run. Raises OSError if the process has ended, and _NotLoaded."""
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
        """End the process, if it is still alive, and release its resources."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            with suppress(OSError):
                process.communicate()  # closes the pipes and waits

    def _fail(self, why: str) -> None:
        """Fail every waiting request; callers may ask again later."""
        waiting = [*(r for run in self._runs for r in run), *self._urgent, *self._others]
        for requests in (self._runs, self._urgent, self._others):
            requests.clear()
        _answer([(r, EmbedderUnavailable(f"{self._name} {why}")) for r in waiting])


def _end_ahead(program: bytes) -> None:
    if (process := _AHEAD.pop(program, None)) is not None:
        process.kill()
        process.communicate()  # closes the pipes and waits


def _started(program: bytes) -> subprocess.Popen[bytes]:
    # -P: the working directory may contain a folder with our name. Own group: Ctrl-C is meant for this process only.
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", "projections.embedding.encoder", program.decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )


def _answer(pairs: Sequence[Answer]) -> None:
    """Answer each request in its own loop, all requests of a loop in one turn."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for pair in pairs:
        by_loop.setdefault(pair[0].loop, []).append(pair)
    for loop, some in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed and has no waiting callers
            loop.call_soon_threadsafe(_resolve, some)


def _resolve(pairs: Sequence[Answer]) -> None:
    for request, answer in pairs:
        if request.vectors.done():
            continue
        if isinstance(answer, EmbedderUnavailable):
            request.vectors.set_exception(answer)
        else:
            request.vectors.set_result(answer)
