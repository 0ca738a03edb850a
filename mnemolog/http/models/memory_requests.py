"""Bodies about one memory: what to remember as it is, and what to change of it."""

from typing import Annotated, Final, Self

import orjson
from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import AppId, Content, Id, Instant, Metadata, Unit, UserId, Value, not_blank
from projections.profile.attribute_values import fault_of
from schemas.identity import no_controls
from schemas.text import refuse_marks
from schemas.vocabulary.words import DOCUMENT, AnyKind, Category, MemoryType, Scope

MAX_NAME: Final = 64
"""Characters of a name."""
Whom = Annotated[
    str,
    Field(max_length=MAX_NAME, description='whom or what it is about, such as "my mother"; by default the user'),
    AfterValidator(no_controls),
    AfterValidator(refuse_marks),
]


class NewMemory(Body):
    """What to remember as it is."""

    user_id: UserId
    content: Content
    agent_id: Id | None = None
    session_id: Id | None = None
    app_id: AppId | None = None
    scope: Scope = "personal"
    kind: AnyKind = "semantic"
    memory_type: MemoryType = "long_term"
    category: Category = "fact"
    importance: Unit = 0.5
    about: Whom | None = None
    attribute: Annotated[str, Field(max_length=64), not_blank("name the attribute, such as likes")] | None = None
    value: Value | None = None
    metadata: Metadata | None = None
    expires_at: Annotated[Instant, Field(description="by default what the memory type says")] | None = None
    occurred_at: Annotated[Instant, Field(description="when it was true; by default, and at most, now")] | None = None
    read: Annotated[bool, Field(description="false: its key, its day and what it ends are not read in its words")] = (
        True
    )

    @field_validator("value")
    @classmethod
    def _fits_attribute(cls, value: str | None, so_far: ValidationInfo) -> str | None:
        if (fault := fault_of(so_far.data.get("attribute"), value)) is not None:
            raise ValueError(fault)
        return value

    @model_validator(mode="after")
    def _attribute_with_value(self) -> Self:
        if self.attribute is not None and self.value is None:
            raise ValueError("has an attribute without its value: give both, or neither")
        if self.kind == DOCUMENT and self.attribute is None:
            raise ValueError("is a document without a key: give its key as attribute, and a value")
        return self


Word = Annotated[str, Field(max_length=64), AfterValidator(no_controls)]
"""A word for what happened or was felt; empty to take it away."""
MOST_LINES: Final = 50
MOST_BYTES: Final = 16 * 1024
"""Of a key dialogue, as JSON: what `streams/decisions/entries/key_dialogue.py` allows."""


def _short_enough(lines: list[str]) -> list[str]:
    if (size := len(orjson.dumps(lines))) > MOST_BYTES:
        raise ValueError(f"has {size} bytes: at most {MOST_BYTES} are allowed")
    return lines


Dialogue = Annotated[list[Content], Field(max_length=MOST_LINES), AfterValidator(_short_enough)]


class Revision(Body):
    """What to change of a memory; what is left out stays, as what is null but for the expiry; what is empty goes.

    `about` null is the user.
    """

    content: Content | None = None
    about: Whom | None = None
    category: Category | None = None
    importance: Unit | None = None
    memory_type: MemoryType | None = None
    value: Value | None = None
    event_type: Word | None = None
    emotion: Word | None = None
    emotion_intensity: Unit | None = None
    key_dialogue: Dialogue | None = None
    metadata: (
        Annotated[Metadata, Field(description="members are set, and those that are null are taken away")] | None
    ) = None
    expires_at: Annotated[Instant, Field(description="null: it does not expire")] | None = None
    expected_version: Annotated[int, Field(ge=0)] | None = None
