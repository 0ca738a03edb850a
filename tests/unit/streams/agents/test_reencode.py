"""Registry Avro: read by the writer's schema, appended again where the log alone explains it, in order, once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from fastavro.schema import parse_schema
from support.examples import XIAOMING, envelope, later
from support.registry_avro import (
    ENDED,
    INCOMPATIBLE,
    OURS,
    SAID_AT,
    SCHEMAS,
    THEIRS,
    Schemas,
    end,
    in_registry_avro,
    theirs,
    turn,
)
from support.workbench import Workbench

from schemas import codec
from schemas.identity import Owner
from schemas.inputs.decoding import SCHEMA_HEADER, InRegistryAvro, observation_of_record, observation_of_registry
from schemas.inputs.input_events import InvalidEvent
from schemas.log import NewRecord, Position, Record
from schemas.messages.erasure import Cut, EraseUser
from schemas.messages.observations import OBSERVATIONS, TurnRecorded
from schemas.topics import CONVERSATIONS, partition_of
from streams.transports.milliseconds import from_ms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANNA = Owner("default", "anna")
GUID = UUID("89791762-2336-4186-9674-299b90a802e2")


def record_with(value: bytes, schema: bytes | None = None) -> Record:
    """Return a record as somebody else's producer writes it, with a header that names its schema."""
    headers = () if schema is None else ((SCHEMA_HEADER, schema),)
    place = Position(CONVERSATIONS.name, 0, 0)
    at = datetime(2026, 1, 5, tzinfo=UTC)
    return Record(position=place, recorded_at=at, key=XIAOMING.key, value=value, headers=headers)


@pytest.fixture
def schemas() -> Schemas:
    return Schemas()


@pytest.fixture
def bench(tmp_path: Path, schemas: Schemas) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one", schemas=schemas)
    yield bench
    bench.close()
    assert bench.failures == []


async def published(bench: Workbench, value: bytes, key: bytes | None = XIAOMING.key) -> Record:
    return await bench.publish(CONVERSATIONS.name, value, key)


async def appended(bench: Workbench, since: int, partition: int = 0) -> list[Record]:
    return await bench.log.read(CONVERSATIONS.name, partition, since)


async def test_a_record_in_registry_avro_is_appended_again_so_that_the_log_alone_explains_it(bench: Workbench):
    first = await published(bench, in_registry_avro(OURS, turn("t-1")))
    last = await published(bench, in_registry_avro(ENDED, end("e-1")))
    await bench.observes(first, last)
    again = await appended(bench, 2)
    assert [codec.decode(r.value).envelope.event_id for r in again] == ["t-1", "e-1"]
    assert [r.key for r in again] == [XIAOMING.key] * 2
    assert bench.acked == [str(first.position), str(last.position)]
    assert bench.extractor.asked == []
    await bench.observes(*again)
    assert bench.extractor.asked == [["t-1#0"]]


async def test_the_position_of_the_event_is_the_one_that_folds_can_read(bench: Workbench):
    await bench.observes(await published(bench, in_registry_avro(OURS, turn("t-1"))))
    await bench.observes(*await appended(bench, 1))
    seen = bench.shards.at(0).observations.seen(XIAOMING, ["t-1"])
    assert seen["t-1"].position == Position(CONVERSATIONS.name, 0, 1)


async def test_delivered_and_published_twice_is_once(bench: Workbench):
    value = in_registry_avro(OURS, turn("t-1"))
    records = [await published(bench, value), await published(bench, value)]
    await bench.observes(*records, *records)
    await bench.observes(*await appended(bench, 2), await bench.ends("e-1"))
    assert bench.extractor.asked == [["t-1#0"]]
    assert await bench.dead() == []


