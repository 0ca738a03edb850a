"""Input events in JSON, which are checked strictly and turned into observations."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import orjson
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from schemas.identity import PATH_REFUSED, InvalidOwner, check_id, is_path, known_user_id
from schemas.inputs.faults import found, path_of, plain
from schemas.inputs.images import image_faults
from schemas.inputs.nesting import check_depth
from schemas.inputs.strict_object import StrictObject
from schemas.inputs.zone import ZERO, offset_given
from schemas.instant import read_instant
from schemas.messages.envelope import Envelope
from schemas.messages.observations import (
    APP_ID,
    TIMEZONE,
    ArticleInferred,
    Observation,
    ScreenshotAnalysed,
    SessionEnded,
    TurnContext,
    TurnRecorded,
)
from schemas.text import refuse_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

MAX_CONTENT_BYTES: Final = 64 * 1024
MAX_METADATA_BYTES: Final = 64 * 1024
MAX_ID_CHARACTERS: Final = 256
MAX_NAME_CHARACTERS: Final = 256
DEFAULT_USER: Final = "owner"
UTC_NAME: Final = "UTC"
OR_THE_OWNER: Final = f", or leave it out for `{DEFAULT_USER}`"

Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS)]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an event, and its place: `path` is a JSON path from the event's root."""

    path: str
    message: str


class InvalidEvent(ValueError):
    """The event cannot be accepted; `faults` say what to change."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{f.path}: {f.message}" for f in faults))
        self.faults = faults


class _Context(StrictObject):
    intimacy: Annotated[float, Field(ge=0, le=100)] | None = None
    mood: str | None = None
    scene: str | None = None
    gift: str | None = None


def _short_enough(text: str | None) -> str | None:
    if text is not None and len(text) * 4 > MAX_CONTENT_BYTES and len(text.encode()) > MAX_CONTENT_BYTES:
        raise ValueError(f"has {len(text.encode())} bytes: at most {MAX_CONTENT_BYTES} are allowed, split the event")
    return text


def _not_too_deep(metadata: dict[str, Any]) -> dict[str, Any]:
    check_depth(metadata)
    return metadata


_Metadata = Annotated[dict[str, Any], AfterValidator(_not_too_deep)]


class _Event(StrictObject):
    event_id: Id | None = None
    user_id: str = DEFAULT_USER
    agent_id: Id | None = None
    occurred_at: Annotated[datetime, BeforeValidator(read_instant)] | None = None

    @field_validator("user_id")
    @classmethod
    def _user(cls, value: str) -> str:
        try:
            return known_user_id(value, instead=OR_THE_OWNER)
        except InvalidOwner as error:
            raise ValueError(str(error)) from None


class _OfApp(_Event):
    """An event with metadata, in which its application id is stored."""

    app_id: Annotated[Id, AfterValidator(check_id)] | None = None
    metadata: _Metadata = {}

    def kept_metadata(self, timezone: str | None) -> str:
        """Return the metadata with the app id and the time zone; `timezone` applies if the metadata name none."""
        metadata = self.metadata if self.app_id is None else self.metadata | {APP_ID: self.app_id}
        if timezone is not None and TIMEZONE not in metadata:
            metadata = metadata | {TIMEZONE: timezone}
        return orjson.dumps(metadata).decode() if metadata else "{}"


class _Turn(_OfApp):
    type: Literal["TurnRecorded"]
    session_id: Id
    role: Annotated[str, Field(min_length=1, max_length=64)]
    name: str | None = None
    content: str
    infer: bool = True
    context: _Context | None = None
    _content = field_validator("content")(_short_enough)


class _End(_Event):
    type: Literal["SessionEnded"]
    session_id: Id


_DATA_URL: Final = re.compile(r"\Adata:image/[\w.+-]+;base64,")
"""The beginning of a browser's data URL, which the base64 follows."""


def _bytes(value: object) -> object:
    try:
        return base64.b64decode(_DATA_URL.sub("", value), validate=True) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("is not base64, alone or behind data:image/…;base64,") from None


