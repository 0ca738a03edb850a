"""Rates: how many requests a second and how many open streams a key may have, of which each worker grants its share."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mnemolog.access.verifier import TooMany

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mnemolog.access.key import Key

MAX_KEYS: Final = 10_000
STREAM_SECONDS: Final = 5.0
"""The Retry-After where too many streams are open."""


class Rates:
    """Counts each key's requests and open streams at this worker."""

    def __init__(self, workers: Callable[[], int] = lambda: 1, clock: Callable[[], float] = time.monotonic) -> None:
        """`workers` returns the size of the group: each worker grants its share of a rate."""
        self._workers = workers
        self._clock = clock
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """The requests of each key that still count, and the time of that count; least recently seen first."""
        self._streams: Counter[str] = Counter()

    def take_request(self, key: Key) -> None:
        """Count a request. Raises TooMany beyond a second's share of its rate."""
        rate = self._share_of(key)
        if rate is None:
            return
        used = self._still_used(key, rate)
        if used + 1 > math.ceil(rate):
            detail = f"the key {key.key_id} may send {key.limits.requests_per_second:g} requests a second: wait"
            raise TooMany(detail, (used + 1 - math.ceil(rate)) / rate)
        self._note(key, used + 1)

    def add_request(self, key: Key) -> None:
        """Count a request that is part of one that was let in: it is not refused, and the next waits the longer."""
        rate = self._share_of(key)
        if rate is not None:
            self._note(key, self._still_used(key, rate) + 1)

    def _share_of(self, key: Key) -> float | None:
        """Return how many requests a second of a key this worker grants; None for any number."""
        rate = key.limits.requests_per_second
        return None if rate is None else max(min(1.0, rate), rate / max(1, self._workers()))

    def _still_used(self, key: Key, rate: float) -> float:
        used, at = self._used.get(key.key_id, (0.0, 0.0))
        return max(0.0, used - (self._clock() - at) * rate)

    def _note(self, key: Key, used: float) -> None:
        self._used[key.key_id] = used, self._clock()
        self._used.move_to_end(key.key_id)
        while len(self._used) > MAX_KEYS:
            self._used.popitem(last=False)

    @contextmanager
    def stream(self, key: Key) -> Iterator[None]:
        """Count a stream while it is open. Raises TooMany where the key has as many as it may."""
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
