"""The codec: golden bytes of every message, and nothing but Undecodable for bytes that are broken."""

from __future__ import annotations

import random
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from message_examples import examples
from support.examples import MONDAY, forget, remember
from support.tables import each

from schemas import codec
from schemas.codec import MARKER, MESSAGES, Undecodable, UnknownSchema
from schemas.messages.envelope import Sealed
from schemas.messages.observations import ScreenshotAnalysed, TurnRecorded

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = examples()
GOLDEN = Path(__file__).parent.parent / "data" / "golden"
OLDER = sorted(GOLDEN.glob("v*/*.bin"))
FULL = sorted(name for name in EXAMPLES if name.endswith(".full"))


@each("name", sorted(EXAMPLES))
def test_golden_bytes_are_the_very_message_and_the_message_the_very_bytes(name: str):
    data = (GOLDEN / f"{name}.bin").read_bytes()
    assert codec.decode(data) == EXAMPLES[name]
    assert codec.encode(EXAMPLES[name]) == data
    assert codec.decode(codec.encode(codec.decode(data))) == EXAMPLES[name]


def test_there_are_golden_bytes_of_every_message_and_of_nothing_else():
    assert {f.stem for f in GOLDEN.glob("*.bin")} == set(EXAMPLES)
    assert {name.partition(".")[0] for name in EXAMPLES} == {m.__name__ for m in MESSAGES}


def test_there_are_golden_bytes_of_every_older_version():
    older = {
        f"v{number}/{message.__name__}.{kind}.bin"
        for message in MESSAGES
        for number in range(1, codec.newest_version(message))
        for kind in ("full", "bare")
    }
    assert {f.relative_to(GOLDEN).as_posix() for f in OLDER} == older
    assert codec.newest_version(ScreenshotAnalysed) == 4


def as_known(record: Any, released: dict[str, Any]) -> Any:
    """Return a record, and those in it, with the defaults of the fields that a released schema of it does not have."""
    there = {field["name"]: field["type"] for field in released["fields"]}
    known = {
        f.name: f.default if f.default_factory is MISSING else f.default_factory()
        for f in fields(record)
        if f.name not in there
    }
    for name, kind in there.items():
        value = getattr(record, name)
        if is_dataclass(value) and isinstance(kind, dict) and "fields" in kind:
            known[name] = as_known(value, kind)
        elif isinstance(kind, dict) and isinstance(items := kind.get("items"), dict) and "fields" in items:
            known[name] = [as_known(one, items) for one in value]
    return replace(record, **known)


@each("file", OLDER, ids=lambda f: f.relative_to(GOLDEN).as_posix())
def test_what_was_written_before_a_message_had_its_newest_fields_can_be_read(file: Path):
    data, newest = file.read_bytes(), EXAMPLES[file.stem]
    released = codec.released_schema(type(newest), int(file.parent.name[1:]))
    assert codec.decode(data) == as_known(newest, released)
    with pytest.raises(Undecodable, match="too many"):
        codec.decode(data + b"\x00")


@each("name", FULL)
def test_bytes_cut_off_anywhere_are_undecodable(name: str):
    data = (GOLDEN / f"{name}.bin").read_bytes()
    for length in range(len(data)):
        with pytest.raises(Undecodable):
            codec.decode(data[:length])


@each("name", FULL)
def test_a_flipped_byte_gives_a_message_or_undecodable_and_nothing_else(name: str):
    data, chance = (GOLDEN / f"{name}.bin").read_bytes(), random.Random(name)  # noqa: S311 - breaks bytes, keeps no secrets
    known = {m.__name__ for m in MESSAGES}
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= chance.choice((0x01, 0x80, 0xFF, 0x40))
        try:
            assert type(codec.decode(bytes(broken))).__name__ in known
        except Undecodable:
            continue


@each("name", FULL)
def test_bytes_after_a_message_are_undecodable(name: str):
    data = (GOLDEN / f"{name}.bin").read_bytes()
    with pytest.raises(Undecodable, match="too many"):
        codec.decode(data + b"\x00")


@each("data", [b"", b"\xc3", b"\xc3\x01", b"\xc3\x02" + b"\x00" * 20, b"\x00" * 30, b'{"type":"x"}'])
def test_what_does_not_begin_like_a_message_is_undecodable(data: bytes):
    with pytest.raises(Undecodable, match="C3 01"):
        codec.decode(data)


def test_an_unknown_fingerprint_says_upgrade():
    with pytest.raises(UnknownSchema, match=r"0102030405060708.*upgrade.*little-endian"):
        codec.decode(MARKER + bytes(range(1, 9)) + b"body")