async def test_another_producers_schema_is_read_by_defaults(bench: Workbench):
    await bench.observes(await published(bench, in_registry_avro(THEIRS, turn("t-1", at=SAID_AT // 1000))))
    [again] = await appended(bench, 1)
    message = codec.decode_as(again.value, TurnRecorded)
    assert (message.content, message.infer, message.context, message.metadata) == ("我喜欢喝咖啡", True, None, "{}")
    assert message.envelope.occurred_at == datetime(2026, 1, 5, 8, tzinfo=UTC)


async def test_a_record_without_a_key_or_on_the_wrong_partition_comes_to_the_partition_of_its_user(tmp_path: Path):
    bench = Workbench(tmp_path, partitions=8, schemas=Schemas())
    right = partition_of(XIAOMING.key, 8)
    value = in_registry_avro(OURS, turn("t-1"))
    records = [await bench.publish(CONVERSATIONS.name, value, key, (right + 1) % 8) for key in (None, XIAOMING.key)]
    await bench.observes(*records)
    assert [r.key for r in await appended(bench, 0, right)] == [XIAOMING.key] * 2
    bench.close()


@pytest.mark.parametrize(
    ("value", "key", "reason", "detail"),
    [
        (in_registry_avro(99, turn("t-1"), SCHEMAS[OURS]), XIAOMING.key, "decode", "knows no schema 99"),
        (in_registry_avro(INCOMPATIBLE, turn("t-1", at="now")), XIAOMING.key, "decode", "be read as our TurnRecorded"),
        (in_registry_avro(OURS, turn("t-1")) + b"!", XIAOMING.key, "decode", "1 bytes too many"),
        (in_registry_avro(OURS, turn("t-1"))[:-3], XIAOMING.key, "decode", "the bytes are no TurnRecorded"),
        (b"\x00\x00\x00\x00\x01", XIAOMING.key, "decode", "it ends earlier"),
        (in_registry_avro(OURS, turn("t-1")), ANNA.key, "key", "the key is 'default/anna'"),
        (in_registry_avro(OURS, turn("", "x")), XIAOMING.key, "decode", "event_id"),
    ],
)  # fmt: skip
async def test_what_cannot_be_read_is_put_aside_with_its_bytes(
    bench: Workbench, value: bytes, key: bytes, reason: str, detail: str
):
    bad = await published(bench, value, key)
    await bench.observes(bad)
    [letter] = await bench.dead()
    assert (letter.reason, letter.value, letter.offset) == (reason, value, 0)
    assert detail in letter.detail
    assert bench.acked == [str(bad.position)]
    assert await appended(bench, 1) == []


async def test_without_a_registry_the_dead_letter_says_what_to_set(tmp_path: Path):
    bench = Workbench(tmp_path)
    await bench.observes(await published(bench, in_registry_avro(OURS, turn("t-1"))))
    [letter] = await bench.dead()
    assert "set MNEMOLOG_SCHEMA_REGISTRY_URL" in letter.detail
    bench.close()


async def test_what_waits_for_the_registry_holds_up_its_own_key_and_no_other(tmp_path: Path):
    schemas = Schemas(THEIRS)
    bench = Workbench(tmp_path, schemas=schemas)
    waits = turn("t-1", at=SAID_AT // 1000)
    handling = [
        await published(bench, in_registry_avro(THEIRS, waits)),
        await published(bench, in_registry_avro(OURS, turn("t-2"))),
        await published(bench, in_registry_avro(OURS, turn("a-1", user_id="anna")), ANNA.key),
    ]
    task = asyncio.ensure_future(bench.observes(*handling))
    while len(await appended(bench, 3)) < 1:  # noqa: ASYNC110 - the log in memory has no event for it
        await asyncio.sleep(0)
    assert schemas.waited == [THEIRS]
    assert bench.acked == [str(handling[2].position)]
    schemas.returns()
    await task
    ids = [codec.decode(r.value).envelope.event_id for r in await appended(bench, 3)]
    assert ids == ["a-1", "t-1", "t-2"]
    assert ("observe", "waiting") in bench.counts
    bench.close()


async def test_a_partition_that_is_taken_away_takes_what_waits_with_it(tmp_path: Path):
    schemas = Schemas(OURS)
    bench = Workbench(tmp_path, schemas=schemas)
    task = asyncio.ensure_future(bench.observes(await published(bench, in_registry_avro(OURS, turn("t-1")))))
    while not schemas.waited:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)
    bench.revoke()
    await task
    schemas.returns()
    assert (bench.acked, await appended(bench, 1)) == ([], [])
    bench.close()


def erasing(before: int) -> EraseUser:
    cut = [Cut(topic=CONVERSATIONS.name, before=before)]
    return EraseUser(envelope=envelope("erase", later(days=1)), cut=cut, key_ids=[], observations=0)


async def test_what_waits_for_the_registry_while_its_user_is_erased_is_not_appended_behind_the_cut(tmp_path: Path):
    schemas = Schemas(OURS)
    bench = Workbench(tmp_path, schemas=schemas)
    before, since = [await published(bench, in_registry_avro(OURS, turn(one))) for one in ("t-before", "t-since")]
    task = asyncio.ensure_future(bench.observes(before, since))
    while not schemas.waited:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)
    await bench.decides(erasing(since.position.offset))
    schemas.returns()
    await task
    assert [codec.decode(r.value).envelope.event_id for r in await appended(bench, 2)] == ["t-since"]
    assert bench.acked[1:] == [str(before.position), str(since.position)]
    assert ("observe", "erased") in bench.counts
    bench.close()


async def test_nothing_is_appended_again_while_its_user_is_being_erased(bench: Workbench):
    record = await published(bench, in_registry_avro(OURS, turn("t-1")))
    async with bench.extractions.gate.erasing(XIAOMING):
        task = asyncio.ensure_future(bench.observes(record))
        for _ in range(100):
            await asyncio.sleep(0)
        assert await appended(bench, 1) == []
        await bench.decides(erasing(1))
    await task
    assert await appended(bench, 1) == []


def test_a_local_time_is_refused_for_it_says_no_instant():
    schema = theirs(type={"type": "long", "logicalType": "local-timestamp-millis"})
    value = in_registry_avro(9, turn("t-1", at=0), schema)
    with pytest.raises(codec.Undecodable, match="local time"):
        codec.decode_written(value[5:], parse_schema(schema), *OBSERVATIONS)


def test_a_plain_long_is_refused_for_it_says_no_unit():
    value = in_registry_avro(9, turn("t-1"), schema := theirs(type="long"))
    with pytest.raises(codec.Undecodable, match="plain long"):
        codec.decode_written(value[5:], parse_schema(schema), *OBSERVATIONS)


def test_a_time_in_another_unit_than_its_schema_names_is_refused():
    schema = theirs()  # in milliseconds
    value = in_registry_avro(9, turn("t-1", at=SAID_AT // 1000), schema)
    wrong = in_registry_avro(9, turn("t-1", at=-50_000_000_000_000), schema)
    assert codec.decode_written(value[5:], parse_schema(schema), *OBSERVATIONS).envelope.event_id == "t-1"
    record = record_with(wrong)
    with pytest.raises(InvalidEvent, match="lies outside the years 1000 to 9000"):
        observation_of_registry(record, parse_schema(schema))
    far = in_registry_avro(9, turn("t-1", at=SAID_AT), schema)
    with pytest.raises(codec.Undecodable, match="out of range"):
        observation_of_registry(record_with(far), parse_schema(schema))


def test_an_id_that_is_a_uuid_is_read_as_its_text():
    schema = theirs()
    schema["fields"][0]["type"]["fields"][0]["type"] = {"type": "string", "logicalType": "uuid"}
    name = "89791762-2336-4186-9674-299b90a802e2"
    value = in_registry_avro(9, turn(name, at=SAID_AT // 1000), schema)
    assert codec.decode_written(value[5:], parse_schema(schema), *OBSERVATIONS).envelope.event_id == name


@pytest.mark.parametrize(
    ("value", "header", "schema_id"),
    [
        (b"\0\0\0\0\x07body", None, 7),
        (b"\1" + GUID.bytes + b"body", None, str(GUID)),
        (b"body", b"\0\0\0\0\x07", 7),
        (b"body", b"\1" + GUID.bytes, str(GUID)),
        (b"\0body", b"\1" + GUID.bytes, str(GUID)),
    ],
)
def test_a_schema_is_named_by_number_or_guid_before_the_body_or_in_a_header(
    value: bytes, header: bytes | None, schema_id: int | str
):
    with pytest.raises(InRegistryAvro) as found:
        observation_of_record(record_with(value, header))
    assert found.value.schema_id == schema_id


@pytest.mark.parametrize(
    ("value", "header", "match"),
    [
        (b"\0\0\0", None, "ends earlier"),
        (b"\1" + GUID.bytes, None, "01, the schema's GUID in 16 bytes, and a body"),
        (b"body", b"", "neither 00 and an id"),
        (b"body", b"\2\0\0\0\7", "neither 00 and an id"),
        (b"body", b"\1\0", "neither 00 and an id"),
    ],
)
def test_a_name_that_is_none_is_said(value: bytes, header: bytes | None, match: str):
    with pytest.raises(codec.Undecodable, match=match):
        observation_of_record(record_with(value, header))


async def test_a_record_whose_schema_a_header_names_is_appended_again_without_it(bench: Workbench, schemas: Schemas):
    body = in_registry_avro(OURS, turn("t-1"))[5:]
    schemas.guids[str(GUID)] = OURS
    record = record_with(body, b"\1" + GUID.bytes)
    new = NewRecord(topic=CONVERSATIONS.name, partition=0, key=XIAOMING.key, value=body, headers=record.headers)
    [at] = await bench.log.append([new])
    [lying] = await bench.log.read(CONVERSATIONS.name, 0, at.position.offset, 1)
    await bench.observes(lying)
    [again] = await appended(bench, 1)
    assert codec.decode(again.value).envelope.event_id == "t-1"
    assert again.headers == ()


@pytest.mark.parametrize("milliseconds", [-1, SAID_AT, -(10**17), 10**17])
def test_a_record_with_an_impossible_log_time_is_put_aside(milliseconds: int):
    record = replace(record_with(b'{"type": "SessionEnded", "session_id": "s"}'), recorded_at=from_ms(milliseconds))
    with pytest.raises(codec.Undecodable, match="its log time is"):
        observation_of_record(record)


def test_of_a_union_of_events_the_branch_is_read_that_was_written():
    union: Any = [{"type": "record", "name": "Other", "fields": []}, theirs()]
    value = in_registry_avro(9, turn("t-1", at=SAID_AT // 1000), union)
    message = codec.decode_written(value[5:], parse_schema(union), *OBSERVATIONS)
    assert message.envelope.event_id == "t-1"


@pytest.mark.parametrize(("name", "kind"), [("metadata", "string"), ("infer", "boolean")])
def test_null_where_ours_knows_none_is_our_default(name: str, kind: str):
    schema = theirs()
    schema["fields"].append({"name": name, "type": ["null", kind], "default": None})
    value = in_registry_avro(9, turn("t-1", at=SAID_AT // 1000) | {name: None}, schema)
    message = codec.decode_written(value[5:], parse_schema(schema), TurnRecorded)
    assert (message.metadata, message.infer) == ("{}", True)


@pytest.mark.parametrize("schema", ["string", ["null", "string"], {"type": "record", "name": "Foo", "fields": []}])
def test_a_schema_of_something_else_is_refused_by_name(schema: Any):
    with pytest.raises(codec.Undecodable, match="expected one of TurnRecorded"):
        codec.decode_written(b"", parse_schema(schema), *OBSERVATIONS)
