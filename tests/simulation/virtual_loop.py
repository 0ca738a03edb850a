"""An event loop without time and without I/O: what runs next is drawn from a seed, and a worker can die or freeze."""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from contextvars import Context, ContextVar, copy_context
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from random import Random

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")
WORKER: Final[ContextVar[str]] = ContextVar("worker", default="")
"""Whose task, callback or timer it is; the empty name is the world outside of all workers."""


class Stuck(AssertionError):
    """Nothing will ever happen again, or far too much did: the run waits for something that does not come."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs one ready handle at a time, drawn at random; `time()` jumps to the next timer when none is ready.

    Every handle carries the context that it was made in, and with it the worker's name: nothing of a dead worker ever
    runs again, not even a `finally`, and what belongs to a frozen one waits. Tasks are referenced until `close`, so
    that the garbage collector does not finish what the crash interrupted.
    """

    def __init__(self, chance: Random, max_steps: int) -> None:
        """`max_steps`: the run is stuck when it takes more."""
        super().__init__()
        self.steps = 0
        self.failures: list[BaseException | str] = []
        self.trace = blake2b(digest_size=16)
        self._chance = chance
        self._max_steps = max_steps
        self._seconds = 0.0
        self._made = 0
        self._runnable: list[tuple[asyncio.Handle, str]] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle, str]] = []
        self._frozen: dict[str, list[tuple[asyncio.Handle, str]]] = {}
        self._dead: set[str] = set()
        self._tasks: list[asyncio.Task[Any]] = []
        self._alarms: list[tuple[int, int, asyncio.Future[None]]] = []

    def time(self) -> float:
        """Return the virtual seconds since the run began."""
        return self._seconds

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """Run until `main` is done, and return its result."""
        task = self.create_task(main)
        events._set_running_loop(self)
        try:
            while not task.done():
                self._step()
        finally:
            events._set_running_loop(None)
        return task.result()

    def crash(self, worker: str) -> None:
        """Stop a worker for ever, where it is."""
        self._dead.add(worker)
        self._frozen.pop(worker, None)
        self._runnable = [entry for entry in self._runnable if entry[1] != worker]
        self._timers = [entry for entry in self._timers if entry[3] != worker]
        heapq.heapify(self._timers)

    def freeze(self, worker: str) -> None:
        """Let nothing of a worker run until it wakes up."""
        self._frozen.setdefault(worker, [])

    def wake(self, worker: str) -> None:
        """Let a frozen worker go on where it stood."""
        self._runnable.extend(self._frozen.pop(worker, ()))

    async def steps_later(self, steps: int) -> None:
        """Return when so many more handles have run."""
        self._made += 1
        alarm = self.create_future()
        heapq.heappush(self._alarms, (self.steps + steps, self._made, alarm))
        await alarm

    def close(self) -> None:
        """Let go of everything; what the crashes interrupted ends here, unseen."""
        events._set_running_loop(self)  # asyncio's own clean-up asks for it
        try:
            for task in self._tasks:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    task.get_coro().close()
        finally:
            events._set_running_loop(None)
        self._tasks.clear()
        self._runnable.clear()
        self._timers.clear()
        super().close()

    # -- what asyncio asks of a loop

    def call_soon(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        """Make a handle ready, unless its worker is dead."""
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        worker = context.get(WORKER, "")
        if worker not in self._dead:
            self._runnable.append((handle, worker))
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Make a handle ready at a virtual time, unless its worker is dead."""
        context = copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        worker = context.get(WORKER, "")
        if worker not in self._dead:
            self._made += 1
            heapq.heappush(self._timers, (when, self._made, handle, worker))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Make a handle ready so many virtual seconds later."""
        return self.call_at(self._seconds + delay, callback, *args, context=context)

    def create_task(
        self,
        coro: Generator[Any, None, Result] | Coroutine[Any, Any, Result],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[Result]:
        """Start a task in the context of the caller, or in the one given."""
        task = asyncio.Task(coro, loop=self, name=None if name is None else str(name), context=context)
        self._tasks.append(task)
        return task

    def run_in_executor(
        self, executor: object, func: Callable[[*Arguments], Result], *args: *Arguments
    ) -> asyncio.Future[Result]:
        """Do a thread's work at once: there are no threads here."""
        del executor
        done: asyncio.Future[Result] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it belongs to who awaits
            done.set_exception(error)
        return done

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what escaped: a run with any of it has failed."""
        self.failures.append(context.get("exception") or str(context["message"]))

    def is_running(self) -> bool:
        """Tell whether this is the running loop."""
        return events._get_running_loop() is self

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer is dropped when its time comes."""

    def _step(self) -> None:
        timers, runnable = self._timers, self._runnable
        while timers and timers[0][0] <= self._seconds:
            _, _, timer, worker = heapq.heappop(timers)
            if not timer.cancelled():
                runnable.append((timer, worker))
        if not runnable:
            self._skip()
            return
        place = self._chance.randrange(len(runnable))
        entry, runnable[place] = runnable[place], runnable[-1]
        runnable.pop()
        handle, worker = entry
        if handle.cancelled():
            return
        if worker in self._frozen:
            self._frozen[worker].append(entry)
            return
        self.steps += 1
        if self.steps > self._max_steps:
            raise Stuck(f"not done after {self._max_steps} steps, at {self._seconds:.1f} virtual seconds")
        self.trace.update(f"{self._seconds!r}{worker};".encode())
        handle._run()
        self._ring()

    def _skip(self) -> None:
        """Nothing is ready: go on to the next timer, or else to the next alarm."""
        if self._timers:
            self._seconds = self._timers[0][0]
        elif self._alarms:
            self.steps = self._alarms[0][0]
            self._ring()
        else:
            raise Stuck("nothing is ready and no timer runs")

    def _ring(self) -> None:
        while self._alarms and self._alarms[0][0] <= self.steps:
            alarm = heapq.heappop(self._alarms)[2]
            if not alarm.done():
                alarm.set_result(None)
