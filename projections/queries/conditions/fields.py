"""The fields of a memory that a condition may name, each with the kind of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.state.importance import grade
from projections.state.provenance import provenance_of
from schemas.messages.observations import APP_ID
from schemas.vocabulary.facts import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from projections.state.memory import Memory

METADATA: Final = "metadata"
STRENGTH: Final = "strength"


class FieldKind(Enum):
    """What the values of a field are; a field may also have none."""

    TEXT = "text"
    NUMBER = "a number"
    TIME = "a time"
    TEXTS = "a list of texts"
    ANYTHING = "anything that JSON has"
    """Of metadata, and of what is true or false: what is compared says what is wanted."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A memory as a condition looks at it: whose it is, and at which instant. What was read is kept."""

    memory: Memory
    user_id: str
    at: datetime
    _values: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def value(self, asked: Field) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return the memory's value of a field."""
        if asked.name not in self._values:
            self._values[asked.name] = asked.read(self)
        return self._values[asked.name]

    def metadata(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return the memory's metadata."""
        return self.value(_ALL_METADATA)


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name, the kind of its values, and how one is read; None stands for no value."""

    name: str
    kind: FieldKind
    read: Callable[[Subject], Any]
    changes_by_itself: bool = False
    """Whether a memory's value depends on the instant."""


def _stored(name: str) -> Callable[[Subject], Any]:
    return lambda subject: getattr(subject.memory, name)


_TEXTS: Final = (
    "memory_id",
    "agent_id",
    "scope",
    "kind",
    "memory_type",
    "category",
    "content",
    "content_hash",
    "about",
    "speaker",
    "becomes",
    "event_type",
    "emotion",
    "source_type",
    "source_ref",
    "session_id",
    "superseded_by",
)
_NUMBERS: Final = (
    "emotion_intensity",
    "importance",
    "initial_strength",
    "access_count",
    "recall_count",
    "version",
)
_TIMES: Final = ("occurred_at", "formed_at", "last_accessed_at", "expires_at")
_LISTS: Final = ("shared_with", "key_dialogue", "source_ids")

_ALL_METADATA: Final = Field(METADATA, FieldKind.ANYTHING, lambda subject: orjson.loads(subject.memory.metadata))
"""No field that a condition names: what those of metadata are read from."""

FIELDS: Final[Mapping[str, Field]] = {
    **{name: Field(name, FieldKind.TEXT, _stored(name)) for name in _TEXTS},
    **{name: Field(name, FieldKind.NUMBER, _stored(name)) for name in _NUMBERS},
    **{name: Field(name, FieldKind.TIME, _stored(name)) for name in _TIMES},
    **{name: Field(name, FieldKind.TEXTS, _stored(name)) for name in _LISTS},
    "user_id": Field("user_id", FieldKind.TEXT, lambda subject: subject.user_id),
    "attribute": Field("attribute", FieldKind.TEXT, lambda subject: subject.memory.stated),
    "value": Field("value", FieldKind.TEXT, lambda subject: subject.memory.value or None),
    "status": Field(
        "status", FieldKind.TEXT, lambda subject: subject.memory.status_at(subject.at), changes_by_itself=True
    ),
    "confirmed": Field("confirmed", FieldKind.ANYTHING, _stored("confirmed")),
    "provenance": Field("provenance", FieldKind.TEXT, lambda subject: provenance_of(subject.memory)),
    "grade": Field("grade", FieldKind.NUMBER, lambda subject: round(grade(subject.memory.importance), 4)),
    STRENGTH: Field(
        STRENGTH, FieldKind.NUMBER, lambda subject: subject.memory.strength_at(subject.at), changes_by_itself=True
    ),
}
"""By the names that answers have for them."""


SUBJECT: Final = Field("its subject", FieldKind.TEXT, lambda subject: subject.memory.subject)
"""Whom or what a memory is about, in the one spelling of all: no request names this field."""
SPEAKER: Final = Field("its speaker", FieldKind.TEXT, lambda subject: subject_of(subject.memory.speaker))
"""The same of who said it."""


def field_of(name: str) -> Field | None:
    """Return the field of a name, `metadata.` and the keys on the way to a value among them; None for no field."""
    if name == APP_ID:
        return _metadata((APP_ID,))
    first, *keys = name.split(".")
    if first == METADATA and keys and all(keys):
        return _metadata(tuple(keys))
    return FIELDS.get(name)


def _metadata(keys: tuple[str, ...]) -> Field:
    def read(subject: Subject) -> Any:  # noqa: ANN401 - whatever JSON holds
        found = subject.metadata()
        for key in keys:
            if not isinstance(found, dict):
                return None
            found = found.get(key)
        return found

    return Field(".".join((METADATA, *keys)), FieldKind.ANYTHING, read)


def folded_field(asked: Field) -> Field:
    """Return the field whose values are those of another one, folded: as `icontains` compares them."""
    name = f"folded {asked.name}"  # which no request can name
    return Field(name, asked.kind, lambda subject: folded(subject.value(asked)), asked.changes_by_itself)


def folded(value: object) -> object:
    """Return a value, or a list of some, with texts as `icontains` compares them."""
    if isinstance(value, str):
        return value.casefold()
    return [folded(one) for one in value] if isinstance(value, list | tuple) else value
