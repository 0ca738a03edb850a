"""Rates: a key's limits of requests per second and of open streams. Each worker grants its share of them."""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mnemolog.access.verifier import TooMany
from schemas.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mnemolog.access.key import Key

MAX_KEYS: Final = 10_000
STREAM_SECONDS: Final = 5.0
"""The Retry-After of a refused stream."""


class Rates:
    """The requests and open streams of each key at this worker."""

    def __init__(self, workers: Callable[[], int] = lambda: 1, clock: Callable[[], float] = time.monotonic) -> None:
        """`workers` returns the number of workers in the group, which share the rate of a key."""
        self._workers = workers
        self._clock = clock
        self._used = BoundedCache[str, tuple[float, float]](MAX_KEYS)
        """The requests of each key that still count, and the time of that count."""
        self._streams: Counter[str] = Counter()

    def take_request(self, key: Key) -> None:
        """Count a request. Raises TooMany if the key exceeds this worker's share of its rate."""
        rate = self._share_of(key)
        if rate is None:
            return
        used = self._still_used(key, rate)
        if used + 1 > math.ceil(rate):
            detail = f"the key {key.key_id} may send {key.limits.requests_per_second:g} requests a second: wait"
            raise TooMany(detail, (used + 1 - math.ceil(rate)) / rate)
        self._note(key, used + 1)

    def add_request(self, key: Key) -> None:
        """Count a request that is part of an accepted one. It is never refused; the next one waits longer instead."""
        rate = self._share_of(key)
        if rate is not None:
            self._note(key, self._still_used(key, rate) + 1)

    def _share_of(self, key: Key) -> float | None:
        """Return the requests per second that this worker grants a key; None for no limit."""
        rate = key.limits.requests_per_second
        return None if rate is None else max(min(1.0, rate), rate / max(1, self._workers()))

    def _still_used(self, key: Key, rate: float) -> float:
        used, at = self._used.get(key.key_id) or (0.0, 0.0)
        return max(0.0, used - (self._clock() - at) * rate)

    def _note(self, key: Key, used: float) -> None:
        self._used.put(key.key_id, (used, self._clock()))

    @contextmanager
    def stream(self, key: Key) -> Iterator[None]:
        """Count a stream while it is open. Raises TooMany if the key has no stream left."""
        most = key.limits.streams
        if most is not None and self._streams[key.key_id] >= max(1, most // max(1, self._workers())):
            raise TooMany(f"the key {key.key_id} may have {most} open streams: close one", STREAM_SECONDS)
        self._streams[key.key_id] += 1
        try:
            yield
        finally:
            self._streams[key.key_id] -= 1
            if not self._streams[key.key_id]:
                del self._streams[key.key_id]
