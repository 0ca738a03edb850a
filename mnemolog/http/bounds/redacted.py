"""Redaction at the door: the texts of a body are redacted before ids, digests and vectors are made of them."""

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
"""The fields of an event that hold words; ids, times and images are taken as they are."""


LINE_TEXTS: Final = (
    *("content", "about", "speaker", "attribute", "value", "event_type", "emotion", "key_dialogue", "metadata"),
    *("text", "query"),
)
"""The fields of an export's line that hold words: of memories, and of reminders and wakes."""


MAX_AT_ONCE: Final = 4 * 1024
"""Characters that are looked through in the event loop; more of them in a thread."""


async def apart(
    work: Callable[Concatenate[Redaction, Any, P], Result],
    redaction: Redaction,
    raw: Any,  # noqa: ANN401 - any JSON
    *more: P.args,
    **named: P.kwargs,
) -> Result:
    """Return what one of the functions below returns: of long texts worked out in a thread. Raises what it raises."""
    if redaction.is_idle or _length(raw) <= MAX_AT_ONCE:
        return work(redaction, raw, *more, **named)
    return await run_in_thread(work, redaction, raw, *more, **named)


def _length(raw: object) -> int:
    """Return about how many characters a value's texts have, as far as that makes a difference."""
    waiting, length = [raw], 0
    while waiting and length <= MAX_AT_ONCE:
        one = waiting.pop()
        length += len(one) if isinstance(one, str) else 1
        waiting += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else ()
    return length


def agent_of(raw: object) -> str | None:
    """Return the agent that an unchecked line names, if it is a name."""
    agent_id = raw.get("agent_id") if isinstance(raw, dict) else None
    return agent_id if isinstance(agent_id, str) else None


def redacted_event(redaction: Redaction, raw: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - any JSON
    """Return an input event without what must not be kept, and how often what was replaced, for `with_counts`.

    What is no object is returned as it is, to be refused where it is read. Raises InvalidEvent, which quotes nothing.
    """
    tally: Counter[str] = Counter()
    redacted = redacted_line(redaction, raw, EVENT_TEXTS, tally)
    counted = None if redaction.is_idle else orjson.dumps(tally, option=orjson.OPT_SORT_KEYS).decode()
    return redacted, counted


def with_counts(event: Observation, counted: str | None) -> Observation:
    """Return an event that says how often what was replaced in it; the end of a session holds no words."""
    return event if counted is None or isinstance(event, SessionEnded) else replace(event, redacted=counted)


def redacted_line(
    redaction: Redaction,
    raw: Any,  # noqa: ANN401 - any JSON
    texts: Iterable[str] = LINE_TEXTS,
    tally: Counter[str] | None = None,
) -> Any:  # noqa: ANN401 - any JSON
    """Return a line of an export without what must not be kept. Raises InvalidEvent, which quotes nothing."""
    if not isinstance(raw, dict):
        return raw
    redacted, faults = _redacted(redaction, raw, texts, tally)
    if faults:
        raise InvalidEvent(faults)
    return redacted


def redacted_fields(redaction: Redaction, fields: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return a command's fields without what must not be kept in those named. Raises Problem, which quotes nothing."""
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
        if (size := _size(given)) > MAX_CONTENT_BYTES:  # before any of it is read
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
    """Return the bytes of a text, or of a value as JSON; 0 for what JSON cannot carry, which is refused elsewhere."""
    if isinstance(given, str):
        return len(given.encode("utf-8", "replace"))
    try:
        return len(orjson.dumps(given))
    except (TypeError, ValueError):
        return 0


def _is_too_deep(given: object) -> bool:
    """Return whether it is refused where it is read."""
    try:
        check_depth(given)
    except ValueError:
        return True
    return False


def _has_outgrown(given: object, redacted: object) -> bool:
    """Return whether the marks of own patterns, longer than what they stand for, made a text too long."""
    if not (isinstance(given, str) and isinstance(redacted, str)) or len(redacted) <= len(given):
        return False
    return len(redacted.encode("utf-8", "replace")) > MAX_CONTENT_BYTES
