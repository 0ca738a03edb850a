"""What workers ask each other: their parts of what concerns all partitions, and to accept events of their users."""

from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.cluster.peers import FORWARDED, SHARD
from mnemolog.commands import sharing
from mnemolog.http.dependencies import Held, is_ready
from mnemolog.http.models.internal_requests import ShardWanted, SharedMemory, TenantItems, TenantMemories, TenantPlaces
from mnemolog.http.models.requests import Drain, ForwardedEvents, ForwardedSnapshots, RebuildPart, TickDue
from mnemolog.http.models.wakes import WakesPart
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, routes
from mnemolog.imports.importer import import_here, parse_line
from mnemolog.operations.rebuild import RebuildPlan
from mnemolog.publishing.publisher import Conflict
from mnemolog.publishing.router import accept_here
from mnemolog.wakes.stream import Listener, wakes_part
from projections.partitions.sender import InUse
from projections.queries.tenant_memories import Wanted
from schemas import codec
from schemas.messages.inbox import ImportMemory
from schemas.messages.observations import OBSERVATIONS


async def _from_a_worker(request: Request) -> None:
    """Refuse what no worker of the group sent, as far as a name can tell. Raises Problem."""
    worker, sender = request.app.state.worker, request.headers.get(FORWARDED)
    if sender is None or (is_ready(worker) and not worker.peers.knows(sender)):
        raise Problem(HTTPStatus.NOT_FOUND, "this route is for the group's other workers: /docs lists those for you")


router = routes("internal", "/v1/internal", dependencies=[Depends(_from_a_worker)], include_in_schema=False)


def _wanted(asked: TenantMemories) -> Wanted:
    return Wanted(tenant=asked.tenant, now=asked.now, memory_type=asked.memory_type, category=asked.category)


def _plan(asked: RebuildPart) -> RebuildPlan:
    return RebuildPlan(asked.what, asked.generation, asked.rebuild_id, asked.switches)


async def _answered(worker: Held, work: Awaitable[dict[str, Any]]) -> Response:
    here = await worker.cluster.local_answer(work)
    return answer({"partitions": sorted(here.partitions), "body": here.body, "settings": here.settings})


@router.post("/events")
async def events(worker: Held, asked: ForwardedEvents) -> Response:
    """Accept events of this worker's users, which another worker has checked as far as it could."""
    messages = [codec.decode_as(b64decode(text), *OBSERVATIONS) for text in asked.messages]
    conflicts: dict[str, str | None] = {}
    items, final = list[dict[str, Any]](), False
    try:
        items, final = await accept_here(worker, messages, asked.wait, only_check=asked.only_check)
    except Conflict as conflict:
        conflicts = {str(place): str(at) if at else None for place, at in conflict.places.items()}
    return answer({"items": items, "final": final, "conflicts": conflicts})


@router.post("/import")
async def import_(worker: Held, asked: ForwardedSnapshots) -> Response:
    """Import what this worker's users have, which another worker has checked."""
    now = worker.clock.now()
    some = [parse_line(raw, tenant=asked.tenant, user_id=asked.user_id, accepted_at=now) for raw in asked.snapshots]
    return answer({"items": await import_here(worker, some, asked.wait)})


@router.post("/digest")
async def digest(worker: Held) -> Response:
    """Return the digests of this worker's users."""
    return await _answered(worker, worker.digests.read_local())


@router.post("/drain")
async def drain(worker: Held, asked: Drain) -> Response:
    """Drain this worker's partitions."""
    return await _answered(worker, worker.drain.run_local(asked.timeout))


@router.post("/ticks")
async def ticks(worker: Held, asked: TickDue) -> Response:
    """Emit a tick in this worker's partitions."""
    policy = asked.policy or worker.settings.decay_policy
    return await _answered(worker, worker.ticks.emit_local(policy, asked.as_of, asked.timeout))


@router.post("/share")
async def share(worker: Held, asked: SharedMemory) -> Response:
    """Have a user of this worker import what another one shares."""
    item = codec.decode_as(b64decode(asked.message), ImportMemory)
    return answer((await sharing.share_here(worker, item)).body)


@router.post("/wakes")
async def wakes(worker: Held, asked: WakesPart) -> Response:
    """Return what was raised in some of this worker's partitions."""
    listener = Listener(tenant=asked.tenant, user_id=asked.user_id, agent_id=asked.agent_id)
    since = {int(partition): offset for partition, offset in asked.since.items()}
    return answer(await wakes_part(worker, listener, since))


@router.post("/tenant/places")
async def tenant_places(worker: Held, asked: TenantPlaces) -> Response:
    """Return where memories of this worker's users stand in a list over all users."""
    return await _answered(worker, worker.tenant_memories.local_places(_wanted(asked), asked.first))


@router.post("/tenant/items")
async def tenant_items(worker: Held, asked: TenantItems) -> Response:
    """Return those of the memories that this worker's users have."""
    return await _answered(worker, worker.tenant_memories.local_items(_wanted(asked), asked.memory_ids))


@router.post("/tenant/counts")
async def tenant_counts(worker: Held, asked: TenantMemories) -> Response:
    """Count the memories of this worker's users."""
    return await _answered(worker, worker.tenant_memories.local_counts(_wanted(asked)))


@router.post("/generations")
async def generations(worker: Held) -> Response:
    """Return the generations of this worker's shards."""
    return await _answered(worker, worker.rebuild.local_generations())


@router.post("/rebuild/build")
async def build(worker: Held, asked: RebuildPart) -> Response:
    """Build this worker's part of a generation."""
    return await _answered(worker, worker.rebuilder.build(_plan(asked)))


@router.post("/rebuild/switch")
async def switch(worker: Held, asked: RebuildPart) -> Response:
    """Switch this worker to what it has built."""
    return await _answered(worker, worker.rebuild.switch_local(_plan(asked)))


@router.post("/rebuild/drop")
async def drop(worker: Held, asked: RebuildPart) -> Response:
    """Give up what this worker has built and not switched to."""
    await worker.rebuilder.drop(asked.rebuild_id)
    return answer({})


@router.post("/shard")
async def shard(worker: Held, asked: ShardWanted) -> Response:
    """Return what is here of a partition that another worker has now. Raises Problem."""
    try:
        offer = await worker.shards.lending.offer(asked.partition)
    except InUse as refusal:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal)) from None
    if offer is None:
        return answer({"offer": None})
    return answer({"offer": {"offsets": offer.offsets, "version": offer.version, "size": offer.size}})


@router.post("/shard/file")
async def shard_file(worker: Held, asked: ShardWanted) -> Response:
    """Return the file, then its checksum. Raises Problem."""
    parts = worker.shards.lending.content(asked.partition)
    try:
        first = await anext(parts)
    except InUse as refusal:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal)) from None

    async def whole() -> AsyncIterator[bytes]:
        async with aclosing(parts):
            yield first
            async for part in parts:
                if worker.stopping.is_set():
                    return  # who copies finds the end missing, and folds
                yield part

    return StreamingResponse(whole(), media_type=SHARD)
