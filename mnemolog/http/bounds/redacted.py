"""Redaction at the edge: the texts of a body are redacted before ids, digests and vectors are computed from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import orjson

from mnemolog.http.problems import InvalidRequest
from projections.blocking_work import run_in_thread
from schemas.inputs.input_events import MAX_CONTENT_BYTES, Fault, InvalidEvent
from schemas.inputs.nesting import check_depth
from schemas.messages.observations import SessionEnded
from schemas.redaction import Redaction, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from schemas.messages.observations import Observation

P = ParamSpec("P")
Result = TypeVar("Result")
EVENT_TEXTS: Final = ("name", "content", "text", "summary", "app", "title", "context", "metadata")
"""The fields of an event that contain text; ids, times and images are not redacted."""


LINE_TEXTS: Final = (
    *("content", "about", "speaker", "attribute", "value", "event_type", "emotion", "key_dialogue", "metadata"),
    *("text", "query"),
)
"""The fields of an export's line that contain text: of memories, and of reminders and wakes."""


MAX_AT_ONCE: Final = 4 * 1024
"""The characters that are redacted in the event loop at most; longer texts are redacted in a thread."""


async def apart(
    work: Callable[Concatenate[Redaction, Any, P], Result],
    redaction: Redaction,
    raw: Any,  # noqa: ANN401 - any JSON
    *more: P.args,
    **named: P.kwargs,
) -> Result:
    """Call one of the functions below, in a thread for long texts, and return its result. Raises its errors."""
    if redaction.is_idle or _length(raw) <= MAX_AT_ONCE:
        return work(redaction, raw, *more, **named)
    return await run_in_thread(work, redaction, raw, *more, **named)


def _length(raw: object) -> int:
    """Return the approximate number of characters in a value's texts, counted until it exceeds MAX_AT_ONCE."""
    waiting, length = [raw], 0
    while waiting and length <= MAX_AT_ONCE:
        one = waiting.pop()
        length += len(one) if isinstance(one, str) else 1
        waiting += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else ()
    return length


def agent_of(raw: object) -> str | None:
    """Return the agent that an unchecked line names, or None if that is not a text."""
    agent_id = raw.get("agent_id") if isinstance(raw, dict) else None
    return agent_id if isinstance(agent_id, str) else None


def redacted_event(redaction: Redaction, raw: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - any JSON
    """Return a redacted input event, and the counts of its redactions for `with_counts`.

    A value that is not an object is returned unchanged, because the parser refuses it. Raises InvalidEvent, which
    quotes nothing.
    """
    tally: Counter[str] = Counter()
    redacted = redacted_line(redaction, raw, EVENT_TEXTS, tally)
    counted = None if redaction.is_idle else orjson.dumps(tally, option=orjson.OPT_SORT_KEYS).decode()
    return redacted, counted


def with_counts(event: Observation, counted: str | None) -> Observation:
    """Return an event with the counts of its redactions; the end of a session has no text, and stays unchanged."""
    return event if counted is None or isinstance(event, SessionEnded) else replace(event, redacted=counted)


def redacted_line(
    redaction: Redaction,
    raw: Any,  # noqa: ANN401 - any JSON
    texts: Iterable[str] = LINE_TEXTS,
    tally: Counter[str] | None = None,
) -> Any:  # noqa: ANN401 - any JSON
    """Return a redacted line of an export. Raises InvalidEvent, which quotes nothing."""
    if not isinstance(raw, dict):
        return raw
    redacted, faults = _redacted(redaction, raw, texts, tally)
    if faults:
        raise InvalidEvent(faults)
    return redacted


def redacted_fields(redaction: Redaction, fields: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a command, with those named in `texts` redacted. Raises Problem, which quotes nothing."""
    redacted, faults = _redacted(redaction, fields, texts)
    if faults:
        raise InvalidRequest(*faults)
    return redacted


def _redacted(
    redaction: Redaction, fields: Mapping[str, Any], texts: Iterable[str], tally: Counter[str] | None = None
) -> tuple[dict[str, Any], list[Fault]]:
    redacted = dict(fields)
    faults: list[Fault] = []
    if redaction.is_idle:
        return redacted, faults
    for name in texts:
        given = redacted.get(name)
        if given is None or _is_too_deep(given):
            continue
        if (size := _size(given)) > MAX_CONTENT_BYTES:  # checked before the text is searched
            faults.append(Fault(f"$.{name}", f"has {size} bytes: at most {MAX_CONTENT_BYTES} are allowed, split it"))
            continue
        try:
            redacted[name] = redaction.value(given, tally)
        except Refused as refused:
            faults.append(Fault(f"$.{name}", str(refused)))
            continue
        if _has_outgrown(given, redacted[name]):
            faults.append(
                Fault(f"$.{name}", f"has more than {MAX_CONTENT_BYTES} bytes when marks stand in it: split it")
            )
    return redacted, faults


def _size(given: object) -> int:
    """Return the size of a text, or of a value as JSON, in bytes; 0 if it is not JSON, which is refused elsewhere."""
    if isinstance(given, str):
        return len(given.encode("utf-8", "replace"))
    try:
        return len(orjson.dumps(given))
    except (TypeError, ValueError):
        return 0


def _is_too_deep(given: object) -> bool:
    """Return whether a value is nested too deeply, which the parser refuses."""
    try:
        check_depth(given)
    except ValueError:
        return True
    return False


def _has_outgrown(given: object, redacted: object) -> bool:
    """Return whether a text is too long because the marks of custom patterns are longer than the text they replace."""
    if not (isinstance(given, str) and isinstance(redacted, str)) or len(redacted) <= len(given):
        return False
    return len(redacted.encode("utf-8", "replace")) > MAX_CONTENT_BYTES
