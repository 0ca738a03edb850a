"""The model's cost over all workers: answered windows and tokens by user, agent, day or model; and its budgets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cluster.peers import PeerUnavailable
from projections.queries.tenant.model_usage import ModelUsage, Span, combined, usage
from schemas.identity import Owner
from schemas.instant import instant
from schemas.policy import Policy

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from schemas.vocabulary.words import UsageGrouping
    from streams.extraction.protocol import Window

SHOWN: Final[dict[UsageGrouping, tuple[str, ...]]] = {
    "user": ("tenant", "user_id"),
    "agent": ("tenant", "agent_id"),
    "day": ("day",),
    "model": ("model",),
}
"""The fields that identify a row."""
PEER_SECONDS: Final = 2.0
"""How long to wait for another worker before a window's budget is checked without that worker's tokens."""


class ModelUsages:
    """The costs of this worker's users, and of all users."""

    def __init__(self, shards: Shards, cluster: ScatterGather) -> None:
        self._shards = shards
        self._cluster = cluster

    async def read_local(self, by: UsageGrouping, span: Span) -> dict[str, Any]:
        """Return the costs of this worker's users as JSON rows; while the disk is full, the latest are missing."""
        rows: list[ModelUsage] = []
        for shard in self._shards.all()[:-1]:  # the last shard holds global memories, which need no model
            shard.writes.try_commit()
            rows += await asyncio.to_thread(usage, shard.path, by, span)
        return {"rows": [[*row] for row in combined(rows)]}

    async def tokens_of(self, tenant: str, since: datetime) -> int:
        """Return the tokens of a tenant's users since an instant; if a worker is unavailable, only this one's."""
        span = Span(since=since)
        try:
            bodies = await self._gathered("agent", span, PEER_SECONDS)
        except PeerUnavailable:
            bodies = [await self.read_local("agent", span)]
        rows = [ModelUsage(*row) for body in bodies for row in body["rows"]]
        return sum(row.tokens_in + row.tokens_out for row in rows if row.tenant == tenant)

    async def read(self, by: UsageGrouping, span: Span) -> dict[str, Any]:
        """Return the costs of all users: `{items, calls, tokens_in, tokens_out}`. Raises PeerUnavailable."""
        bodies = await self._gathered(by, span, None)
        rows = combined(ModelUsage(*row) for body in bodies for row in body["rows"])
        names = SHOWN[by]
        items = [{name: getattr(row, name) for name in (*names, "calls", "tokens_in", "tokens_out")} for row in rows]
        return {
            "items": items,
            "calls": sum(row.calls for row in rows),
            "tokens_in": sum(row.tokens_in for row in rows),
            "tokens_out": sum(row.tokens_out for row in rows),
        }

    async def _gathered(self, by: UsageGrouping, span: Span, seconds: float | None) -> list[dict[str, Any]]:
        """Return every worker's rows; `seconds` is the time limit of each, None for no limit."""
        request = {
            "by": by,
            "since": span.since and instant(span.since),
            "until": span.until and instant(span.until),
        }
        return await self._cluster.gather(self.read_local(by, span), "model-usage", request, seconds)


class TokenBudgets:
    """The budgets of policies for windows: the tokens of a user and of a tenant in a day, in UTC, from the log."""

    def __init__(self, usages: ModelUsages, shards: Shards, clock: Clock) -> None:
        self._usages = usages
        self._shards = shards
        self._clock = clock

    async def allow(self, window: Window) -> bool:
        """Return whether a window's user and tenant have spent less today than its policy allows.

        A tenant's tokens are those of all workers; if one of them is unavailable, those of this one. Raises NotHeld.
        """
        policy, owner = window.policy or Policy(), Owner(window.tenant, window.user_id)
        midnight = self._clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        of_user, of_tenant = policy.tokens_per_user_day, policy.tokens_per_tenant_day
        if of_user is not None and self._shards.of(owner).observations.tokens_since(owner, midnight) >= of_user:
            return False
        return of_tenant is None or await self._usages.tokens_of(owner.tenant, midnight) < of_tenant