@each("name", FULL)
@each(
    "length",
    [
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xff" * 9 + b"\x01",
        b"\x80" * 10,
        b"\x80\x80\x80\x80\x20",
        b"\x01",
    ],
)
def test_huge_negative_and_endless_lengths_are_undecodable(name: str, length: bytes):
    header = (GOLDEN / f"{name}.bin").read_bytes()[:10]
    with pytest.raises(Undecodable):
        codec.decode(header + length)


def test_random_bytes_after_every_header_are_undecodable_or_a_message():
    chance = random.Random(20260105)  # noqa: S311 - breaks bytes, keeps no secrets
    for name in FULL:
        header = (GOLDEN / f"{name}.bin").read_bytes()[:10]
        for _ in range(100):
            try:
                codec.decode(header + chance.randbytes(chance.randint(0, 80)))
            except Undecodable:
                continue


def test_a_message_that_is_not_expected_here_is_refused_by_name():
    data = codec.encode(forget("m-1", "f-1"))
    assert codec.decode_as(data, type(forget("m-1", "f-1"))) == forget("m-1", "f-1")
    with pytest.raises(Undecodable, match="ForgetMemory does not belong here: expected one of RememberFact"):
        codec.decode_as(data, type(remember("a", "c-1")))


def test_times_come_back_in_utc_to_the_microsecond_whatever_offset_they_had():
    command = forget("m-1", "f-1", (MONDAY + timedelta(microseconds=7)).astimezone(timezone(timedelta(hours=5.5))))
    back = codec.decode(codec.encode(command)).envelope.occurred_at
    assert (back, back.utcoffset()) == (command.envelope.occurred_at, timedelta(0))


def test_sealed_bytes_and_texts_of_any_script_come_back():
    command = remember("", "c-1")
    for text in ("", "\x00", "记忆🧠", "e\u0301", "a" * 100_000):
        sealed = replace(command, content=Sealed.clear(text))
        assert codec.decode(codec.encode(sealed)).content.text == text


class Text(str):
    """A text that is no plain str."""

    __slots__ = ()


def twin(value: Any) -> Any:
    """Return something that is written as the value is, and of another type or time zone; None if there is none."""
    match value:
        case bool():
            return int(value)
        case str():
            return Text(value)
        case float():
            return int(value) if value.is_integer() else None
        case datetime():
            return value.astimezone(timezone(timedelta(hours=8)))
        case list():
            return tuple(value)
    return None


def twins(message: Any) -> Iterator[Any]:
    """Yield the message with one field, at any depth, replaced by a twin."""
    for field in fields(message):
        value = getattr(message, field.name)
        if is_dataclass(value):
            yield from (replace(message, **{field.name: inner}) for inner in twins(value))
        elif isinstance(value, list) and value and is_dataclass(value[0]):
            yield from (replace(message, **{field.name: [inner, *value[1:]]}) for inner in twins(value[0]))
        if (other := twin(value)) is not None:
            yield replace(message, **{field.name: other})


@pytest.mark.parametrize("branch", [0x01, 0x03])
def test_a_branch_that_the_union_does_not_have_is_refused_from_outside(branch: int):
    """0x00 and 0x02 are the branches 0 and 1, 0x01 and 0x03 would be -1 and -2, which Python's lists have."""
    message = replace(EXAMPLES["TurnRecorded.bare"], name="Bob")
    good = codec.encode(message)
    at = good.index(b"\x02\x06Bob")
    bad = good[:at] + bytes([branch]) + good[at + 1 if branch == 0x01 else at + 5 :]
    assert codec.decode_strictly(good, TurnRecorded) == message
    with pytest.raises(Undecodable, match="TurnRecorded"):
        codec.decode_strictly(bad, TurnRecorded)


@pytest.mark.parametrize("kind", ["full", "bare"])
def test_an_older_version_is_read_strictly_too(kind: str):
    data = (GOLDEN / "v1" / f"ScreenshotAnalysed.{kind}.bin").read_bytes()
    assert codec.decode_strictly(data, ScreenshotAnalysed) == codec.decode(data)
    with pytest.raises(Undecodable, match="does not belong"):
        codec.decode_strictly(data, TurnRecorded)


@each("name", sorted(EXAMPLES))
def test_a_message_is_cached_only_if_reading_its_bytes_gives_the_very_same(name: str):
    message = replace(EXAMPLES[name])
    assert codec.decode(codec.encode_cached(message)) is message
    others = list(twins(message))
    assert others
    for other in others:
        data = codec.encode_cached(other)
        assert data == codec.encode(message)
        assert repr(codec.decode(data)) == repr(message)
