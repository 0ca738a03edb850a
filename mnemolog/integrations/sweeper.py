"""A thread that repeats a function until it is stopped."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from threading import Event, Thread
from typing import TYPE_CHECKING

from mnemolog.client.errors import MnemologError

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("mnemolog.integrations")


class Sweeper:
    """Calls a function periodically, in a thread that does not keep the program alive."""

    def __init__(self, sweep: Callable[[], object], every_seconds: float) -> None:
        self._sweep = sweep
        self._every_seconds = every_seconds
        self._stopping = Event()
        self.done: Future[None] = Future()
        """A future that is done when the thread has ended."""
        self._thread = Thread(target=self._run, name="mnemolog-sweeper", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the thread and wait at most `timeout` seconds (None: no limit); return whether it has ended."""
        self._stopping.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.wait(self._every_seconds):
            try:
                self._sweep()
            except MnemologError as error:
                log.warning("what has ended could not be deleted, and is tried again: %s", error)
        self.done.set_result(None)
