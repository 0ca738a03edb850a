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
    """The kind of a field's values; a memory may also have no value for a field."""

    TEXT = "text"
    NUMBER = "a number"
    TIME = "a time"
    TEXTS = "a list of texts"
    ANYTHING = "anything that JSON has"
    """The kind of metadata and booleans: the type of the wanted value decides the comparison."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A memory as a condition sees it, with its user and the instant. Values are cached once they are read."""

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
    """A field: its name, the kind of its values, and the function that reads one; None means no value."""

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
"""The whole metadata, from which its fields are read. No condition names this field."""

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
"""The fields by their names in answers."""


SUBJECT: Final = Field("its subject", FieldKind.TEXT, lambda subject: subject.memory.subject)
"""The subject of a memory, in its canonical spelling. No request names this field."""
SPEAKER: Final = Field("its speaker", FieldKind.TEXT, lambda subject: subject_of(subject.memory.speaker))
"""The speaker of a memory, in the canonical spelling. No request names this field."""


def field_of(name: str) -> Field | None:
    """Return the field with a name, such as `metadata.` and the path of keys to a value; None if there is none."""
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
    """Return a field with the folded values of another one, as `icontains` compares them."""
    name = f"folded {asked.name}"  # a name that no request can use
    return Field(name, asked.kind, lambda subject: folded(subject.value(asked)), asked.changes_by_itself)


def folded(value: object) -> object:
    """Return a value or a list of values with texts case folded, as `icontains` compares them."""
    if isinstance(value, str):
        return value.casefold()
    return [folded(one) for one in value] if isinstance(value, list | tuple) else value
