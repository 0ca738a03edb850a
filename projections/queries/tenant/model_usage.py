"""The cost of models: answers and tokens, by user, agent, day or model, read from a shard's file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from projections.shard.tables import connect_to_read
from projections.state.lifetime import sql_instant
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from schemas.vocabulary.words import UsageGrouping

_GROUPS: Final[dict[UsageGrouping, str]] = {
    "user": "owner, null, null, null",
    "agent": "substr(owner, 1, instr(owner, '/')), agent_id, null, null",
    "day": "null, null, substr(at, 1, 10), null",
    "model": "null, null, null, model",
}
"""The columns to group by: owner, agent, day, model. A tenant is written as an owner without a user."""


class ModelUsage(NamedTuple):
    """The cost of one user, agent, day or model; users and agents belong to a tenant."""

    tenant: str | None
    user_id: str | None
    agent_id: str | None
    day: str | None
    model: str | None
    calls: int
    """The number of models' answers, including unusable ones; a repair counts as part of its answer."""
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open span between two instants; None means unbounded."""

    since: datetime | None = None
    until: datetime | None = None


def usage(path: Path, by: UsageGrouping, span: Span) -> list[ModelUsage]:
    """Return the cost of a shard's users, in no particular order. It scans the table: call it in a thread."""
    query = (
        f"select {_GROUPS[by]}, count(*), sum(tokens_in), sum(tokens_out) from model_calls"  # noqa: S608 - our own words
        " where (:since is null or at >= :since) and (:until is null or at < :until) group by 1, 2, 3, 4"
    )
    bounds = {"since": span.since and sql_instant(span.since), "until": span.until and sql_instant(span.until)}
    with closing(connect_to_read(path)) as connection:
        rows = connection.execute(query, bounds).fetchall()
    return [ModelUsage(*_named(owner), *rest) for owner, *rest in rows]


def combined(rows: Iterable[ModelUsage]) -> list[ModelUsage]:
    """Add up the rows of several shards that have the same key; return them sorted by the key."""
    sums: dict[tuple[str | None, str | None, str | None, str | None, str | None], tuple[int, int, int]] = {}
    for row in rows:
        about = (row.tenant, row.user_id, row.agent_id, row.day, row.model)
        calls, tokens_in, tokens_out = sums.get(about, (0, 0, 0))
        sums[about] = (
            calls + row.calls,
            tokens_in + row.tokens_in,
            tokens_out + row.tokens_out,
        )
    return [ModelUsage(*about, *sums[about]) for about in sorted(sums, key=_order)]


def _order(about: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(part or "" for part in about)


def _named(owner: str | None) -> tuple[str | None, str | None]:
    """Return the tenant and the user of a row of `model_calls`."""
    if owner is None:
        return None, None
    if owner.endswith("/"):
        return owner[:-1], None
    found = Owner.of_key(owner.encode())
    return found.tenant, found.user_id
