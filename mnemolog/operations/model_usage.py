"""What the model cost, over all workers: windows answered and tokens by user, agent, day or model; and may cost."""

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
"""The fields that rows are named by."""
PEER_SECONDS: Final = 2.0
"""How long another worker may take before a window does without its tokens."""


class ModelUsages:
    """What this worker's users cost, and all."""

    def __init__(self, shards: Shards, cluster: ScatterGather) -> None:
        self._shards = shards
        self._cluster = cluster

    async def read_local(self, by: UsageGrouping, span: Span) -> dict[str, Any]:
        """Return what this worker's users cost, as rows in JSON; while a disk is full, until shortly before."""
        rows: list[ModelUsage] = []
        for shard in self._shards.all()[:-1]:  # the last is that of the globals, which no model is asked for
            shard.writes.try_commit()
            rows += await asyncio.to_thread(usage, shard.path, by, span)
        return {"rows": [[*row] for row in combined(rows)]}

    async def tokens_of(self, tenant: str, since: datetime) -> int:
        """Return how many tokens a tenant's users cost since an instant; while a worker is away, those of this one."""
        span = Span(since=since)
        try:
            bodies = await self._gathered("agent", span, PEER_SECONDS)
        except PeerUnavailable:
            bodies = [await self.read_local("agent", span)]
        rows = [ModelUsage(*row) for body in bodies for row in body["rows"]]
        return sum(row.tokens_in + row.tokens_out for row in rows if row.tenant == tenant)

    async def read(self, by: UsageGrouping, span: Span) -> dict[str, Any]:
        """Return what all users cost: `{items, calls, tokens_in, tokens_out}`. Raises PeerUnavailable."""
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
        """Return every worker's rows; each has so many seconds, None for as long as it takes."""
        request = {
            "by": by,
            "since": span.since and instant(span.since),
            "until": span.until and instant(span.until),
        }
        return await self._cluster.gather(self.read_local(by, span), "model-usage", request, seconds)


class TokenBudgets:
    """What policies let a window cost: the tokens of a user and of a tenant in a day, in UTC, by the log."""

    def __init__(self, usages: ModelUsages, shards: Shards, clock: Clock) -> None:
        self._usages = usages
        self._shards = shards
        self._clock = clock

    async def allow(self, window: Window) -> bool:
        """Return whether a window's user and tenant have cost less today than its policy says.

        A tenant's tokens are those of all workers; while one of them is away, those of this one. Raises NotHeld.
        """
        policy, owner = window.policy or Policy(), Owner(window.tenant, window.user_id)
        midnight = self._clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        of_user, of_tenant = policy.tokens_per_user_day, policy.tokens_per_tenant_day
        if of_user is not None and self._shards.of(owner).observations.tokens_since(owner, midnight) >= of_user:
            return False
        return of_tenant is None or await self._usages.tokens_of(owner.tenant, midnight) < of_tenant
