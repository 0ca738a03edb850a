"""What concerns all partitions, asked of all workers: digests, draining, ticks and rebuilds.

Each worker does its part for the partitions that it holds; who was asked adds them up. A part that is missing, because
a worker is gone or partitions move, fails the whole: never a partial answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mnemolog.draining import drain as drain_here
from mnemolog.peers import Part, PeerUnavailable, whole
from projections.digest import combined
from projections.views import instant

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from datetime import datetime

    from mnemolog.composition import Worker
    from mnemolog.rebuilding import What

MARGIN_SECONDS = 10.0
"""How much longer than its own time-out another worker is waited for."""


async def digest_part(worker: Worker) -> dict[str, Any]:
    """Return the digests over the users of this worker."""
    return worker.queries.digest()


async def drain_part(worker: Worker, timeout_seconds: float) -> dict[str, Any]:
    """Drain the partitions of this worker."""
    return await drain_here(worker, timeout_seconds)


async def tick_part(worker: Worker, policy: str, as_of: datetime, timeout_seconds: float) -> dict[str, Any]:
    """Emit a tick in the partitions of this worker and wait for it."""
    done = await worker.commands.tick(policy, as_of, timeout_seconds)
    return {"tick_id": done.tick_id, "decayed": done.decayed, "expired": done.expired, "applied": done.applied}


async def rebuild_part(worker: Worker, what: What) -> dict[str, Any]:
    """Rebuild the partitions of this worker."""
    return await worker.rebuilding.rebuild(what)


async def part(worker: Worker, doing: Awaitable[dict[str, Any]]) -> Part:
    """Return what this worker does, and for which partitions. Raises PeerUnavailable when these changed meanwhile."""
    before = worker.shards.held()
    body = await doing
    if worker.shards.held() != before:
        raise PeerUnavailable("partitions moved between workers meanwhile: do it again")
    return Part(frozenset(before), body)


async def digest(worker: Worker) -> dict[str, str]:
    """Return one hash for each projection, and one over all. Raises PeerUnavailable."""
    bodies = await _all(worker, digest_part(worker), "digest", {}, None)
    return combined(bodies)


async def drain(worker: Worker, timeout_seconds: float) -> dict[str, int]:
    """Drain all partitions and return the counts. Raises DrainTimeout, PeerUnavailable."""
    asked = {"timeout": timeout_seconds}
    bodies = await _all(worker, drain_part(worker, timeout_seconds), "drain", asked, timeout_seconds + MARGIN_SECONDS)
    return {name: sum(body[name] for body in bodies) for name in bodies[0]}


async def tick(worker: Worker, policy: str, as_of: datetime, timeout_seconds: float) -> dict[str, Any]:
    """Emit a tick in all partitions; return what it changed, and whether it was applied in time."""
    asked = {"policy": policy, "as_of": instant(as_of), "timeout": timeout_seconds}
    mine = tick_part(worker, policy, as_of, timeout_seconds)
    bodies = await _all(worker, mine, "ticks", asked, timeout_seconds + MARGIN_SECONDS)
    decayed, expired = (sum(body[name] for body in bodies) for name in ("decayed", "expired"))
    return {
        "tick_id": bodies[0]["tick_id"],
        "policy": policy,
        "as_of": instant(as_of),
        "changed": decayed + expired,
        "decayed": decayed,
        "expired": expired,
        "applied": all(body["applied"] for body in bodies),
    }


async def rebuild(worker: Worker, what: What) -> dict[str, Any]:
    """Rebuild all partitions, each by the worker that holds it."""
    bodies = await _all(worker, rebuild_part(worker, what), "rebuild", {"what": what}, None)
    before, after = (combined(body[name] for body in bodies)["total"] for name in ("digests_before", "digests_after"))
    return {
        "generation": max(body["generation"] for body in bodies),
        "decisions": sum(body["decisions"] for body in bodies),
        "seconds": max(body["seconds"] for body in bodies),
        "digest_before": before,
        "digest_after": after,
        "equal": before == after,
    }


async def _all(
    worker: Worker, mine: Awaitable[dict[str, Any]], operation: str, asked: object, seconds: float | None
) -> list[dict[str, Any]]:
    """Do a part here and ask all others for theirs, at the same time."""
    here = asyncio.ensure_future(part(worker, mine))
    try:
        others = await worker.peers.gather(f"/v1/internal/{operation}", asked, seconds)
    except BaseException:
        here.cancel()
        raise
    return whole([await here, *others], worker.shards.partitions)
