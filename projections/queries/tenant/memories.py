"""Lists and counts over all users of a tenant, read from a shard's file without loading each user's state."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from projections.shard.rows.memories import memory_of_row
from projections.shard.tables import connect_to_read
from projections.state.lifetime import IS_ACTIVE_SQL, sql_instant
from projections.state.memory import ACTIVE
from schemas.identity import Owner
from schemas.instant import microseconds
from schemas.vocabulary.words import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from projections.state.memory import Memory

_SHOWN: Final = (
    "from (select owner, memory_id, cast(body as text) as body from memories)"  # noqa: S608 - our own words
    f" where owner >= :first and owner < :end and {IS_ACTIVE_SQL}"
    f" and json_extract(body, '$.kind') <> '{DOCUMENT}'"
    " and (:memory_type is null or json_extract(body, '$.memory_type') = :memory_type)"
    " and (:category is null or json_extract(body, '$.category') = :category)"
)
"""The memories of a tenant that are active at an instant, without documents, which only a filter by kind shows."""


Grouping = Literal["user", "agent", "session", "app"]
_METADATA: Final = "json_extract(body, '$.metadata')"
_NAMES: Final[dict[Grouping, str]] = {
    "user": "nullif(substr(owner, length(:first) + 1), '*')",
    "agent": "json_extract(body, '$.agent_id')",
    "session": "json_extract(body, '$.session_id')",
    "app": f"json_extract({_METADATA}, '$.app_id')",
}
"""The SQL for the name in a row by which memories are counted; global memories have no user name."""
_ELSEWHERE: Final[dict[Grouping, str]] = {"session": "$.session_id", "app": "$.metadata.app_id"}
"""The JSON path of that name in a place where a memory was met again."""


class Place(NamedTuple):
    """The sort key of a memory in a list: ascending order puts the most important memory first."""

    importance: float
    """The negated importance."""
    accessed: int
    """The last access, in microseconds before 1970."""
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A selection of a tenant's visible memories at an instant; None means any value."""

    tenant: str
    now: datetime
    memory_type: str | None = None
    category: str | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """The selection as parameters for SQLite."""
        return {
            "first": f"{self.tenant}/",
            "end": f"{self.tenant}0",  # the character after the slash
            "active": ACTIVE,
            "now": sql_instant(self.now),
            "memory_type": self.memory_type,
            "category": self.category,
        }


def places(path: Path, wanted: Wanted, first: int) -> list[Place]:
    """Return the places of a shard's first `first` memories, in order. It scans the table: call it in a thread."""
    importance, accessed = "json_extract(body, '$.importance')", "json_extract(body, '$.last_accessed_at')"
    query = f"select {importance}, {accessed}, memory_id {_SHOWN} order by 1 desc, 2 desc, 3 limit :count"
    with closing(connect_to_read(path)) as connection:
        rows = connection.execute(query, {**wanted.parameters, "count": first}).fetchall()
    return [
        Place(-weight, -microseconds(datetime.fromisoformat(accessed)), memory_id)
        for weight, accessed, memory_id in rows
    ]


def counts(path: Path, wanted: Wanted) -> list[tuple[str, str, int]]:
    """Return (type, category, memories) of a shard. It scans the table: call it in a thread."""
    kinds = "json_extract(body, '$.memory_type'), json_extract(body, '$.category')"
    with closing(connect_to_read(path)) as connection:
        query = f"select {kinds}, count(*) {_SHOWN} group by 1, 2"
        return connection.execute(query, wanted.parameters).fetchall()


def named(path: Path, wanted: Wanted, memory_ids: Sequence[str]) -> list[tuple[Owner, Memory]]:
    """Return the given memories that a shard has and that are active, in no particular order."""
    found = []
    with closing(connect_to_read(path)) as connection:
        for memory_id in memory_ids:
            query = "select owner, body from memories where memory_id=?"
            for name, row in connection.execute(query, (memory_id,)).fetchall():
                owner, memory = Owner.of_key(name.encode()), memory_of_row(row)
                if owner.tenant == wanted.tenant and memory.status_at(wanted.now) == ACTIVE:
                    found.append((owner, memory))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A request to count memories by name: `limit` names after `after`, of an agent, session or app; None means any."""

    by: Grouping
    after: str = ""
    limit: int
    agent_id: str | None = None
    session_id: str | None = None
    app_id: str | None = None


def named_counts(path: Path, wanted: Wanted, counted: Counted) -> list[tuple[str, int, str, str]]:
    """Return (name, memories, first formed, last accessed) of a shard, by name.

    It scans the table: call it in a thread.
    """
    wanted_names: dict[Grouping, str | None] = {
        "agent": counted.agent_id,
        "session": counted.session_id,
        "app": counted.app_id,
    }
    narrowed = "".join(f" and {_narrowing(by)}" for by, name in wanted_names.items() if name is not None)
    formed = "coalesce(json_extract(body, '$.formed_at'), json_extract(body, '$.occurred_at'))"
    query = (
        f"select {_NAMES[counted.by]} as name, count(*), min({formed}), max(json_extract(body, '$.last_accessed_at'))"
        f" {_SHOWN} and typeof(name) = 'text' and name > :after{narrowed} group by name order by name limit :limit"
    )
    parameters = wanted.parameters | wanted_names | {"after": counted.after, "limit": counted.limit}
    with closing(connect_to_read(path)) as connection:
        return connection.execute(query, parameters).fetchall()


def _narrowing(by: Grouping) -> str:
    """Return the SQL condition that a memory has a name, either where it was formed or where it was met again."""
    own = f"{_NAMES[by]} = :{by}"
    if by not in _ELSEWHERE:
        return own
    met = f"select 1 from json_each(body, '$.met_in') as met where json_extract(met.value, '{_ELSEWHERE[by]}') = :{by}"  # noqa: S608 - our own words
    return f"({own} or exists({met}))"
