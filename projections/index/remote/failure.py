"""Failures to reach a server, in a sentence: most clients report only that they could not connect."""

from __future__ import annotations

import re
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFUSED = re.compile(r"Connect call failed \('([^']+)', (\d+)")


def sentence(error: BaseException) -> str:
    """Return why a server could not be reached: a cause of the error if that tells more than the error itself."""
    return next(filter(None, map(_explained, causes(error))), None) or str(error) or type(error).__name__


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, then the chain of its causes, down to the first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _explained(error: BaseException) -> str | None:
    if isinstance(error, socket.gaierror):
        return "nobody knows a host of that name"
    if refused := _REFUSED.findall(str(error)):
        return f"nobody listens at {', '.join(f'{host}:{port}' for host, port in refused)}"
    status = getattr(error, "status_code", None)  # many clients' errors have one
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"does not let us in ({status})"
    return None
