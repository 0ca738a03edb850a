"""What concerns all partitions, asked of all workers: digests, draining, ticks and rebuilds.

Each worker does its part for the partitions that it holds; who was asked adds them up. A part that is missing, because
a worker is gone or partitions move, fails the whole: never a partial answer.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mnemolog.cluster.peers import SHARED, Part, PeerUnavailable, alike, whole
from mnemolog.operations.drain import drain as drain_here
from mnemolog.operations.generations import NO_SWITCHES
from mnemolog.operations.rebuild import RUNNING, RebuildRunning, UnknownGeneration
from mnemolog.worker.components import tick_maker
from projections.index.protocol import IndexUnavailable
from projections.state.digest import combined
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from datetime import datetime

    from mnemolog.operations.rebuild import What
    from mnemolog.worker.worker import Worker
    from projections.index.protocol import IndexGenerations

MARGIN_SECONDS = 10.0
"""How much longer than its own time-out another worker is waited for."""


async def digest_part(worker: Worker) -> dict[str, Any]:
    """Return the digests over the users of this worker."""
    return await worker.shards.digests()


async def tick_part(worker: Worker, policy: str, as_of: datetime, timeout_seconds: float) -> dict[str, Any]:
    """Emit a tick in the partitions of this worker and wait for it."""
    done = await worker.commands.tick(policy, as_of, timeout_seconds, tick_maker(policy, worker.settings))
    counts = {"decayed": done.decayed, "expired": done.expired, "raised": done.raised}
    return {"tick_id": done.tick_id, **counts, "applied": done.applied, "repeated": done.repeated}


async def generations_part(worker: Worker) -> dict[str, Any]:
    """Return the generations of this worker's shards."""
    found = worker.rebuilding.generations
    numbers = {"active": found.active, "complete": found.complete(), "following": found.following()}
    return {**numbers, "switches": found.switches, "running": worker.rebuilding.is_running}


async def switch_part(worker: Worker, what: What, generation: int, rebuild_id: str, switches: int) -> dict[str, Any]:
    """Switch this worker to what it has built."""
    await worker.rebuilding.switch(what, generation, rebuild_id, switches)
    return {}


async def part(worker: Worker, doing: Awaitable[dict[str, Any]]) -> Part:
    """Return what this worker does, and for which partitions. Raises PeerUnavailable when these changed meanwhile."""
    before = worker.shards.tenure()
    body = await doing
    if worker.shards.tenure() != before:
        raise PeerUnavailable("partitions moved between workers meanwhile: do it again")
    settings = {name: str(getattr(worker.settings, name)) for name in SHARED}
    return Part(frozenset(before), body, worker.url, settings)


async def same_settings(worker: Worker) -> None:
    """Raise WorkersDiffer when another worker has other settings of those that all must share; PeerUnavailable."""
    others = await worker.peers.gather("/v1/internal/generations", {}, None)
    alike([await part(worker, generations_part(worker)), *others])


async def digest(worker: Worker) -> dict[str, str]:
    """Return one hash for each projection, and one over all. Raises PeerUnavailable."""
    bodies = await every_part(worker, digest_part(worker), "digest", {}, None)
    return combined(bodies)


async def drain(worker: Worker, timeout_seconds: float) -> dict[str, int]:
    """Drain all partitions and return the counts. Raises DrainTimeout, WorkersDiffer, PeerUnavailable."""
    asked = {"timeout": timeout_seconds}
    await same_settings(worker)
    # With others twice: the first moves what lies on the wrong partitions, perhaps to a worker that was done.
    for _ in range(2 if worker.peers.others() else 1):
        mine = drain_here(worker, timeout_seconds)
        bodies = await every_part(worker, mine, "drain", asked, timeout_seconds + MARGIN_SECONDS)
    return {name: sum(body[name] for body in bodies) for name in bodies[0]}


async def tick(worker: Worker, policy: str, as_of: datetime, timeout_seconds: float) -> dict[str, Any]:
    """Emit a tick in all partitions; return what it changed, and whether it was applied in time."""
    asked = {"policy": policy, "as_of": instant(as_of), "timeout": timeout_seconds}
    mine = tick_part(worker, policy, as_of, timeout_seconds)
    bodies = await every_part(worker, mine, "ticks", asked, timeout_seconds + MARGIN_SECONDS)
    decayed, expired, raised = (sum(body[name] for body in bodies) for name in ("decayed", "expired", "raised"))
    return {
        "tick_id": bodies[0]["tick_id"],
        "policy": policy,
        "as_of": instant(as_of),
        "changed": decayed + expired + raised,
        "decayed": decayed,
        "expired": expired,
        "applied": all(body["applied"] for body in bodies),
        "repeated": all(body["repeated"] for body in bodies),
    }


async def generations(worker: Worker) -> dict[str, Any]:
    """Return which generation is active, and all that can be activated."""
    bodies = await every_part(worker, generations_part(worker), "generations", {}, None)
    known = {g for body in bodies for g in body["complete"]}
    return {"active": max(body["active"] for body in bodies), "generations": sorted(known)}


