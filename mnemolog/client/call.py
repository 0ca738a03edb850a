"""A request of the client as a value: its content, the reader of its answer, and whether it may be repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import uuid4

from mnemolog.client.errors import Refused
from schemas.identity import PATH_REFUSED, is_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
Json: TypeAlias = "dict[str, Any]"
Instant: TypeAlias = "datetime | str"
"""A time with an offset: a datetime, or RFC 3339 text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request and the reader of its answer. With an empty `method`, nothing is sent, and `read` gets {}."""

    method: str
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    key: str | None = None
    """The Idempotency-Key: the same key makes it the same request."""
    wait_seconds: float = 0.0
    """How long the server may take by agreement, in addition to the client's timeout."""
    is_repeatable: bool = False
    """Whether a repeat has no further effect."""
    is_text: bool = False
    """Whether the answer is not JSON: `read` then gets it as {"text": …}."""
    read: Callable[[Json], T]


def whole(body: Json) -> Json:
    """Return the answer unchanged."""
    return body


def given(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the fields that are not None, with times as text."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in fields.items()
        if value is not None
    }


def query_of(**fields: Any) -> dict[str, str]:  # noqa: ANN401 - any scalar
    """Return the fields that are not None in the form of a query string."""
    return {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in given(**fields).items()}


def path_of(*parts: str) -> str:
    """Return a path whose parts may hold any text that a URL keeps as one part. Raises Refused otherwise.

    `.` and an empty id would vanish from the URL, which would then name something larger.
    """
    for part in parts:
        if not isinstance(part, str):
            raise Refused(f"an id must be a text, and {part!r} is none")
        if not part:
            raise Refused("an id is empty: give one")
        if is_path(part):
            raise Refused(f"an id {PATH_REFUSED}")
    return "/" + "/".join(quote(part.encode("utf-8", "replace"), safe="") for part in parts)


def spelt(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters with times as text. None is kept, because it is a value to compare with."""
    return {name: _spelt(value) for name, value in filters.items()}


def filter_of(filters: Mapping[str, Any] | None) -> str | None:
    """Return filters in the form of a query string."""
    return None if filters is None else json.dumps(spelt(filters), separators=(",", ":"), ensure_ascii=False)


def _spelt(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return spelt(value)
    return [_spelt(one) for one in value] if isinstance(value, list | tuple) else value


def get(path: str, **query: Any) -> Call[Json]:  # noqa: ANN401 - any scalar
    """Return a GET request, which may be repeated."""
    return Call(method="GET", path=path, query=query_of(**query), is_repeatable=True, read=whole)


def question(path: str, body: object, **query: Any) -> Call[Json]:  # noqa: ANN401 - any scalar
    """Return a read-only request with a body; it may be repeated."""
    return Call(method="POST", path=path, query=query_of(**query), body=body, is_repeatable=True, read=whole)


def command(
    method: str,
    path: str,
    body: object = None,
    key: str | None = None,
    *,
    wait_seconds: float = 0.0,
    **query: Any,  # noqa: ANN401 - any scalar
) -> Call[Json]:
    """Return a command. Its key makes it one command, however often it is sent."""
    return Call(
        method=method,
        path=path,
        query=query_of(**query),
        body=body,
        key=key or str(uuid4()),
        wait_seconds=wait_seconds,
        is_repeatable=True,
        read=whole,
    )
