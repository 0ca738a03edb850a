"""The encoder in a separate process, so that it computes on another core than the event loop."""

from __future__ import annotations

import asyncio
import atexit
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from projections.child_process import Child
from projections.embedding.embedder import EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

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
ANSWER_SECONDS: Final = 60.0
"""How long the process may take for a run, a hundred times the usual time: it may be frozen, or the machine busy."""

BUILTIN_PROGRAM: Final[Mapping[str, str | int]] = {"kind": "builtin"}
"""The default encoder of the program (`encoder.py`)."""
_AHEAD: Final[dict[bytes, Child]] = {}
"""The processes that were started before their EncoderProcess was created, by their encoder."""


def start_ahead(encoder: Mapping[str, str | int] = BUILTIN_PROGRAM) -> None:
    """Start an encoder, so that it loads its model while this process loads its modules.

    The EncoderProcess for the same encoder takes it over; otherwise it ends with this process.
    """
    program = orjson.dumps(encoder)
    if program not in _AHEAD:
        _AHEAD[program] = _started(program)
        atexit.register(_end_ahead, program)


@dataclass(frozen=True, slots=True)
class Request:
    """Texts to encode, and the future for their vectors."""

    texts: list[str]
    characters: int
    """The characters of all texts in NFKC, which the encoder processes."""
    urgent: bool
    vectors: asyncio.Future[Vectors]


class _NotLoaded(Exception):
    """The process cannot load its model; the message comes from the process."""


class EncoderProcess:
    """An encoder process that computes the texts of waiting requests together, urgent ones first.

    The process is started when it is first needed, and restarted when it has died; its texts are then sent again. It
    ends with this process, however that ends. It belongs to one event loop, that of its requests.
    """

    def __init__(self, name: str = "the built-in embedder", encoder: Mapping[str, str | int] | None = None) -> None:
        """`name` is for messages; `encoder` is the program's encoder, by default the built-in one."""
        self._name = name
        self._program = orjson.dumps(encoder or BUILTIN_PROGRAM)
        self._urgent: deque[Request] = deque()
        self._others: deque[Request] = deque()
        self._runs: deque[list[Request]] = deque()
        """The runs whose answers are due, and `_answers` has them in the same order."""
        self._answers: deque[asyncio.Future[bytes]] = deque()
        self._child: Child | None = None
        self._serving: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process; None while there is none."""
        return None if self._child is None else self._child.pid

    def ask(self, request: Request) -> None:
        """Queue a request; its future gets the vectors, or EmbedderUnavailable."""
        if self._closed:
            raise EmbedderUnavailable(f"{self._name} is closed")
        (self._urgent if request.urgent else self._others).append(request)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())

    async def close(self) -> None:
        """End the process; waiting requests get EmbedderUnavailable."""
        self._closed = True
        if self._child is not None:
            await self._child.aclose()
        if self._serving is not None:
            await asyncio.wait([self._serving])
        self._fail("is closed")

    async def _serve(self) -> None:
        """Answer requests until none waits."""
        attempts = 0
        while not self._closed and (self._runs or self._urgent or self._others):
            try:
                if self._child is None or self._child.is_over:
                    await self._start()
                self._fill()
                if self._runs:
                    await self._receive()
                    attempts = 0
            except _NotLoaded as error:  # another process would fail, too
                self._fail(f"cannot be loaded: {error}")
            except OSError as error:
                attempts += 1
                if attempts >= MAX_ATTEMPTS:
                    self._fail(f"gives no answer: {error}")
                    attempts = 0

    async def _start(self) -> None:
        """Start a process, and send it the runs of the last one. Raises OSError and _NotLoaded."""
        if self._child is not None:
            await self._child.aclose()
        if self._closed:
            raise ChildProcessError("it is closed")
        self._child = _AHEAD.pop(self._program, None) or _started(self._program)
        if refusal := await self._child.connect(math.inf):  # it may have to fetch its model
            await self._child.aclose()
            raise _NotLoaded(refusal.decode("utf-8", "replace"))
        self._answers.clear()
        for run in self._runs:
            self._send(run)

    def _fill(self) -> None:
        """Send the process as many runs as it has room for."""
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

    def _send(self, run: list[Request]) -> None:
        assert self._child is not None  # noqa: S101 - `_start` has started it
        # A lone surrogate cannot be encoded in UTF-8.
        texts = [text.encode("utf-8", "replace").decode() for request in run for text in request.texts]
        self._answers.append(self._child.ask(orjson.dumps(texts), ANSWER_SECONDS))

    async def _receive(self) -> None:
        """Answer the oldest run. Raises OSError if the process has ended."""
        answer = await self._answers[0]
        self._answers.popleft()
        run = self._runs.popleft()
        rows = np.frombuffer(answer, "<f4").reshape(sum(len(request.texts) for request in run), -1)
        start = 0
        for request in run:
            end = start + len(request.texts)
            if not request.vectors.done():
                request.vectors.set_result(rows[start:end])
            start = end

    def _fail(self, why: str) -> None:
        """Fail every waiting request; callers may ask again later."""
        for request in (*(r for run in self._runs for r in run), *self._urgent, *self._others):
            if not request.vectors.done():
                request.vectors.set_exception(EmbedderUnavailable(f"{self._name} {why}"))
        for waiting in (self._runs, self._urgent, self._others):
            waiting.clear()


def _started(program: bytes) -> Child:
    return Child("projections.embedding.encoder", program.decode())


def _end_ahead(program: bytes) -> None:
    if (child := _AHEAD.pop(program, None)) is not None:
        child.kill()
        child.close()
