"""What the model cost, over all workers: windows answered and tokens by user, agent, day or model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from projections.queries.model_usage import Grouping, ModelUsage, Span, combined, usage
from schemas.instant import instant

if TYPE_CHECKING:
    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards

SHOWN: Final[dict[Grouping, tuple[str, ...]]] = {
    "user": ("tenant", "user_id"),
    "agent": ("tenant", "agent_id"),
    "day": ("day",),
    "model": ("model",),
}
"""The fields that rows are named by."""


class ModelUsages:
    """What this worker's users cost, and all."""

    def __init__(self, shards: Shards, cluster: ScatterGather) -> None:
        self._shards = shards
        self._cluster = cluster

    async def read_local(self, by: Grouping, span: Span) -> dict[str, Any]:
        """Return what this worker's users cost, as rows in JSON."""
        rows = [
            row
            for shard in self._shards.all()[:-1]  # the last is that of the globals, which no model is asked for
            for row in await asyncio.to_thread(usage, shard.path, by, span)
        ]
        return {"rows": [[*row] for row in combined(rows)]}

    async def read(self, by: Grouping, span: Span) -> dict[str, Any]:
        """Return what all users cost: `{items, calls, tokens_in, tokens_out}`. Raises PeerUnavailable."""
        request = {
            "by": by,
            "since": span.since and instant(span.since),
            "until": span.until and instant(span.until),
        }
        bodies = await self._cluster.gather(self.read_local(by, span), "model-usage", request, None)
        rows = combined(ModelUsage(*row) for body in bodies for row in body["rows"])
        names = SHOWN[by]
        items = [{name: getattr(row, name) for name in (*names, "calls", "tokens_in", "tokens_out")} for row in rows]
        return {
            "items": items,
            "calls": sum(row.calls for row in rows),
            "tokens_in": sum(row.tokens_in for row in rows),
            "tokens_out": sum(row.tokens_out for row in rows),
        }
