"""The codec of messages: Avro single-object encoding by the released files of `avro/`."""

from __future__ import annotations

import io
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

import fastavro
import orjson
from fastavro.schema import fingerprint, parse_schema, to_parsing_canonical_form

from schemas.avro_writer import UnlikeRead, compiled
from schemas.bounded_cache import BoundedCache
from schemas.messages import decision, envelope, erasure, events, inbox, observations
from schemas.messages.data_keys import DataKey
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.policy import PolicySet
from schemas.messages.webhooks import (
    WebhookMoved,
    WebhookProgress,
    WebhookRemoved,
    WebhookSecretSet,
    WebhookSet,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MARKER: Final = b"\xc3\x01"
HEADER_BYTES: Final = 10
CACHED_BYTES: Final = 8 << 20
"""The most bytes of encodings in the cache; the messages themselves take a few times as much."""
MESSAGES: Final[tuple[type, ...]] = (
    *observations.OBSERVATIONS,
    *inbox.INBOX_ITEMS,
    decision.Decision,
    *events.LEDGER_EVENTS,
    DeadLetter,
    PolicySet,
    DataKey,
    WebhookSet,
    WebhookSecretSet,
    WebhookMoved,
    WebhookRemoved,
    WebhookProgress,
)
_RECORDS: Final = {
    c.__name__: c
    for c in (
        envelope.Envelope,
        envelope.Sealed,
        observations.TurnContext,
        inbox.CoveredPiece,
        erasure.Cut,
        inbox.Candidate,
        decision.Outcome,
    )
}
_BROKEN: Final = (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError)
"""The errors of fastavro for bytes that do not match the schema."""
Message = TypeVar("Message")
decoded_cache: Final = BoundedCache[bytes, Any](CACHED_BYTES)
"""The cache of the process, which `decode` consults first.

The publisher of a record, the fold of its shard and the agents that read it decode the same bytes within moments. The
cache is global rather than passed along, because it does not affect any result: messages and their bytes are immutable.
Without an entry, `decode` reads the bytes.
"""


class Undecodable(ValueError):
    """The bytes are no message of ours; the text says what is wrong with them."""


class UnknownSchema(Undecodable):
    """The bytes name a schema that this version does not know: upgrade mnemolog."""


class _Spelling:
    """The writer and the reader of one message class."""

    def __init__(self, message: type) -> None:
        raw = released_schema(message)
        self.message = message
        self.schema = parse_schema(raw)
        self.header = MARKER + schema_fingerprint(raw)
        self.to_plain = _to_plain(message)
        self.of_plain = _of_plain(message)
        self.write = compiled(raw, message, _inner_types)


@cache
def newest_version(message: type) -> int:
    """Return the number of the newest schema of a message, with which it is written."""
    version, folder = 1, resources.files("schemas") / "avro"
    while (folder / f"{message.__name__}.v{version + 1}.avsc").is_file():
        version += 1
    return version


def released_schema(message: type, version: int | None = None) -> dict[str, Any]:
    """Return a version (by default the newest) of the schema of a message, as released in `avro/`."""
    number = version or newest_version(message)
    text = (resources.files("schemas") / "avro" / f"{message.__name__}.v{number}.avsc").read_text("utf-8")
    schema: dict[str, Any] = orjson.loads(text)
    return schema


def schema_fingerprint(schema: Any) -> bytes:  # noqa: ANN401 - a schema is any JSON
    """Return CRC-64-AVRO of the parsing canonical form: 8 bytes, little-endian as single-object encoding requires."""
    return bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))


@cache
def _spellings() -> dict[type, _Spelling]:
    return {message: _Spelling(message) for message in MESSAGES}


@cache
def _by_header() -> dict[bytes, tuple[_Spelling, Any]]:
    """Return the spelling of the message for each released schema, with the schema itself if it is an older one."""
    found: dict[bytes, tuple[_Spelling, Any]] = {}
    for message, spelling in _spellings().items():
        found[spelling.header] = (spelling, None)
        for version in range(1, newest_version(message)):
            raw = released_schema(message, version)
            found[MARKER + schema_fingerprint(raw)] = (spelling, parse_schema(raw))
    return found


@cache
def field_types(record: type) -> dict[str, Any]:
    """Return a record's fields with their resolved types."""
    names = {**vars(typing), **_RECORDS, "datetime": datetime}
    hints = typing.get_type_hints(record, localns=names)
    return {f.name: hints[f.name] for f in fields(record)}


def _inner(hint: Any) -> Any:  # noqa: ANN401 - type hints have no common type
    """Return the record class in `Record`, `Record | None` or `list[Record]`, else None."""
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    if typing.get_origin(hint) in (types.UnionType, typing.Union, list):
        return next((_inner(a) for a in typing.get_args(hint) if _inner(a)), None)
    return None


