"""The client's errors: one root, and a subclass for each way to react."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MnemologError(Exception):
    """mnemolog did not do what it was asked; the message is the problem's detail and says what to do."""

    def __init__(self, detail: str, status: int | None = None, errors: Sequence[Mapping[str, Any]] = ()) -> None:
        """`status` is the HTTP status, if there was an answer; `errors` are the faults as `{path, message}`."""
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.errors = list(errors)


class Refused(MnemologError):
    """The request is wrong: change it. Nothing was changed by it."""


class NotFound(Refused):
    """There is nothing with that name."""


class Conflict(Refused):
    """What the request builds on has changed, or the same id was used for something else before."""


class Unavailable(MnemologError):
    """The server does not answer, or is busy: try again later. Whether the request was carried out may be unknown."""

    def __init__(
        self,
        detail: str,
        status: int | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        """`retry_after_seconds` is the delay that the server requested, if any."""
        super().__init__(detail, status, errors)
        self.retry_after_seconds = retry_after_seconds


class ServerFailed(MnemologError):
    """The server met a bug or something that only its operator can mend: its log says more."""


_BUSY = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


def error_of(status: int, body: object, retry_after: str | None) -> MnemologError:
    """Return the error for an answer; `body` is its JSON, if it has any."""
    problem = body if isinstance(body, dict) else {}
    detail = str(problem.get("detail") or problem.get("title") or f"the server answered {status} without a reason")
    errors = [e for e in problem.get("errors") or [] if isinstance(e, dict)]
    if status in _BUSY:
        seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
        return Unavailable(detail, status, errors, seconds)
    if status == HTTPStatus.NOT_FOUND:
        return NotFound(detail, status, errors)
    if status == HTTPStatus.CONFLICT:
        return Conflict(detail, status, errors)
    return (Refused if status < HTTPStatus.INTERNAL_SERVER_ERROR else ServerFailed)(detail, status, errors)
