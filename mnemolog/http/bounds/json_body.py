"""Bodies of JSON and of JSON lines, parsed within bounds, because a small text may still contain a million values."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.cluster.peers import LINES
from mnemolog.http.problems import MAX_ERRORS, InvalidRequest, Problem
from schemas.inputs.faults import MAX_NAME_CHARACTERS
from schemas.inputs.input_events import Fault
from schemas.inputs.slices import in_slices

if TYPE_CHECKING:
    from collections.abc import Iterator

NDJSON: Final = (LINES, "application/ndjson", "application/jsonl")
MAX_VALUES: Final = 200_000
"""The values that one JSON text may contain, counting members and items: 200 for each of 1,000 events."""
MAX_LINE_BYTES: Final = 2 * 1024 * 1024
"""The maximum size of a line; larger than any event or memory, even with an image and all text escaped."""
LEAST_WHOLE: Final = -(2**63)
MOST_WHOLE: Final = 2**64 - 1
_MOST_DIGITS: Final = 20
_LONG_NUMBER: Final = re.compile(rb"\d{19}")
_LINE: Final = re.compile(rb"\S[^\n]*")
_TEXT: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
"""A JSON string, even an unterminated one; each byte is matched only once."""
_BEFORE_VALUES: Final = (b",", b"[", b"{")


def read_json(text: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a JSON text. Raises orjson.JSONDecodeError, and Problem if it contains too many values.

    Also raises Problem for values that would not be preserved: integers beyond 64 bits, and a member that occurs twice
    with different values.
    """
    if _most_values(text) > MAX_VALUES and _most_values(_TEXT.sub(b"", text)) > MAX_VALUES:
        detail = f"the body holds more than {MAX_VALUES} values: send it in parts"
        raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
    found = orjson.loads(text)
    if isinstance(found, dict | list) and (
        _LONG_NUMBER.search(text) or _members(found) != _TEXT.sub(b"", text).count(b":")
    ):
        faults = list(islice(_lost(json.loads(text, object_pairs_hook=_Pairs, parse_int=_Whole), "$"), MAX_ERRORS))
        if faults:
            raise InvalidRequest(*faults)
    return found


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, in order."""


class _Whole(str):
    """An integer as it is written."""

    __slots__ = ()


def _members(value: object) -> int:
    """Return the number of members of all objects in a value."""
    waiting, count = [value], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            count += len(one)
            waiting += [each for each in one.values() if isinstance(each, dict | list)]
        elif isinstance(one, list):
            waiting += [each for each in one if isinstance(each, dict | list)]
    return count


def _lost(value: object, place: str) -> Iterator[Fault]:
    """Yield a fault for each value that would not be preserved."""
    if isinstance(value, _Whole):
        if len(value) > _MOST_DIGITS or not LEAST_WHOLE <= int(value) <= MOST_WHOLE:
            yield Fault(place, "has more than 64 bits: send it as a text")
    elif isinstance(value, _Pairs):
        said: dict[str, Any] = {}
        for name, member in value:
            inner = f"{place}.{name[:MAX_NAME_CHARACTERS]}"
            if name in said and said[name] != member:
                yield Fault(inner, "is there twice, with different values: say which one is meant")
            said[name] = member
            yield from _lost(member, inner)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _lost(item, f"{place}[{number}]")


def _most_values(text: bytes) -> int:
    """Return an upper bound for the values of a text, because each one follows one of three characters."""
    return 1 + sum(map(text.count, _BEFORE_VALUES))


def body_of_lines(description: str) -> dict[str, Any]:
    """Return the description of a body that `read_events` reads, for the OpenAPI document."""
    return {
        "requestBody": {
            "required": True,
            "description": description,
            "content": {
                "application/json": {"schema": {"anyOf": [{"type": "object"}, {"type": "array"}]}},
                NDJSON[0]: {"schema": {"type": "string"}},
            },
        }
    }


async def read_events(body: bytes, content_type: str, most: int) -> tuple[list[Any], bool]:
    """Return the raw events of a body, and whether they are a list. Raises Problem, also for more than `most` events.

    NDJSON is recognised by its content type, or by a first line that is JSON if the whole body is not.
    """
    if content_type.partition(";")[0].strip().lower() in NDJSON:
        return await _lines(body, most), True
    try:
        whole = read_json(body)
    except orjson.JSONDecodeError as error:
        if _is_json(body.lstrip().partition(b"\n")[0]):
            return await _lines(body, most), True
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"the body is not JSON: {error}", [_not_json("$")]) from None
    if not isinstance(whole, list):
        return [whole], False
    if len(whole) > most:
        raise _too_many(most)
    return whole, True


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


async def _lines(body: bytes, most: int) -> list[Any]:
    """Return the values of the lines. They are counted before any is parsed; parsing ends at MAX_ERRORS bad lines."""
    places = [match.span() for match in islice(_LINE.finditer(body), most + 1)]
    if len(places) > most:
        raise _too_many(most)
    events: list[Any] = []
    faults: list[Fault] = []
    number, counted = 1, 0
    async for place, (start, end) in in_slices(enumerate(places)):
        number, counted = number + body.count(b"\n", counted, start), start
        try:
            if end - start > MAX_LINE_BYTES:
                faults.append(Fault(f"$[{place}]", f"line {number} has more than {MAX_LINE_BYTES} bytes"))
            else:
                events.append(read_json(body[start:end]))
        except orjson.JSONDecodeError as error:
            faults.append(Fault(f"$[{place}]", f"line {number} is not JSON: {error}"))
        if len(faults) > MAX_ERRORS:
            break
    if faults:
        raise InvalidRequest(*faults)
    return events


def _too_many(most: int) -> Problem:
    detail = f"the request has more events or lines than allowed: at most {most}, send them in parts"
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)


def _not_json(path: str) -> Fault:
    return Fault(path, "must be one event, an array of events, or one event a line")
