"""Snapshots: memories in the format of an export, checked field by field and turned into commands."""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, get_args

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, create_model, field_validator

from mnemolog.access.caller import callers_key
from projections.state.places import MOST
from schemas.codec import field_types
from schemas.identity import (
    GLOBAL_USER,
    MAX_USER_ID_CHARACTERS,
    OURS,
    Owner,
    check_user_id,
    commanded_memory_id,
    derived_id,
    import_id,
)
from schemas.inputs.input_events import DEFAULT_USER, MAX_CONTENT_BYTES, Fault, InvalidEvent, fault_of, faults_of
from schemas.inputs.nesting import check_depth
from schemas.inputs.strict_object import StrictObject
from schemas.instant import read_instant
from schemas.messages.copied_fields import copier
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.events import MemoryEvent
from schemas.messages.inbox import ImportMemory, ReviseMemory
from schemas.text import digest, is_blank, refuse_marks
from schemas.vocabulary.words import Category, Kind, MemoryType, Scope, Status
from streams.extraction.model.answer import MAX_VALUE

MEMORY: Final = "Memory"
"""The type of a line with a memory."""
END: Final = "Exported"
"""The type of the last line of an export."""
BESIDES: Final = frozenset({END, *(event.__name__ for event in get_args(MemoryEvent))})
"""The types of the other lines of an export, which are history and are not imported."""
ANYWHERE: Final = "elsewhere"
"""The source system of a line that names none."""
AHEAD: Final = timedelta(minutes=5)
"""How far the clock of another system may be ahead."""

_Time = Annotated[datetime, BeforeValidator(read_instant)]
_Word = Annotated[str, Field(min_length=1, max_length=64)]
_Id = Annotated[str, Field(min_length=1, max_length=256)]
_Name = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(refuse_marks)]
_Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, le=1 << 53)]


class Snapshot(StrictObject):
    """One memory of an export, with the defaults of an export; computed fields are accepted and ignored."""

    type: Literal["Memory"] = "Memory"
    source_system: _Word = ANYWHERE
    memory_id: _Id | None = None
    user_id: Annotated[str, Field(min_length=1, max_length=MAX_USER_ID_CHARACTERS)] = DEFAULT_USER
    agent_id: _Id | None = None
    shared_with: list[_Id] = []
    scope: Scope = "personal"
    kind: Kind = "semantic"
    memory_type: MemoryType = "long_term"
    category: Category = "fact"
    content: str
    about: _Name | None = None
    speaker: _Name | None = None
    attribute: _Word | None = None
    value: str | None = None
    becomes: _Word | None = None
    event_type: _Word | None = None
    emotion: _Word | None = None
    emotion_intensity: _Unit | None = None
    key_dialogue: list[str] = []
    confirmed: bool = True
    importance: _Unit = 0.5
    initial_strength: _Unit = 1.0
    access_count: _Count = 0
    recall_count: _Count = 0
    source_type: _Word | None = None
    source_ids: list[_Id] = []
    source_ref: _Id | None = None
    session_id: _Id | None = None
    met_in: Annotated[list[dict[str, Any]], Field(max_length=MOST)] = []
    occurred_at: _Time | None = None
    formed_at: _Time | None = None
    said_at: _Time | None = None
    last_accessed_at: _Time | None = None
    restored_at: _Time | None = None
    expires_at: _Time | None = None
    forgotten_at: _Time | None = None
    status: Status = "active"
    superseded_by: _Id | None = None
    metadata: dict[str, Any] = {}
    content_hash: Any = None
    grade: Any = None
    provenance: Any = None
    strength: Any = None
    version: Any = None

    @field_validator("content")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if is_blank(text):
            raise ValueError("is blank: say what was remembered")
        return _short_enough(text)

    @field_validator("value")
    @classmethod
    def _fits(cls, text: str | None) -> str | None:
        if text is not None and len(text) > MAX_VALUE:
            raise ValueError(f"has {len(text)} characters: at most {MAX_VALUE} are allowed")
        return None if text is None else refuse_marks(text)

    @field_validator("key_dialogue", "met_in", "metadata")
    @classmethod
    def _is_json(cls, value: object) -> object:
        check_depth(value)
        try:
            size = len(orjson.dumps(value))
        except (TypeError, ValueError):
            raise ValueError("holds text or numbers that JSON cannot carry") from None
        if size > MAX_CONTENT_BYTES:
            raise ValueError(f"has {size} bytes: at most {MAX_CONTENT_BYTES} are allowed")
        return value


_IMPORTS_OWN: Final = frozenset(
    {"envelope", "source_user", "source_memory", "vector", "embedding_model", "happened_at"}
)
"""The fields of an ImportMemory that do not occur in exports."""
_LATER: Final[dict[str, Any]] = {
    field.name: (field_types(ImportMemory)[field.name], field.default)
    for field in fields(ImportMemory)
    if field.name not in _IMPORTS_OWN and field.name not in Snapshot.model_fields
}
_Snapshot: Final = create_model("Snapshot", __base__=Snapshot, **_LATER)
"""A snapshot with the newer fields of ImportMemory, which are validated by their types there."""
_OTHERWISE: Final = frozenset(
    {
        *("content", "about", "speaker", "value", "key_dialogue", "metadata", "met_in"),
        *("formed_at", "last_accessed_at", "superseded_by"),
    }
)
"""The fields of a snapshot that an ImportMemory represents differently."""
_as_it_is: Final = copier(
    tuple(f.name for f in fields(ImportMemory) if f.name in _Snapshot.model_fields and f.name not in _OTHERWISE)
)
"""Copies the other common fields."""


