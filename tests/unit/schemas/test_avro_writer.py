"""Our writer and fastavro's write the same bytes; ours leaves alone what would be read with another type."""

from __future__ import annotations

import dataclasses
import io
import types
import typing
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables import each

from schemas import codec
from schemas.avro_writer import UnlikeRead, compiled, instant, long
from schemas.messages.envelope import Envelope

INSTANT = datetime(2026, 11, 26, 7, 30, 0, 123456, UTC)
VALUES: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(codec="utf-8")) | st.just("é" * 5_000),
    bytes: st.binary() | st.just(bytes(5_000)),
    int: st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70),
    float: st.floats(),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)) | st.just(INSTANT),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Return what a field may hold by its type."""
    if dataclasses.is_dataclass(hint):
        fields = codec.field_types(typing.cast("type", hint))
        return st.fixed_dictionaries({name: values(kind) for name, kind in fields.items()}).map(
            lambda arguments: hint(**arguments)  # type: ignore[operator]
        )
    if typing.get_origin(hint) is list:
        return st.lists(values(typing.get_args(hint)[0]), max_size=3)
    if typing.get_origin(hint) in {types.UnionType, typing.Union}:
        return st.none() | st.one_of(*(values(one) for one in typing.get_args(hint) if one is not types.NoneType))
    return VALUES[hint]


def by_fastavro(message: Any) -> bytes:
    """Return the encoding of a message as fastavro writes it."""
    schema = codec.released_schema(type(message))
    out = io.BytesIO(codec.MARKER + codec.schema_fingerprint(schema))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), dataclasses.asdict(message))
    return out.getvalue()


@pytest.mark.parametrize("message", codec.MESSAGES, ids=lambda message: message.__name__)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_every_message_is_written_as_fastavro_writes_it(message: type, data: st.DataObject) -> None:
    made = data.draw(values(message))
    assert codec.encode(made) == by_fastavro(made)


def envelope_writer() -> Any:
    """Return a writer of one record with all kinds of fields but a list."""
    schema = {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "event_id", "type": "string"},
            {"name": "occurred_at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        ],
    }
    return compiled(schema, Envelope, lambda _: {})


class Name(str):
    """A string that is read as another class."""

    __slots__ = ()


@each(
    ("event_id", "occurred_at"),
    [
        (Name("a"), INSTANT),
        (b"a", INSTANT),
        ("a", INSTANT.replace(tzinfo=None)),
        ("a", INSTANT.astimezone(ZoneInfo("Europe/Zurich"))),
        ("a", None),
    ],
)
def test_a_value_that_is_read_with_another_type_is_not_written(event_id: Any, occurred_at: Any) -> None:
    strange = Envelope(event_id=event_id, tenant="t", user_id="u", occurred_at=occurred_at)
    with pytest.raises(UnlikeRead):
        envelope_writer()(strange, bytearray())


def test_a_number_of_more_than_64_bits_is_no_long() -> None:
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(UnlikeRead):
            long(number)


def test_an_instant_is_its_microseconds_since_1970() -> None:
    assert instant(datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1)) == long(-1)


def test_a_union_of_other_kinds_is_refused_when_it_is_compiled() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "event_id", "type": ["string", "null"]}]}
    with pytest.raises(ValueError, match="only of null and one more"):
        compiled(schema, Envelope, lambda _: {})


def test_a_record_of_no_known_class_is_refused_when_it_is_compiled() -> None:
    inner = {"type": "record", "name": "S", "fields": [{"name": "text", "type": "string"}]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "event_id", "type": inner}]}
    with pytest.raises(ValueError, match="no class is known"):
        compiled(schema, Envelope, lambda _: {})
