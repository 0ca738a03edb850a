"""JSON Lines of input events. Each line is checked here, so that an error can give its line number."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import orjson

from schemas.identity import DEFAULT_TENANT, derived_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
"""The longest possible line: the text of an event alone may have 64 KiB."""
_BOM: Final = b"\xef\xbb\xbf"
_OPENINGS: Final = (b"{", b"[")
"""The first characters of a file that is JSON over several lines."""


@dataclass(frozen=True, slots=True)
class EventLine:
    """A line that can be published: its place, and the event as JSON with its id."""

    file: str
    line: int
    event: dict[str, Any]
    size: int
    """The size of the event as JSON, in bytes."""
    is_named: bool = True
    """Whether the event had its own id, as opposed to one derived from the words."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be published, and why."""

    file: str
    line: int
    error: str


def event_lines(name: str, stream: BinaryIO, now: datetime) -> Iterator[EventLine | BadLine]:
    """Read the lines of a stream in order, without the blank ones; the stream is never loaded as a whole.

    An event without an `event_id` gets one from its content and the number of its occurrence in the stream, so that
    publishing the same file twice counts once.
    """
    met: Counter[bytes] = Counter()
    return json_lines(name, stream, lambda text: _checked(text, now, met))


def json_lines(
    name: str, stream: BinaryIO, checked: Callable[[bytes], tuple[dict[str, Any], bool]]
) -> Iterator[EventLine | BadLine]:
    """Read the lines of a stream in order, each as `checked` returns it, which raises InvalidEvent.

    `checked` also returns whether the line had its own id.
    """
    from schemas.inputs.input_events import InvalidEvent  # noqa: PLC0415 - all commands import this, few read lines

    number = 0
    while raw := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
            _skip_rest(stream)
            yield BadLine(name, number, f"has more than {MAX_LINE_BYTES} bytes: split the event")
            continue
        text = raw.removeprefix(_BOM).strip() if number == 1 else raw.strip()
        if not text:
            continue
        try:
            event, is_named = checked(text)
        except orjson.JSONDecodeError as error:
            yield BadLine(name, number, f"is not JSON: {error}{_hint(text)}")
        except InvalidEvent as error:
            yield BadLine(name, number, str(error))
        else:
            yield EventLine(name, number, event, len(orjson.dumps(event)), is_named)


def _hint(text: bytes) -> str:
    """Return advice about a line that is not JSON, as far as its text suggests a cause."""
    if text in _OPENINGS:
        return "; put one event on each line"
    try:
        text.decode()
    except UnicodeDecodeError:
        return "; its bytes are no UTF-8: save the file as UTF-8"
    return ""


def _checked(text: bytes, now: datetime, met: Counter[bytes]) -> tuple[dict[str, Any], bool]:
    from schemas.inputs.input_events import Fault, InvalidEvent, new_event  # noqa: PLC0415 - as above

    raw: Any = orjson.loads(text)
    if isinstance(raw, list):
        raise InvalidEvent([Fault("$", "is a JSON array: put one event on each line, as `jq -c '.[]'` does")])
    observation = new_event(raw, tenant=DEFAULT_TENANT, accepted_at=now, event_id="unnamed")
    if raw.get("event_id") is not None:
        return dict(raw), True
    digest = observation.body_digest or b""
    met[digest] += 1
    return {**raw, "event_id": derived_id("line", digest.hex(), met[digest])}, False


def _skip_rest(stream: BinaryIO) -> None:
    while (part := stream.readline(MAX_LINE_BYTES)) and not part.endswith(b"\n"):
        pass