def _inner_types(record: type) -> dict[str, Any]:
    """Return the class of the records in each field that holds any."""
    return {name: inner for name, hint in field_types(record).items() if (inner := _inner(hint)) is not None}


def _each(hint: Any, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:  # noqa: ANN401 - type hints have no common type
    """Return a function that converts the record, the records, or the record or None of a field with this type."""
    if typing.get_origin(hint) is list:
        return lambda records: [convert(record) for record in records]
    if isinstance(hint, type):
        return convert
    return lambda record: None if record is None else convert(record)


@cache
def _to_plain(record: type) -> Callable[[Any], dict[str, Any]]:
    """Return a function that turns a record into the dict that fastavro writes."""
    types_of = field_types(record)
    inner = {name: _each(types_of[name], _to_plain(one)) for name, one in _inner_types(record).items()}

    def to_plain(message: Any) -> dict[str, Any]:  # noqa: ANN401 - any class of MESSAGES
        plain = {name: getattr(message, name) for name in types_of}
        return plain | {name: convert(plain[name]) for name, convert in inner.items()}

    return to_plain


@cache
def _of_plain(record: type) -> Callable[[dict[str, Any]], Any]:
    """Return a function that builds a record of the dict that fastavro read, which it changes."""
    types_of = field_types(record)
    inner = [(name, _each(types_of[name], _of_plain(one))) for name, one in _inner_types(record).items()]

    def of_plain(plain: dict[str, Any]) -> Any:  # noqa: ANN401 - any class of MESSAGES
        for name, convert in inner:
            plain[name] = convert(plain[name])
        return record(**plain)

    return of_plain


def encode(message: Any) -> bytes:  # noqa: ANN401 - any class of MESSAGES
    """Return a message's single-object encoding: 0xC3 0x01, fingerprint, body."""
    return _written(message) or _written_by_fastavro(message)


def _written(message: Any) -> bytes | None:  # noqa: ANN401 - any class of MESSAGES
    """Return the encoding of a message if decoding returns exactly the same types; None otherwise.

    A type checker accepts an int for a float and a subclass for its class, but the bytes determine the decoded type.
    """
    spelling = _spellings()[type(message)]
    out = bytearray(spelling.header)
    try:
        spelling.write(message, out)
    except (UnlikeRead, AttributeError, TypeError, ValueError):  # fastavro then reports any fault
        return None
    return bytes(out)


def _written_by_fastavro(message: Any) -> bytes:  # noqa: ANN401 - any class of MESSAGES
    spelling = _spellings()[type(message)]
    out = io.BytesIO()
    out.write(spelling.header)
    fastavro.schemaless_writer(out, spelling.schema, spelling.to_plain(message))
    return out.getvalue()


def decode(data: bytes) -> Any:  # noqa: ANN401 - any class of MESSAGES
    """Return the message, which may be shared with other callers. Raises Undecodable or UnknownSchema."""
    return decoded_cache.get(data) or _decoded(data)


def cache_decoded(data: bytes, message: Any) -> None:  # noqa: ANN401 - any class of MESSAGES
    """Make `decode` return this message for these bytes; it must be equal to the result of decoding them.

    Use it only for bytes that will be decoded again soon: an entry costs memory and displaces others.
    """
    decoded_cache.put(data, message, len(data))


def encode_cached(message: Any) -> bytes:  # noqa: ANN401 - any class of MESSAGES
    """Return a message's encoding, and cache the message if decoding would return an equal one."""
    data = _written(message)
    if data is None:
        return _written_by_fastavro(message)
    cache_decoded(data, message)
    return data


def _decoded(data: bytes) -> Any:  # noqa: ANN401 - any class of MESSAGES
    if data[:2] != MARKER or len(data) < HEADER_BYTES:
        raise Undecodable("not a single-object Avro message: it must begin with C3 01 and an 8-byte fingerprint")
    spelling, older = _by_header().get(data[:HEADER_BYTES], (None, None))
    if spelling is None:
        found = f"schema {data[2:HEADER_BYTES].hex()} is not known"
        raise UnknownSchema(
            f"{found}: upgrade mnemolog if a newer one wrote it, else spell the fingerprint little-endian"
        )
    body = io.BytesIO(data)
    body.seek(HEADER_BYTES)
    try:
        plain: Any = fastavro.schemaless_reader(body, older or spelling.schema, older and spelling.schema)
        message = spelling.of_plain(plain)
    except _BROKEN as error:
        raise Undecodable(f"the bytes are no {spelling.message.__name__}: {error or 'they end too early'}") from error
    if body.tell() != len(data):
        raise Undecodable(f"{len(data) - body.tell()} bytes too many after a {spelling.message.__name__}")
    return message


_LONGEST_BRANCH: Final = 3
"""The most bytes of the number of a union's branch."""


def decode_written(body: bytes, writer: Any, *expected: type[Message]) -> Message:  # noqa: ANN401 - a parsed schema
    """Return the message in an Avro body that another schema wrote, resolved against ours of the same record name.

    Names are compared without their namespaces. Fields that our schema lacks are skipped. Fields that the writer's
    schema lacks, or holds as null where ours does not allow null, get our defaults. At a top-level union, the written
    branch counts. Raises Undecodable if the result is not one of the expected messages.
    """
    if isinstance(writer, list):
        branch, body = _branch(body)
        writer = writer[branch] if 0 <= branch < len(writer) else None
    name = str(writer.get("name", "")).rpartition(".")[2] if isinstance(writer, dict) else ""
    spelling = next((_spellings()[e] for e in expected if e.__name__ == name), None)
    if spelling is None:
        names = ", ".join(e.__name__ for e in expected)
        raise Undecodable(f"its schema describes {name or 'no record'!r}: expected one of {names}")
    stream, ours = io.BytesIO(body), io.BytesIO()
    ours.write(spelling.header)
    unresolved: Exception | None = None
    try:
        try:
            plain: Any = fastavro.schemaless_reader(stream, writer, spelling.schema)
        except fastavro.read.SchemaResolutionError as error:
            unresolved = error
            stream.seek(0)
            plain = fastavro.schemaless_reader(stream, writer)
        plain = _as_ours(plain, spelling.schema)
        if stream.tell() != len(body):
            raise Undecodable(f"{len(body) - stream.tell()} bytes too many after a {name}")
        if any(isinstance(v, datetime) and v.tzinfo is None for v in plain["envelope"].values()):
            raise Undecodable("a local time says no instant: give it the logical type timestamp-micros")
        if not isinstance(at := plain["envelope"].get("occurred_at"), datetime):
            kind = "long" if isinstance(at, int) else "double" if isinstance(at, float) else type(at).__name__
            raise Undecodable(
                f"occurred_at is a plain {kind}, which says no unit: give it the logical type timestamp-micros"
            )
        fastavro.schemaless_writer(ours, spelling.schema, plain)
        message: Message = decode(ours.getvalue())
    except (*_BROKEN, AttributeError, RecursionError) as error:
        if unresolved is not None:
            raise Undecodable(f"its schema cannot be read as our {name}: {unresolved}") from error
        raise Undecodable(f"the bytes are no {name}: {error or 'they end too early'}") from error
    return message


def _branch(body: bytes) -> tuple[int, bytes]:
    """Return the branch of a union that a body names, and the rest of the body; -1 if it names none."""
    number = shift = 0
    for place, byte in enumerate(body[:_LONGEST_BRANCH]):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a number
            if number & 1:
                break
            return number >> 1, body[place + 1 :]
    return -1, b""


def _as_ours(value: Any, schema: Any) -> Any:  # noqa: ANN401 - what fastavro reads, and a parsed schema
    """Return a record without the nulls of fields for which our schema has a default but allows no null.

    A UUID becomes a text.
    """
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, dict) or not isinstance(schema, dict) or schema.get("type") != "record":
        return value
    fields = {field["name"]: field for field in schema["fields"]}
    kept = {}
    for name, one in value.items():
        kind = fields[name]["type"] if name in fields else None
        takes_null = isinstance(kind, list) and "null" in kind
        if one is None and name in fields and "default" in fields[name] and not takes_null:
            continue
        kept[name] = _as_ours(one, kind)
    return kept


def decode_as(data: bytes, *expected: type[Message]) -> Message:
    """Return the message if it is one of the expected classes. Raises Undecodable."""
    message = decode(data)
    if not isinstance(message, expected):
        names = ", ".join(e.__name__ for e in expected)
        raise Undecodable(f"{type(message).__name__} does not belong here: expected one of {names}")
    return message


def decode_strictly(data: bytes, *expected: type[Message]) -> Message:
    """Return the message as `decode_as` does, if encoding it gives the same bytes. Use it for bytes of other writers.

    fastavro accepts a union's branch of -1 as the last one and a boolean of 2 as true, which the specification does not
    allow. Bytes of an older version's schema are accepted as they are read. Raises Undecodable.
    """
    message = decode_as(data, *expected)
    is_newest = data[:HEADER_BYTES] == _spellings()[type(message)].header
    if is_newest and decoded_cache.get(data) is None and encode(message) != data:
        raise Undecodable(f"the bytes are no {type(message).__name__}: read and written again they are others")
    return message
