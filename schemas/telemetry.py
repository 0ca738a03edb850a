"""Telemetry: the interface through which spans leave the system, and by which a trace follows a record through the log.

There is no listener until `listen` is called: no spans are created, measured or kept, and records get no additional
headers. This module uses no clock, no random numbers and no threads; a listener may.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from schemas.log import Headers, NewRecord

    Attributes: TypeAlias = Mapping[str, str | int | float | bool]
    Carrier: TypeAlias = Mapping[str, str]

Kind: TypeAlias = Literal["internal", "server", "client", "consumer"]

TRACEPARENT: Final = "traceparent"
"""The header of W3C Trace Context: ids and a flag, which cannot hold words of users."""
TRACESTATE: Final = "tracestate"
_FORM: Final = re.compile(rb"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_NOTHING: Final[Attributes] = {}


class Span(Protocol):
    """A piece of work that is reported."""

    @property
    def traceparent(self) -> str | None:
        """The header by which another piece of work continues the trace of this one."""
        ...

    def note(self, attributes: Attributes) -> None:
        """Add attributes without words of users: ids, numbers, our own names."""
        ...

    def reveal(self, attributes: Callable[[], Attributes]) -> None:
        """Add words of users, if the operator wants them; otherwise `attributes` is not even called."""
        ...

    def rename(self, name: str) -> None:
        """Set a name that was not known at the beginning."""
        ...

    def fail(self, kind: str) -> None:
        """Mark the span as failed, with only the kind of the error: its text may quote the input."""
        ...


class Listener(Protocol):
    """A receiver of the spans of this process."""

    def span(
        self, name: str, attributes: Attributes, *, kind: Kind, of: Carrier | None, is_measured: bool
    ) -> AbstractContextManager[Span]:
        """Return a span that lasts as long as the block, inside the current one or the trace of a carrier.

        With `is_measured`, its duration counts in the metrics of its kind.
        """
        ...

    def current(self) -> Span:
        """Return the current span of this context."""
        ...

    def made(self, memory_id: str, traceparent: str) -> None:
        """Remember for a while which span created a memory."""
        ...

    def found(self, memory_ids: Iterable[str]) -> None:
        """Link the current span to those that created the memories, each only the first time it is found."""
        ...


class _Silence:
    """The span without a listener."""

    @property
    def traceparent(self) -> str | None:
        return None

    def note(self, attributes: Attributes) -> None:
        """Do nothing."""

    def reveal(self, attributes: Callable[[], Attributes]) -> None:
        """Do nothing."""

    def rename(self, name: str) -> None:
        """Do nothing."""

    def fail(self, kind: str) -> None:
        """Do nothing."""

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class _Seat:
    """The holder of the process's only listener."""

    listener: Listener | None = None


_SILENCE: Final = _Silence()


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send every span of this process to a listener until the block ends."""
    before, _Seat.listener = _Seat.listener, listener
    try:
        yield
    finally:
        _Seat.listener = before


def is_listened_to() -> bool:
    """Return whether there is a listener."""
    return _Seat.listener is not None


def span(
    name: str,
    attributes: Attributes = _NOTHING,
    *,
    kind: Kind = "internal",
    of: Carrier | None = None,
    is_measured: bool = True,
) -> AbstractContextManager[Span]:
    """Return a span that lasts as long as the block; see `Listener.span`."""
    if _Seat.listener is None:
        return _SILENCE
    return _Seat.listener.span(name, attributes, kind=kind, of=of, is_measured=is_measured)


def current() -> Span:
    """Return the current span."""
    return _SILENCE if _Seat.listener is None else _Seat.listener.current()


def made(memory_ids: Iterable[str], traceparent: str | None) -> None:
    """Remember which span created the memories."""
    if _Seat.listener is not None and traceparent is not None:
        for memory_id in memory_ids:
            _Seat.listener.made(memory_id, traceparent)


def found(memory_ids: Iterable[str]) -> None:
    """Link the current span to those that created the memories, each only the first time it is found."""
    if _Seat.listener is not None:
        _Seat.listener.found(memory_ids)


def outgoing() -> dict[str, str]:
    """Return the headers by which another process continues the current trace."""
    traceparent = current().traceparent
    return {} if traceparent is None else {TRACEPARENT: traceparent}


def following(name: str, attributes: Attributes, headers: Headers) -> AbstractContextManager[Span]:
    """Return a span for the handling of a record, in the trace of its headers; a silent one without a trace."""
    carrier = carried(headers)
    return _SILENCE if carrier is None else span(name, attributes, kind="consumer", of=carrier)


def carried(headers: Headers) -> Carrier | None:
    """Return the trace in a record's headers; None if it has none or there is no listener."""
    if _Seat.listener is None:
        return None
    value = next((value for name, value in headers if is_trace(name, value)), None)
    return None if value is None else {TRACEPARENT: value.decode()}


def is_trace(name: str, value: bytes) -> bool:
    """Return whether a header of a record is a valid trace."""
    return name == TRACEPARENT and _FORM.fullmatch(value) is not None


def headers_of(traceparent: str | None) -> Headers:
    """Return the headers of a record that continue a trace."""
    return () if traceparent is None else ((TRACEPARENT, traceparent.encode()),)


def with_trace(records: Sequence[NewRecord]) -> Sequence[NewRecord]:
    """Return records with the current trace added to the headers of those that have none."""
    if not (added := headers_of(current().traceparent)):
        return records
    return [
        one if any(name == TRACEPARENT for name, _ in one.headers) else replace(one, headers=(*one.headers, *added))
        for one in records
    ]
