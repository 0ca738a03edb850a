"""The decoding of records in input topics, from any producer: single-object Avro, JSON, or registry Avro."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

import orjson

from schemas import codec
from schemas.identity import DEFAULT_TENANT, InvalidOwner, Owner, check_tenant, derived_id, known_user_id
from schemas.inputs.images import image_faults
from schemas.inputs.input_events import (
    DEFAULT_USER,
    MAX_CONTENT_BYTES,
    MAX_ID_CHARACTERS,
    Fault,
    InvalidEvent,
    body_digest,
    parse_event,
)
from schemas.inputs.nesting import check_depth
from schemas.inputs.pieces import text_of
from schemas.instant import YEARS
from schemas.messages.dead_letters import first_position
from schemas.messages.observations import OBSERVATIONS, ScreenshotAnalysed, SessionEnded

if TYPE_CHECKING:
    from schemas.log import Record
    from schemas.messages.observations import Observation

MAX_AVRO_TEXT_BYTES: Final = 3 * MAX_CONTENT_BYTES
"""The most bytes of an observation's text: a screenshot's title, summary and text together."""
SchemaId: TypeAlias = "int | str"
"""The id of the writer's schema in a record: the registry's number, or a GUID as text."""
SCHEMA_HEADER: Final = "__value_schema_id"
"""The header in which newer producers of registry Avro name the writer's schema; others do so before the body."""
_NAMES: Final = {0: ("the schema's id in 4 bytes", 5), 1: ("the schema's GUID in 16 bytes", 17)}
"""The kind of schema id by its first byte, and the length of both."""
_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(YEARS[-1], 1, 1, tzinfo=UTC)
"""Log times outside this range come from records without a log time, or with one in another unit than milliseconds."""
KEYS_KEPT: Final = 4096
"""The number of cached keys: the key of a recent user is parsed once for many records."""
MAX_AHEAD: Final = timedelta(minutes=5)
"""The most by which an observation's effective time may lie after its log time."""


class InRegistryAvro(codec.Undecodable):
    """The record is in registry Avro, which cannot be decoded from the log alone: folds skip it.

    observe appends it again in an encoding that folds can read (`streams/agents/reencode.py`).
    """

    def __init__(self, schema_id: SchemaId) -> None:
        super().__init__(f"registry Avro of schema {schema_id}: only its registry knows what it says")
        self.schema_id = schema_id


class ForeignKey(InvalidEvent):
    """The message is about a user other than the one that its key names."""


def observation_of_record(record: Record) -> Observation:
    """Return the observation in a record. Raises Undecodable, InRegistryAvro, InvalidEvent or ForeignKey.

    A message without a key belongs to the user in its body (JSON: tenant `default`).
    """
    key_owner = _key_owner(record)
    if not _EARLIEST <= record.recorded_at < _LATEST:
        raise codec.Undecodable(
            f"its log time is {record.recorded_at.isoformat()}: send milliseconds, or give the topic LogAppendTime"
        )
    if (written := _registry_avro(record)) is not None:
        raise InRegistryAvro(written[0])
    if record.value[:1] == codec.MARKER[:1]:
        message = _checked(codec.decode_strictly(record.value, *OBSERVATIONS))
        codec.cache_decoded(record.value, message)  # observe and the fold both read it
    else:
        message = _of_json(record, key_owner.tenant if key_owner else DEFAULT_TENANT)
    return _of_its_key(message, key_owner)


def observation_of_registry(record: Record, writer: object) -> Observation:
    """Return the observation in a record in registry Avro; `writer` is its parsed schema.

    Raises Undecodable, InvalidEvent or ForeignKey.
    """
    key_owner = _key_owner(record)
    written = _registry_avro(record)
    message = codec.decode_written(record.value if written is None else written[1], writer, *OBSERVATIONS)
    return _of_its_key(_checked(message), key_owner)


def _registry_avro(record: Record) -> tuple[SchemaId, bytes] | None:
    """Return the id of the writer's schema and the body; None if it is not registry Avro. Raises Undecodable."""
    header = next((value for name, value in record.headers if name == SCHEMA_HEADER), None)
    if header is not None and record.value[: len(codec.MARKER)] != codec.MARKER:
        named, body = header, record.value
    else:
        if record.value[:1] not in (b"\0", b"\1"):
            return None
        end = _NAMES[record.value[0]][1]
        named, body = record.value[:end].ljust(end, b"\0"), record.value[end:]
    what, size = _NAMES.get(named[0] if named else -1, ("", 0))
    if len(named) != size or not size:
        raise codec.Undecodable(
            f"the header {SCHEMA_HEADER} is neither 00 and an id in 4 bytes, nor 01 and a GUID in 16"
        )
    if not body:
        raise codec.Undecodable(f"registry Avro is {named[0]:02x}, {what}, and a body: it ends earlier")
    return (str(UUID(bytes=named[1:])) if named[0] else int.from_bytes(named[1:])), body


def _key_owner(record: Record) -> Owner | None:
    if record.key is None:
        return None
    try:
        return _upstream_owner(record.key)
    except InvalidOwner as error:
        raise ForeignKey([Fault("$key", str(error))]) from None


