"""The rules in a child process, which can be killed: no text that they read can block the event loop."""

from __future__ import annotations

import pickle
import signal
from typing import TYPE_CHECKING, Final

from projections.child_process import Child, ChildDied
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


class RuleProcess:
    """Reads windows one after the other in a child process.

    The process is started when it is first needed, and again after it has died. It ends with this one, however this
    one ends: at the end of its input, or in a window, when that window's processor time is over.
    """

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self._cpu_seconds = cpu_seconds
        self._child: Child | None = None
        self._turns = FairSlots(1)
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None while none runs."""
        return None if self._child is None else self._child.pid

    async def read(self, window: Window) -> Reading:
        """Return what the rules find.

        Raises Rejected, with the window's words, where they take too long or fail; Outage while the process cannot be
        started or dies before it was asked anything, and after `aclose`.
        """
        frame = pickle.dumps(window, pickle.HIGHEST_PROTOCOL)
        async with self._turns.slot(window.tenant):  # one tenant's windows do not keep another's waiting
            try:
                return await self._answer(frame)
            except Rejected as rejected:
                rejected.answer = "\n".join(piece.text for piece in window.pieces)
                raise

    async def aclose(self) -> None:
        """End the process; a window that is being read is an outage to its caller."""
        self._closed = True
        if self._child is not None:
            await self._child.aclose()

    async def _answer(self, frame: bytes) -> Reading:
        died = 0
        while died < MAX_ATTEMPTS:
            child = await self._running()
            try:
                found: Reading | str = pickle.loads(await child.ask(frame, ANSWER_SECONDS))  # noqa: S301 - of our own program
            except ChildDied as error:
                if await child.aclose() == -signal.SIGPROF and error.was_at_it:
                    message = f"the rules took more than {self._cpu_seconds:g} s of processor time over these words"
                    raise Rejected(message) from None
                died += error.was_at_it
                continue
            if isinstance(found, str):
                raise Rejected(f"the rules failed: {found}")
            return found
        raise Rejected(f"the rules' process died {MAX_ATTEMPTS} times over these words")

    async def _running(self) -> Child:
        """Return the process, started where there is none. Raises Outage where it cannot be, and after `aclose`."""
        if self._child is not None and self._child.is_over:
            await self._child.aclose()
            self._child = None
        if self._closed:
            raise Outage("the rules' process is closed")
        if self._child is None:
            try:
                self._child = Child("streams.extraction.rules.child", str(self._cpu_seconds))
                await self._child.connect(ANSWER_SECONDS)
            except OSError as error:
                raise Outage(f"the rules' process cannot be started: {error}") from error
        if self._child.is_over:
            raise Outage("the rules' process has ended before it was asked anything")
        return self._child
