"""The rules in a child process, which can be killed: no text that they read can block the event loop."""

from __future__ import annotations

import asyncio
import pickle
import select
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from schemas.frames import read_frame, write_frame
from streams.delivery.fair_slots import FairSlots
from streams.extraction.protocol import Extraction, Outage, Rejected
from streams.extraction.rules_lineage import RulesLineage

if TYPE_CHECKING:
    from streams.extraction.protocol import Window

CPU_SECONDS: Final = 2.0
"""Processor time of one window: a hundred times what the longest ordinary one takes."""
ANSWER_SECONDS: Final = 60.0
"""How long the process may take to answer: it may be frozen, or the machine busy."""
MAX_ATTEMPTS: Final = 3
"""Child processes that may die at the same window for other reasons than its processor time."""


class RuleProcess(RulesLineage):
    """Extracts windows one after the other in a child process.

    The process is started when it is first needed, and again after it has died. It ends with this one, however this
    one ends: at the end of its input, or in a window, when that window's processor time is over.
    """

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self._cpu_seconds = cpu_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._turns = FairSlots(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rules")
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None while there is none."""
        return None if self._process is None else self._process.pid

    async def extract(self, window: Window) -> Extraction:
        """Return what the rules find.

        Raises Rejected, with the window's words, where they take too long or fail; Outage after `aclose`.
        """
        frame = pickle.dumps(window, pickle.HIGHEST_PROTOCOL)
        async with self._turns.slot(window.tenant):  # one tenant's windows do not keep another's waiting
            try:
                return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, frame)
            except Rejected as rejected:
                rejected.answer = "\n".join(piece.text for piece in window.pieces)
                raise

    async def aclose(self) -> None:
        """End the process and the thread; a window that is being read is an outage to its caller."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()  # it holds nothing that could be lost
        await asyncio.to_thread(self._thread.shutdown)
        self._end()

    def _answer(self, frame: bytes) -> Extraction:
        for _ in range(MAX_ATTEMPTS):
            answer = self._exchange(frame)
            if isinstance(answer, Extraction):
                return answer
            if isinstance(answer, str):
                raise Rejected(f"the rules failed: {answer}")
            if self._end() == -signal.SIGPROF:
                raise Rejected(f"the rules took more than {self._cpu_seconds:g} s of processor time over these words")
            if self._closed:
                raise Outage("the rules' process is closed")
        raise Rejected(f"the rules' process died {MAX_ATTEMPTS} times over these words")

    def _exchange(self, frame: bytes) -> object:
        """Return the process's answer, or None when it has died, or was killed because it did not answer."""
        process = self._process or self._start()
        answers = cast("BinaryIO", process.stdout)
        try:
            write_frame(cast("BinaryIO", process.stdin), frame)
            poll = select.poll()
            poll.register(answers, select.POLLIN)
            if not poll.poll(ANSWER_SECONDS * 1000):
                process.kill()
            answer = read_frame(answers)
        except OSError:
            return None
        return None if answer is None else pickle.loads(answer)  # noqa: S301 - of our own program

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: the working directory may hold a folder of our name. A group of its own: Ctrl-C is for this process.
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "streams.extraction.rules.child", str(self._cpu_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        if self._closed:
            self._process.kill()  # `aclose` has not seen it
        return self._process

    def _end(self) -> int | None:
        """End the process; return its exit code, None where there was no process."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)  # it has just closed its pipe: how it ended says why
        process.kill()
        with suppress(OSError):
            process.communicate()  # closes the pipes and waits
        return process.returncode