@lru_cache(maxsize=KEYS_KEPT)
def _upstream_owner(key: bytes) -> Owner:
    """Return the owner that a key names. Raises InvalidOwner, also for reserved owners, who publish nothing."""
    owner = Owner.of_key(key)
    check_tenant(owner.tenant)
    known_user_id(owner.user_id)
    return owner


def _of_its_key(message: Observation, key_owner: Owner | None) -> Observation:
    if key_owner is not None and message.envelope.owner != key_owner:
        said = message.envelope.owner.key.decode()
        raise ForeignKey([Fault("$key", f"the key is {key_owner.key.decode()!r}, the body says {said!r}")])
    return message


def claimed(record: Record) -> tuple[Owner, str] | None:
    """Return the claimed owner and event id of an unusable record; None if they cannot be read."""
    try:
        key_owner = Owner.of_key(record.key) if record.key is not None else None
        if record.value[:1] == codec.MARKER[:1]:
            envelope = codec.decode_as(record.value, *OBSERVATIONS).envelope
            return key_owner or envelope.owner, envelope.event_id
        raw = orjson.loads(record.value)
    except (InvalidOwner, codec.Undecodable, orjson.JSONDecodeError):
        return None
    if not isinstance(raw, dict) or not isinstance(raw.get("event_id"), str):
        return None
    named = raw.get("user_id", DEFAULT_USER)
    return key_owner or Owner(DEFAULT_TENANT, str(named)), raw["event_id"]


def speaker(record: Record) -> Owner | None:
    """Return the owner of the words in an unusable record, from its body if readable, else from its key."""
    try:
        key_owner = _upstream_owner(record.key) if record.key is not None else None
    except InvalidOwner:
        key_owner = None
    try:
        if record.value[:1] == codec.MARKER[:1]:
            return _upstream_owner(codec.decode_as(record.value, *OBSERVATIONS).envelope.owner.key)
        raw = orjson.loads(record.value)
        named = raw.get("user_id", DEFAULT_USER) if isinstance(raw, dict) else None
        if not isinstance(named, str):
            return key_owner
        return _upstream_owner(Owner(key_owner.tenant if key_owner else DEFAULT_TENANT, named).key)
    except (InvalidOwner, codec.Undecodable, orjson.JSONDecodeError):
        return key_owner


def _checked(message: Observation) -> Observation:
    """Check an observation in Avro against the limits of JSON events."""
    try:
        check_tenant(message.envelope.tenant)
        known_user_id(message.envelope.user_id)
    except InvalidOwner as error:
        raise InvalidEvent([Fault("$.envelope", str(error))]) from None
    if message.envelope.occurred_at.year not in YEARS:
        why = f"lies outside the years {YEARS[0]} to {YEARS[-1]}: is it in the unit that its schema names?"
        raise InvalidEvent([Fault("$.envelope.occurred_at", why)])
    if not 1 <= len(message.envelope.event_id) <= MAX_ID_CHARACTERS:
        raise InvalidEvent([Fault("$.envelope.event_id", f"must have 1 to {MAX_ID_CHARACTERS} characters")])
    if len(text_of(message).encode()) > MAX_AVRO_TEXT_BYTES:
        raise InvalidEvent([Fault("$", f"its text has more than {MAX_AVRO_TEXT_BYTES} bytes: split the event")])
    if not isinstance(message, SessionEnded) and message.metadata != "{}":
        _check_metadata(message.metadata)
    if isinstance(message, ScreenshotAnalysed) and (
        faults := list(image_faults(message.text, message.image, message.image_url))
    ):
        raise InvalidEvent([Fault(*fault) for fault in faults])
    return message


def _check_metadata(text: str) -> None:
    try:
        metadata = orjson.loads(text)
        check_depth(metadata)
    except orjson.JSONDecodeError:
        metadata = None
    except ValueError as error:
        raise InvalidEvent([Fault("$.metadata", str(error))]) from None
    if not isinstance(metadata, dict):
        raise InvalidEvent([Fault("$.metadata", "must be a JSON object")])


def _of_json(record: Record, tenant: str) -> Observation:
    try:
        raw = orjson.loads(record.value)
    except orjson.JSONDecodeError as error:
        raise codec.Undecodable(f"neither single-object Avro nor JSON: {error}") from None
    event_id = derived_id("record", first_position(record))
    return parse_event(raw, tenant=tenant, accepted_at=record.recorded_at, event_id=event_id, timezone=None)


def digest_of(message: Observation) -> bytes:
    """Return the digest that distinguishes a repeat of an observation from another event with its id."""
    if message.body_digest is not None:
        return message.body_digest
    fields = asdict(replace(message, body_digest=None)) | {"type": type(message).__name__}
    del fields["envelope"]["by"]  # a repeat with another API key is the same event
    if isinstance(message, ScreenshotAnalysed) and message.image is not None:
        fields["image"] = blake2b(message.image, digest_size=16).hexdigest()
    return body_digest(fields)


def effective_time(message: Observation, recorded_at: datetime) -> datetime:
    """Return the effective time of an observation: its `occurred_at`, but at most MAX_AHEAD after its log time."""
    return min(message.envelope.occurred_at.astimezone(UTC), recorded_at + MAX_AHEAD)
