"""Open streams: bounded in number, because each occupies a connection for hours."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from mnemolog.access.principal import PRINCIPAL
from mnemolog.http.authentication import STREAMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from starlette.types import Scope

    from mnemolog.access.principal import Principal

MAX_STREAMS: Final = 512
"""Streams that a worker keeps open, of all callers."""
MAX_STREAMS_OF_A_TENANT: Final = 128
"""The same of one tenant, so that none takes them all; not of callers without keys, who are all one."""


_NOT_COUNTED: Final = nullcontext()


UNBUFFERED: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers of a stream: nginx would else hold back its events until 4 or 8 KB have come."""


class TooManyStreams(Exception):
    """The worker has no stream left for you: ask again in a moment, or another worker."""


class Streams:
    """Counts the streams of a worker."""

    def __init__(self, most: int = MAX_STREAMS, most_of_a_tenant: int = MAX_STREAMS_OF_A_TENANT) -> None:
        self._most = most
        self._most_of_a_tenant = most_of_a_tenant
        self._open: Counter[str | None] = Counter()

    def counted(self, scope: Scope) -> AbstractContextManager[None]:
        """Count a request for a stream while it is answered. Raises TooManyStreams."""
        return self._counted(scope) if scope["path"] in STREAMS else _NOT_COUNTED

    @contextmanager
    def _counted(self, scope: Scope) -> Iterator[None]:
        principal: Principal | None = scope.get(PRINCIPAL)
        tenant = None if principal is None or principal.key_id is None else principal.tenant
        is_full = tenant is not None and self._open[tenant] >= self._most_of_a_tenant
        if is_full or self._open.total() >= self._most:
            raise TooManyStreams
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
