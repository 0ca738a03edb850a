"""Queries and answers of the feed of changes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from mnemolog.changes.feed import TYPES
from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import Asked, Id, UserOrNone
from mnemolog.http.models.responses import Memory, Shape

MAX_CHANGES_SHOWN = 500
MAX_CURSOR_CHARACTERS = 8_192
"""The most characters of a cursor: a request's head holds at most 64 KiB, percent-encoded."""
MAX_TYPES_CHARACTERS = 512


def _is_type(name: str) -> str:
    if name not in TYPES:
        raise ValueError(f"is no type of change: {', '.join(TYPES)}")
    return name


ChangeType = Annotated[str, AfterValidator(_is_type), Field(json_schema_extra={"enum": list(TYPES)})]


def _are_types(names: str) -> str:
    for name in names.split(","):
        _is_type(name)
    return names


ChangeTypes = Annotated[
    str,
    Field(max_length=MAX_TYPES_CHARACTERS, description=f"with commas between: {', '.join(TYPES)}"),
    AfterValidator(_are_types),
]
Limit = Annotated[int, Field(ge=1, le=MAX_CHANGES_SHOWN)]


class ChangesStreamed(Asked):
    """Which changes to stream, and from where."""

    after: (
        Annotated[str, Field(max_length=MAX_CURSOR_CHARACTERS, description="`next` of the last answer, or `now`")]
        | None
    ) = None
    user_id: UserOrNone | None = None
    agent_id: Id | None = None
    types: ChangeTypes | None = None

    @property
    def wanted_types(self) -> frozenset[str]:
        """The types; none stands for all."""
        return frozenset(self.types.split(",")) if self.types else frozenset()


class ChangesAsked(ChangesStreamed):
    """Which changes to return."""

    limit: Limit = 100


class ChangesPart(Body):
    """The partitions of which another worker asks for changes, each with the ledger offset to start from."""

    tenant: str
    user_id: str | None
    agent_id: str | None
    types: Annotated[list[ChangeType], Field(max_length=len(TYPES))]
    since: dict[Annotated[str, Field(pattern=r"^[0-9]{1,9}$")], Annotated[int, Field(ge=0)] | None]
    limit: Limit


class Change(Shape):
    """What the ledger says happened to a memory; `memory` is that memory as it is now, if it is active.

    Of a `UserErased` both are null: all memories of the user are gone.
    """

    type: str
    event_id: str
    user_id: str
    memory_id: str | None
    occurred_at: str
    recorded_at: str
    position: str
    memory: Memory | None


class Changes(Shape):
    """Changes, those of each user in order; `more` says whether `next` leads to others at once."""

    items: list[Change]
    next: str
    more: bool
