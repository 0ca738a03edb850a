"""Open streams: bounded in number, because each occupies a connection for hours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mnemolog.http.authentication import STREAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Scope

MAX_STREAMS: Final = 512
"""Streams of wakes that a worker keeps open, of all callers."""


class TooManyStreams(Exception):
    """The worker has no stream left: ask again in a moment, or another worker."""


class Streams:
    """Counts the streams of a worker."""

    def __init__(self, most: int = MAX_STREAMS) -> None:
        self._most = most
        self._open = 0

    @contextmanager
    def counted(self, scope: Scope) -> Iterator[None]:
        """Count a request for a stream while it is answered. Raises TooManyStreams."""
        if scope["path"] not in STREAMS:
            yield
            return
        if self._open >= self._most:
            raise TooManyStreams
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
