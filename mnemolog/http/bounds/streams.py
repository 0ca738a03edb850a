"""Open streams, whose number is bounded because each of them occupies a connection for hours."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mnemolog.access.principal import PRINCIPAL
from mnemolog.http.authentication import STREAMS
from mnemolog.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from starlette.types import Scope

    from mnemolog.access.principal import Principal

MAX_STREAMS: Final = 512
"""The streams that a worker keeps open for all callers."""
MAX_STREAMS_OF_A_TENANT: Final = 128
"""The streams of one tenant, so that none takes them all; callers without keys are not limited, as all are alike."""


_NOT_COUNTED: Final = nullcontext()


UNBUFFERED: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The headers of a stream; without them nginx would buffer its events until 4 or 8 KB have arrived."""


class Streams:
    """Counts the open streams of a worker."""

    def __init__(self, most: int = MAX_STREAMS, most_of_a_tenant: int = MAX_STREAMS_OF_A_TENANT) -> None:
        self._most = most
        self._most_of_a_tenant = most_of_a_tenant
        self._open: Counter[str | None] = Counter()

    def counted(self, scope: Scope) -> AbstractContextManager[None]:
        """Count a request for a stream while it is answered. Raises Problem."""
        return self._counted(scope) if scope["path"] in STREAMS else _NOT_COUNTED

    @contextmanager
    def _counted(self, scope: Scope) -> Iterator[None]:
        principal: Principal | None = scope.get(PRINCIPAL)
        tenant = None if principal is None or principal.key_id is None else principal.tenant
        is_full = tenant is not None and self._open[tenant] >= self._most_of_a_tenant
        if is_full or self._open.total() >= self._most:
            detail = "The worker has no stream left for you: ask again in a moment, or another worker."
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