async def rebuild(worker: Worker, what: What, generation: int | None = None) -> dict[str, Any]:
    """Build a generation on all workers, verify it, and switch to it; with a number that of before, brought up to date.

    All build before any switches; the index that workers share is switched last, for all at once. What is active
    everywhere already stays as it is. Raises UnknownGeneration, WorkersDiffer, RebuildRunning, RebuildDiffers,
    RebuildInterrupted, PeerUnavailable: then nothing is wrong. Where some have switched to the new shards, which are
    the same fold, the others do by themselves (`catch_up`).
    """
    with worker.rebuilding.asked():  # of two that are asked at the same time at least one sees the other
        return await _rebuild(worker, what, generation)


async def _rebuild(worker: Worker, what: What, generation: int | None) -> dict[str, Any]:
    await same_settings(worker)
    bodies = await every_part(worker, generations_part(worker), "generations", {}, None)
    if any(body["running"] for body in bodies[1:]):  # the first is this worker's own
        raise RebuildRunning(RUNNING)
    index = None if what == "shards" else worker.shards.following.generations
    searched, kept = await index.known() if index is not None else (generation, [])
    if generation is not None and not any(generation in body["complete"] for body in bodies):
        raise UnknownGeneration(
            f"there is no generation {generation} to activate: `rebuild --list` shows those there are"
        )
    if what == "index" and index is None:  # it is made from the active shards when it is searched
        number = max(body["active"] for body in bodies)
    else:
        number = generation or max([body["following"] for body in bodies] + [g + 1 for g in kept])
    if index is not None and number == searched:
        what, index = "index" if what == "index" else "shards", None
    if index is not None and number in kept:
        await index.drop(number)
    rebuild_id = str(uuid4())
    switches = 1 + max(0, *(body.get("switches", 0) for body in bodies))  # an older worker counts none
    asked = {"what": what, "generation": number, "rebuild_id": rebuild_id, "switches": switches}
    unfinished = index
    try:
        built = await every_part(
            worker, worker.rebuilding.build(what, number, rebuild_id), "rebuild/build", asked, None
        )
        for _ in range(1 if index is None else 2):  # again: who died since follows the new index no more, and refuses
            switching = switch_part(worker, what, number, rebuild_id, switches)
            await every_part(worker, switching, "rebuild/switch", asked, None)
        unfinished = None  # where moving the alias fails, it may have moved
        if index is not None:
            await index.activate(number)
    finally:
        await asyncio.shield(_forget(worker, asked, unfinished))
    if index is not None:
        for other in set(kept) - {number, searched}:
            await index.drop(other)
    before, after = (combined(body[name] for body in built)["total"] for name in ("digests_before", "digests_after"))
    return {
        "generation": number,
        "decisions": sum(body["decisions"] for body in built),
        "seconds": max(body["seconds"] for body in built),
        "digest_before": before,
        "digest_after": after,
        "equal": before == after,
    }


async def catch_up(worker: Worker) -> None:
    """Switch this worker's shards to the generation that the others have switched to without it, if they have.

    As when it died between two workers' switches, or was away in a rebuild. One whose shards are new keeps them. Raises
    PeerUnavailable, RebuildRunning, RebuildDiffers, RebuildInterrupted.
    """
    others = [part.body for part in await worker.peers.gather("/v1/internal/generations", {}, None)]
    rebuilding, generations = worker.rebuilding, worker.rebuilding.generations
    if not others or any(body["running"] for body in others) or not worker.shards.is_settled:
        return
    switches, wanted = max((body.get("switches", 0), body["active"]) for body in others)  # an older worker counts none
    if switches <= generations.switches:
        return
    if wanted == generations.active or generations.switches == NO_SWITCHES:
        generations.activate(generations.active, switches)
        return
    rebuild_id = str(uuid4())
    with rebuilding.asked():
        try:
            await rebuilding.build("shards", wanted, rebuild_id)
            await rebuilding.switch("shards", wanted, rebuild_id, switches)
        finally:
            await rebuilding.drop(rebuild_id)


async def _forget(worker: Worker, asked: dict[str, Any], unfinished: IndexGenerations | None) -> None:
    """Have every worker that can be reached give up what it has built and not switched to.

    Then delete what a rebuild that failed has written to the index; where that is away, the next success does.
    """
    await worker.rebuilding.drop(asked["rebuild_id"])
    others = [worker.peers.ask(url, "/v1/internal/rebuild/drop", asked) for url in worker.peers.others()]
    for failed in await asyncio.gather(*others, return_exceptions=True):
        if isinstance(failed, BaseException) and not isinstance(failed, PeerUnavailable):
            raise failed
    if unfinished is not None:
        with suppress(IndexUnavailable):
            searched, kept = await unfinished.known()
            if asked["generation"] in set(kept) - {searched}:
                await unfinished.drop(asked["generation"])


async def every_part(
    worker: Worker, mine: Awaitable[dict[str, Any]], operation: str, asked: object, seconds: float | None
) -> list[dict[str, Any]]:
    """Do a part here and ask all others for theirs, at the same time; together they cover each partition once.

    Raises PeerUnavailable.
    """
    here = asyncio.ensure_future(part(worker, mine))
    try:
        others = await worker.peers.gather(f"/v1/internal/{operation}", asked, seconds)
    except BaseException:
        here.cancel()
        raise
    return whole([await here, *others], worker.shards.partitions)
