"""Telemetry: the seam by which spans leave the system, and by which a trace travels with a record through the log.

Nobody listens until `listen` is called: then nothing is made, measured or kept, and no record has another header than
without this module. It knows no time, no random number and no thread; whoever listens does.
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
"""The header of W3C Trace Context: ids and a flag, in which no word fits."""
TRACESTATE: Final = "tracestate"
_FORM: Final = re.compile(rb"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_NOTHING: Final[Attributes] = {}


class Span(Protocol):
    """A piece of work that is told about."""

    @property
    def traceparent(self) -> str | None:
        """The header by which another piece of work follows from this one."""
        ...

    def note(self, attributes: Attributes) -> None:
        """Add what is no word of anybody: ids, numbers, names of ours."""
        ...

    def reveal(self, attributes: Callable[[], Attributes]) -> None:
        """Add words of users, where the operator wants them; else they are not even put together."""
        ...

    def rename(self, name: str) -> None:
        """Give a name that was not known when it began."""
        ...

    def fail(self, kind: str) -> None:
        """Say that it failed, by the kind of the error alone: its text may quote what was sent."""
        ...


class Listener(Protocol):
    """Gets the spans of this process."""

    def span(
        self, name: str, attributes: Attributes, *, kind: Kind, of: Carrier | None, is_measured: bool
    ) -> AbstractContextManager[Span]:
        """Return a span that lasts as long as the block, within the current one, or within the trace of a carrier.

        `is_measured`: its duration counts in the metrics of its kind.
        """
        ...

    def current(self) -> Span:
        """Return the span that is the current one in this context."""
        ...

    def made(self, memory_id: str, traceparent: str) -> None:
        """Keep for a while which span made a memory."""
        ...

    def found(self, memory_ids: Iterable[str]) -> None:
        """Link the current span to those that made some memories, each the first time that it is found."""
        ...


class _Silence:
    """The span where nobody listens."""

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
    """Where the one listener of a process sits."""

    listener: Listener | None = None


_SILENCE: Final = _Silence()


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Have a listener get every span of this process until the block ends."""
    before, _Seat.listener = _Seat.listener, listener
    try:
        yield
    finally:
        _Seat.listener = before


def is_listened_to() -> bool:
    """Return whether anybody gets the spans."""
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
    """Return the span that is the current one."""
    return _SILENCE if _Seat.listener is None else _Seat.listener.current()


def made(memory_ids: Iterable[str], traceparent: str | None) -> None:
    """Keep which span made some memories."""
    if _Seat.listener is not None and traceparent is not None:
        for memory_id in memory_ids:
            _Seat.listener.made(memory_id, traceparent)


def found(memory_ids: Iterable[str]) -> None:
    """Link the current span to those that made some memories, each the first time that it is found."""
    if _Seat.listener is not None:
        _Seat.listener.found(memory_ids)


def outgoing() -> dict[str, str]:
    """Return the headers by which another process goes on with the current trace."""
    traceparent = current().traceparent
    return {} if traceparent is None else {TRACEPARENT: traceparent}


def following(name: str, attributes: Attributes, headers: Headers) -> AbstractContextManager[Span]:
    """Return the span of what is done about a record, in the trace that it came with; nothing where it has none."""
    carrier = carried(headers)
    return _SILENCE if carrier is None else span(name, attributes, kind="consumer", of=carrier)


def carried(headers: Headers) -> Carrier | None:
    """Return the trace that a record came with; None where it has none, and where nobody listens."""
    if _Seat.listener is None:
        return None
    value = next((value for name, value in headers if is_trace(name, value)), None)
    return None if value is None else {TRACEPARENT: value.decode()}


def is_trace(name: str, value: bytes) -> bool:
    """Return whether a header of a record is a trace's, and nothing else."""
    return name == TRACEPARENT and _FORM.fullmatch(value) is not None


def headers_of(traceparent: str | None) -> Headers:
    """Return the headers of a record by which a trace goes on."""
    return () if traceparent is None else ((TRACEPARENT, traceparent.encode()),)


def with_trace(records: Sequence[NewRecord]) -> Sequence[NewRecord]:
    """Return records with the current trace in their headers, each that has none."""
    if not (added := headers_of(current().traceparent)):
        return records
    return [
        one if any(name == TRACEPARENT for name, _ in one.headers) else replace(one, headers=(*one.headers, *added))
        for one in records
    ]