class _Screenshot(_OfApp):
    type: Literal["ScreenshotAnalysed"]
    screenshot_id: Id | None = None
    text: str | None = None
    image: Annotated[bytes, BeforeValidator(_bytes)] | None = None
    image_url: str | None = None
    summary: str | None = None
    app: str | None = None
    title: str | None = None
    relevance: Literal["low", "medium", "high"] = "medium"
    _content = field_validator("text", "summary")(_short_enough)


class _Article(_OfApp):
    type: Literal["ArticleInferred"]
    article_id: Id | None = None
    title: str | None = None
    content: str
    _content = field_validator("content")(_short_enough)


_ADAPTER: Final[TypeAdapter[_Turn | _End | _Screenshot | _Article]] = TypeAdapter(
    Annotated[_Turn | _End | _Screenshot | _Article, Field(discriminator="type")],
)


def body_digest(fields: dict[str, Any]) -> bytes:
    """Return 16 bytes that are equal for equal fields; null counts as missing."""
    given = {k: v for k, v in fields.items() if v is not None}
    return blake2b(orjson.dumps(given, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def parse_event(
    raw: object, *, tenant: str, accepted_at: datetime, event_id: str, timezone: str | None = UTC_NAME
) -> Observation:
    """Check one input event and return it as an observation.

    `event_id` is used if the event has none, and `accepted_at` if it has no `occurred_at`. If the metadata lack a
    `timezone`, it is set to the offset of `occurred_at`, which the stored instant loses, or else to `timezone`; None
    means that the zone is unknown. UTC is not written if it is the default. Raises InvalidEvent.
    """
    if not isinstance(raw, dict):
        raise InvalidEvent([Fault("$", "an event must be a JSON object")])
    try:
        event = _ADAPTER.validate_python(raw)
    except ValidationError as error:
        raise InvalidEvent(faults_of(error, _fault)) from None
    if isinstance(event, _Screenshot) and (faults := list(_screenshot_faults(event))):
        raise InvalidEvent(faults)
    occurred_at = event.occurred_at or accepted_at.astimezone(UTC)
    given = dict(raw)
    given.pop("event_id", None)
    given["user_id"] = event.user_id
    if event.occurred_at is not None:
        given["occurred_at"] = occurred_at
    try:
        digest = body_digest(given)
    except (TypeError, ValueError):
        raise InvalidEvent([Fault("$", "the event holds text or numbers that JSON cannot carry")]) from None
    envelope = Envelope(
        event_id=event.event_id or event_id,
        tenant=tenant,
        user_id=event.user_id,
        agent_id=event.agent_id,
        occurred_at=occurred_at,
    )
    return _observation(event, envelope, digest, _zone_kept(raw.get("occurred_at"), timezone))


def _zone_kept(occurred_at: object, timezone: str | None) -> str | None:
    """Return the time zone to store with an event; None if none need be stored."""
    offset = offset_given(occurred_at)
    if timezone == UTC_NAME:
        return None if offset == ZERO else offset
    return offset or timezone


def new_event(
    raw: object, *, tenant: str, accepted_at: datetime, event_id: str, timezone: str = UTC_NAME
) -> Observation:
    """Check a new input event before it is appended, also against limits that were added later.

    Its texts must not have rows of marks, its names and metadata are limited in length, and its ids must not contain
    control characters or steps in a path. The log may hold events from before these limits, so readers must not refuse
    them. `timezone` is as for parse_event. Raises InvalidEvent.
    """
    message = parse_event(raw, tenant=tenant, accepted_at=accepted_at, event_id=event_id, timezone=timezone)
    if faults := [*_mark_faults(message), *_length_faults(message), *_id_faults(message)]:
        raise InvalidEvent(faults)
    return message


def _mark_faults(message: Observation) -> Iterator[Fault]:
    for name in ("name", "title", "summary", "content", "text"):
        if not (text := getattr(message, name, None)):
            continue
        try:
            refuse_marks(text)
        except ValueError as error:
            yield Fault(f"$.{name}", str(error))


def _length_faults(message: Observation) -> Iterator[Fault]:
    """Yield the faults of overlong texts other than the content: an agent's context holds all of them."""
    names = {name: getattr(message, name, None) for name in ("name", "app", "title")}
    if isinstance(message, TurnRecorded) and message.context is not None:
        names |= {f"context.{name}": getattr(message.context, name) for name in ("mood", "scene", "gift")}
    for name, value in names.items():
        if value and len(value) > MAX_NAME_CHARACTERS:
            yield Fault(f"$.{name}", f"has {len(value)} characters: at most {MAX_NAME_CHARACTERS} are allowed")
    if not isinstance(message, SessionEnded) and (size := len(message.metadata.encode())) > MAX_METADATA_BYTES:
        yield Fault("$.metadata", f"has {size} bytes: at most {MAX_METADATA_BYTES} are allowed")


def _id_faults(message: Observation) -> Iterator[Fault]:
    if is_path(message.envelope.user_id):
        yield Fault("$.user_id", PATH_REFUSED)
    ids = {"event_id": message.envelope.event_id, "agent_id": message.envelope.agent_id}
    ids |= {name: getattr(message, name, None) for name in ("session_id", "screenshot_id", "article_id")}
    for name, value in ids.items():
        if not value:
            continue
        try:
            check_id(value)
        except ValueError as error:
            yield Fault(f"$.{name}", str(error))


def _screenshot_faults(event: _Screenshot) -> Iterator[Fault]:
    if event.text is None and event.image is None and event.image_url is None:
        yield Fault("$.text", "is missing: give the text, or an image or image_url instead")
    yield from (Fault(*f) for f in image_faults(event.text or "", event.image, event.image_url))


def _observation(
    event: _Turn | _End | _Screenshot | _Article, envelope: Envelope, digest: bytes, timezone: str | None
) -> Observation:
    match event:
        case _Turn():
            context = TurnContext(**event.context.model_dump()) if event.context else None
            return TurnRecorded(
                envelope=envelope,
                session_id=event.session_id,
                role=event.role,
                name=event.name,
                content=event.content,
                infer=event.infer,
                context=context,
                metadata=event.kept_metadata(timezone),
                body_digest=digest,
            )
        case _End():
            return SessionEnded(envelope=envelope, session_id=event.session_id, body_digest=digest)
        case _Screenshot():
            return ScreenshotAnalysed(
                envelope=envelope,
                screenshot_id=event.screenshot_id or envelope.event_id,
                text=event.text or "",
                summary=event.summary,
                app=event.app,
                title=event.title,
                relevance=event.relevance,
                metadata=event.kept_metadata(timezone),
                body_digest=digest,
                image=event.image,
                image_url=event.image_url,
            )
        case _Article():
            return ArticleInferred(
                envelope=envelope,
                article_id=event.article_id or envelope.event_id,
                title=event.title,
                content=event.content,
                metadata=event.kept_metadata(timezone),
                body_digest=digest,
            )


_TYPES = {"TurnRecorded", "SessionEnded", "ScreenshotAnalysed", "ArticleInferred"}


def faults_of(error: ValidationError, describe: Callable[[Any], Fault]) -> list[Fault]:
    """Return the faults of a validation error, each by `describe`; very many are reported as one."""
    each = found(error)
    if each is None:
        return [Fault("$", f"has {error.error_count()} faults: look at what is sent")]
    return [describe(one) for one in each]


def fault_of(error: Any, unknown: str, types: Collection[str] = ()) -> Fault:  # noqa: ANN401 - pydantic's ErrorDetails
    """Return a fault; `unknown` continues "is not a field of", and `types` are parts of places that are not fields."""
    places = [p for p in error["loc"] if p not in types]
    path = path_of(places)
    if error["type"] == "extra_forbidden":
        return Fault(path, f"is not a field of {unknown}")
    return Fault(path, plain(error))


def _fault(error: Any) -> Fault:  # noqa: ANN401 - pydantic's ErrorDetails
    if error["type"] == "union_tag_not_found":
        return Fault("$.type", f"is missing: one of {', '.join(sorted(_TYPES))}")
    if error["type"] == "union_tag_invalid":
        return Fault("$.type", f"is not known: one of {', '.join(sorted(_TYPES))}")
    return fault_of(error, "this event: remove it, or put it into metadata", _TYPES)