class Importable:
    """A snapshot and its new owner: everything in an ImportMemory except its vector and its time."""

    def __init__(self, snapshot: Snapshot, tenant: str, user_id: str | None, hide: Callable[[str], str] = str) -> None:
        """`user_id` is the new owner; None keeps the exported one. Raises ValueError.

        `hide` obscures the ids of memories in other systems, which may be words or be derived from words.
        """
        self.snapshot = snapshot
        self._hide = str if snapshot.source_system == OURS and snapshot.memory_id is not None else hide
        whose = GLOBAL_USER if snapshot.scope == "global" else check_user_id(user_id or snapshot.user_id)
        self.owner = Owner(tenant, whose)
        named = snapshot.memory_id or _derived(snapshot)
        self.source_memory = self._hide(named)
        if snapshot.source_system == ANYWHERE and snapshot.memory_id is not None:
            named = f"{named}#{digest(snapshot.content).hex()}"  # two unnamed systems may both have an id "1"
        self.command_id = self._command_of(named)
        self.memory_id = commanded_memory_id(self.owner, self.command_id)

    def _command_of(self, source_memory: str) -> str:
        source = self.snapshot.source_system
        return import_id(self.owner, source, self.snapshot.user_id, self._hide(source_memory))

    def shares(self, at: datetime, memory_id: str) -> list[ReviseMemory]:
        """Return the commands that share a memory with the agents with which the snapshot was shared."""
        if self.owner.is_global:
            return []
        return [
            ReviseMemory(
                envelope=Envelope(
                    event_id=derived_id("shared", self.command_id, agent_id, memory_id),
                    tenant=self.owner.tenant,
                    user_id=self.owner.user_id,
                    agent_id=agent_id,
                    occurred_at=at,
                    by=callers_key(),
                ),
                memory_id=memory_id,
            )
            for agent_id in dict.fromkeys(self.snapshot.shared_with)
        ]

    def item(self, at: datetime, vector: bytes, model: str, successor: str | None = None) -> ImportMemory:
        """Return the command, sent at `at`; `successor` is the memory that superseded it, if also imported."""
        its = self.snapshot
        formed = its.formed_at or its.occurred_at or at
        formed = min(formed, at)  # a plan's day may be in the future, and another system's clock ahead
        by = its.superseded_by
        return ImportMemory(
            **_as_it_is(its),
            envelope=Envelope(
                event_id=self.command_id,
                tenant=self.owner.tenant,
                user_id=self.owner.user_id,
                agent_id=None if self.owner.is_global else its.agent_id,
                occurred_at=at,
                by=callers_key(),
            ),
            source_user=its.user_id,
            source_memory=self.source_memory,
            content=Sealed.clear(its.content),
            vector=Sealed.clear(vector),
            embedding_model=model,
            about=None if its.about is None else Sealed.clear(its.about),
            speaker=None if its.speaker is None else Sealed.clear(its.speaker),
            value=None if its.value is None else Sealed.clear(its.value),
            key_dialogue=Sealed.clear(orjson.dumps(its.key_dialogue)) if its.key_dialogue else None,
            happened_at=its.occurred_at or formed,
            formed_at=formed,
            last_accessed_at=its.last_accessed_at or formed,
            superseded_by=by and (successor or commanded_memory_id(self.owner, self._command_of(by))),
            metadata=Sealed.clear(orjson.dumps(its.metadata)) if its.metadata else None,
            met_in=Sealed.clear(orjson.dumps(its.met_in)) if its.met_in else None,
        )


def parse_snapshot(
    raw: object, *, tenant: str, user_id: str | None, accepted_at: datetime, hide: Callable[[str], str] = str
) -> Importable:
    """Check one line of an export and return it for import; for `hide` see Importable. Raises InvalidEvent."""
    if not isinstance(raw, dict):
        raise InvalidEvent([Fault("$", "a memory must be a JSON object")])
    try:
        snapshot = _Snapshot.model_validate(raw)
    except ValidationError as error:
        unknown = "a memory: remove it, or put it into metadata"
        raise InvalidEvent(faults_of(error, lambda one: fault_of(one, unknown))) from None
    for name in ("formed_at", "said_at", "last_accessed_at", "restored_at", "forgotten_at"):
        moment = getattr(snapshot, name)
        if moment is not None and moment > accepted_at.astimezone(UTC) + AHEAD:
            raise InvalidEvent([Fault(f"$.{name}", "lies in the future: an import tells of the past")])
    try:
        return Importable(snapshot, tenant, user_id, hide)
    except ValueError as error:
        raise InvalidEvent([Fault("$.user_id", str(error))]) from None


def _short_enough(text: str) -> str:
    if len(text.encode()) > MAX_CONTENT_BYTES:
        raise ValueError(f"has {len(text.encode())} bytes: at most {MAX_CONTENT_BYTES} are allowed")
    return refuse_marks(text)


def _derived(snapshot: Snapshot) -> str:
    """Derive an id for a memory without one from its fields, so that the same line is the same memory."""
    given = snapshot.model_dump(mode="json", exclude_defaults=True)
    return derived_id("snapshot", orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode())
