"""Input events as JSON, and records as any producer may write them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import orjson
import pytest
from support.examples import MONDAY, XIAOMING, envelope, forget, later, nested
from support.tables import each

from schemas import codec
from schemas.codec import Undecodable
from schemas.inputs.decoding import ForeignKey, digest_of, observation_of_record
from schemas.inputs.input_events import InvalidEvent, parse_event
from schemas.log import Position, Record
from schemas.messages.observations import (
    ArticleInferred,
    Observation,
    ScreenshotAnalysed,
    SessionEnded,
    TurnContext,
    TurnRecorded,
)
from schemas.topics import INPUTS

TURN = {
    "type": "TurnRecorded",
    "event_id": "t-1",
    "user_id": "u1",
    "session_id": "s1",
    "role": "user",
    "content": "我叫张三",
}
END = {"type": "SessionEnded", "session_id": "s1"}
SCREEN = {"type": "ScreenshotAnalysed", "event_id": "p-1", "text": "x"}
ARTICLE = {"type": "ArticleInferred", "event_id": "a-1", "content": "x"}


def parsed(raw: Any, **more: Any) -> Observation:
    return parse_event(
        raw | more if isinstance(raw, dict) else raw, tenant="default", accepted_at=MONDAY, event_id="e-9"
    )


def test_a_turn_says_everything_that_was_published():
    message = parsed(
        TURN,
        agent_id="luna",
        name="三哥",
        infer=False,
        occurred_at="2026-01-05T09:00:00+01:00",
        context={"intimacy": 30, "mood": "happy"},
        metadata={"a": [1]},
    )
    assert isinstance(message, TurnRecorded)
    assert message.envelope == replace(envelope("t-1"), user_id="u1")
    assert message.context == TurnContext(intimacy=30.0, mood="happy")
    kept = {"a": [1], "timezone": "+01:00"}
    assert (message.name, message.infer, orjson.loads(message.metadata)) == ("三哥", False, kept)


@pytest.mark.parametrize("raw", [TURN, SCREEN, ARTICLE])
def test_the_application_is_kept_in_the_metadata(raw: dict[str, Any]):
    message = parsed(raw, app_id="web", metadata={"a": 1, "app_id": "another"})
    assert not isinstance(message, SessionEnded)
    assert orjson.loads(message.metadata) == {"a": 1, "app_id": "web"}


def test_what_is_left_out_has_the_defaults():
    message = parsed(END)
    assert isinstance(message, SessionEnded)
    assert (message.envelope.event_id, message.envelope.user_id, message.envelope.occurred_at) == (
        "e-9",
        "owner",
        MONDAY,
    )
    screen, article = parsed(SCREEN), parsed(ARTICLE)
    assert isinstance(screen, ScreenshotAnalysed)
    assert isinstance(article, ArticleInferred)
    assert (screen.relevance, screen.screenshot_id, article.article_id) == ("medium", "p-1", "a-1")


@each(
    ("raw", "path"),
    [
        ([], "$"),
        ({}, "$.type"),
        ({"type": "Other"}, "$.type"),
        ({"type": 3}, "$.type"),
        ({k: v for k, v in TURN.items() if k != "session_id"}, "$.session_id"),
        ({k: v for k, v in TURN.items() if k != "content"}, "$.content"),
        (TURN | {"content": 5}, "$.content"),
        (TURN | {"content": None}, "$.content"),
        (TURN | {"content": "长" * 21_846}, "$.content"),
        (TURN | {"role": ""}, "$.role"),
        (TURN | {"unknown": 1}, "$.unknown"),
        (TURN | {"infer": "yes"}, "$.infer"),
        (TURN | {"user_id": "*"}, "$.user_id"),
        (TURN | {"user_id": "a\u0000"}, "$.user_id"),
        (TURN | {"user_id": "u" * 257}, "$.user_id"),
        (TURN | {"event_id": ""}, "$.event_id"),
        (TURN | {"event_id": "e" * 257}, "$.event_id"),
        (TURN | {"occurred_at": "yesterday"}, "$.occurred_at"),
        (TURN | {"occurred_at": "2026-01-05T08:00:00"}, "$.occurred_at"),
        (TURN | {"occurred_at": 1767600000}, "$.occurred_at"),
        (TURN | {"occurred_at": "0001-01-01T00:00:00+14:00"}, "$.occurred_at"),
        (TURN | {"occurred_at": "9999-12-31T23:59:59-12:00"}, "$.occurred_at"),
        (TURN | {"context": {"intimacy": 101}}, "$.context.intimacy"),
        (TURN | {"context": {"else": 1}}, "$.context.else"),
        (TURN | {"metadata": []}, "$.metadata"),
        (TURN | {"app_id": ""}, "$.app_id"),
        (SCREEN | {"app_id": "a\nb"}, "$.app_id"),
        (END | {"app_id": "web"}, "$.app_id"),
        (TURN | {"metadata": nested(33)}, "$.metadata"),
        (TURN | {"metadata": nested(253)}, "$.metadata"),
        (SCREEN | {"metadata": nested(33)}, "$.metadata"),
        (ARTICLE | {"metadata": nested(33)}, "$.metadata"),
        (SCREEN | {"relevance": "none"}, "$.relevance"),
        (TURN | {"content": "\ud800"}, "$"),
    ],
)
def test_a_bad_event_says_where_it_is_bad(raw: Any, path: str):
    with pytest.raises(InvalidEvent) as error:
        parsed(raw)
    assert [f.path for f in error.value.faults] == [path]
    assert all(f.message for f in error.value.faults)


def test_content_may_have_64_kib():
    assert parsed(TURN, content="a" * 65_536)
    assert parsed(TURN, content="长" * 21_845)


@each(
    "same",
    [{}, {"event_id": "other"}, {"name": None}, {"occurred_at": None}, {"agent_id": None}, {"context": None}],
)
def test_the_same_fields_have_the_same_digest_and_null_is_not_given(same: dict[str, Any]):
    assert digest_of(parsed(TURN, **same)) == digest_of(parsed(TURN))


def test_the_same_instant_in_another_offset_is_the_same_body():
    here, there = "2026-01-05T08:00:00Z", "2026-01-05T16:00:00+08:00"
    assert digest_of(parsed(TURN, occurred_at=here)) == digest_of(parsed(TURN, occurred_at=there))


@each("other", [{"content": "我叫李四"}, {"role": "assistant"}, {"metadata": {"a": 1}}, {"infer": False}])
def test_another_body_has_another_digest(other: dict[str, Any]):
    assert digest_of(parsed(TURN, **other)) != digest_of(parsed(TURN))


def record(value: bytes, key: bytes | None = b"default/u1") -> Record:
    return Record(position=Position("mnemolog.conversations", 0, 7), recorded_at=MONDAY, key=key, value=value)


def test_a_record_may_be_json_or_avro_and_says_the_same():
    message = observation_of_record(record(orjson.dumps(TURN)))
    assert message == parsed(TURN)
    assert observation_of_record(record(codec.encode(message))) == message


def test_an_input_event_of_any_type_is_read_on_each_input_topic_in_every_spelling():
    for raw in (TURN, END | {"event_id": "e-1"}, SCREEN, ARTICLE):
        message = parsed(raw, user_id="u1")
        for value, topic in product((orjson.dumps(raw | {"user_id": "u1"}), codec.encode(message)), INPUTS):
            there = replace(record(value), position=Position(topic.name, 0, 7))
            assert type(observation_of_record(there)) is type(message)


def test_without_a_key_the_body_names_the_user_of_the_default_tenant():
    assert observation_of_record(record(orjson.dumps(TURN), key=None)).envelope.owner.key == b"default/u1"


def test_an_event_without_an_id_is_named_after_its_position():
    raw = {k: v for k, v in TURN.items() if k != "event_id"}
    ids = {observation_of_record(record(orjson.dumps(raw))).envelope.event_id for _ in range(2)}
    other = replace(record(orjson.dumps(raw)), position=Position("mnemolog.conversations", 0, 8))
    assert len(ids | {observation_of_record(other).envelope.event_id}) == 2


@each("key", [b"default/u2", b"acme/", b"no-slash", b"\xff", b"*/0", b"default/*", b"UPPER/u1"])
def test_a_key_that_is_not_the_bodys_user_is_foreign(key: bytes):
    with pytest.raises(ForeignKey):
        observation_of_record(record(orjson.dumps(TURN), key))


@each("owner", [("*", "0"), ("default", "*"), ("UPPER", "u1"), ("default", "")])
def test_avro_from_foreign_producers_cannot_speak_for_the_reserved_owners(owner: tuple[str, str]):
    message = parsed(TURN)
    tenant, user_id = owner
    bad = replace(message, envelope=replace(message.envelope, tenant=tenant, user_id=user_id))
    with pytest.raises(InvalidEvent):
        observation_of_record(record(codec.encode(bad), key=None))


@each("value", [b"", b"\xff", b"{", b"not json", b"\xc3\x01", codec.encode(forget("m-1", "f-1", later()))])
def test_what_is_neither_is_undecodable(value: bytes):
    with pytest.raises(Undecodable):
        observation_of_record(record(value, XIAOMING.key))


@each("value", [b"[]", b"1", b"null", b'"text"', orjson.dumps(TURN | {"unknown": 1})])
def test_json_of_another_shape_is_invalid(value: bytes):
    with pytest.raises(InvalidEvent):
        observation_of_record(record(value))


def test_avro_keeps_to_the_limits_of_json():
    message = parsed(TURN)
    assert isinstance(message, TurnRecorded)
    for bad in (
        replace(message, envelope=replace(message.envelope, event_id="")),
        replace(message, envelope=replace(message.envelope, event_id="e" * 257)),
        replace(message, content="a" * 10_000_000),
    ):
        with pytest.raises(InvalidEvent):
            observation_of_record(record(codec.encode(bad)))


@each(
    "raw",
    [
        TURN | {"occurred_at": "2026-01-05T09:00:00.123456+01:00", "context": {"intimacy": 30}, "metadata": {"a": [1]}},
        TURN | {"name": "三哥", "agent_id": "luna", "infer": False},
        END,
        SCREEN | {"summary": "y", "relevance": "low"},
        ARTICLE | {"title": "y"},
    ],
)
def test_what_was_published_is_to_the_letter_what_is_decoded(raw: dict[str, Any]):
    message = parsed(raw)
    assert repr(codec.decode(codec.encode(message))) == repr(message)


@each("metadata", ["[]", "{", '"x"', orjson.dumps(nested(33)).decode(), "[" * 2_000])
def test_metadata_of_avro_is_held_to_the_limits_of_json(metadata: str):
    turn = parsed(TURN)
    assert isinstance(turn, TurnRecorded)
    message = replace(turn, metadata=metadata)
    with pytest.raises(InvalidEvent) as error:
        observation_of_record(record(codec.encode(message)))
    assert [f.path for f in error.value.faults] == ["$.metadata"]


def test_metadata_may_nest_as_deep_as_it_says():
    message = parsed(TURN, metadata=nested(32))
    assert isinstance(message, TurnRecorded)
    assert orjson.loads(message.metadata) == nested(32)
