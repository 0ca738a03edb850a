"""Streams that are open: each keeps a connection for hours, whatever it came with."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mnemolog.http.authentication import STREAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Scope

MAX_STREAMS: Final = 512
"""Open streams of wakes in a worker, of all callers."""


class TooManyStreams(Exception):
    """As many streams as a worker has are open: ask again in a moment, or another worker."""


class Streams:
    """Counts the streams of a worker."""

    def __init__(self, most: int = MAX_STREAMS) -> None:
        self._most = most
        self._open = 0

    @contextmanager
    def counted(self, scope: Scope) -> Iterator[None]:
        """Count a request as long as it is answered, if it is for a stream. Raises TooManyStreams."""
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
