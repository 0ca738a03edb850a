"""What went wrong on the way to Weaviate, for a person: of most errors its client says that it could not connect."""

from __future__ import annotations

import re
import socket
from http import HTTPStatus

_REFUSED = re.compile(r"Connect call failed \('([^']+)', (\d+)")


def sentence(error: BaseException) -> str:
    """Return why Weaviate could not be asked: what is at the bottom of the error, where that says more than the top."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, socket.gaierror):
            return "nobody knows a host of that name"
        if refused := _REFUSED.findall(str(below)):
            return f"nobody listens at {', '.join(f'{host}:{port}' for host, port in refused)}"
        status = getattr(below, "status_code", None)  # of the client's error of that kind
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return f"does not let us in ({status})"
        if status == HTTPStatus.NOT_FOUND and str(below).startswith("Meta endpoint"):
            return "what listens there is no Weaviate"
        below = below.__cause__ or below.__context__
    return str(error) or type(error).__name__
