"""What workers ask each other: their parts of what concerns all partitions, and to accept events of their users."""

from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.cluster.peers import FORWARDED, SHARD
from mnemolog.http.dependencies import CurrentWorker, is_ready
from mnemolog.http.models.internal_requests import ShardWanted, SharedMemory, TenantItems, TenantMemories, TenantPlaces
from mnemolog.http.models.requests import Drain, ForwardedEvents, ForwardedSnapshots, RebuildPart, TickDue
from mnemolog.http.models.wakes import WakesPart
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, reads, routes, takes_long
from mnemolog.imports.importer import parse_line
from mnemolog.operations.rebuild import RebuildPlan
from mnemolog.publishing.publisher import Conflict
from mnemolog.wakes.stream import Listener
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


async def _answered(worker: CurrentWorker, work: Awaitable[dict[str, Any]]) -> Response:
    here = await worker.cluster.local_answer(work)
    return answer({"partitions": sorted(here.partitions), "body": here.body, "settings": here.settings})


@router.post("/events")
async def events(worker: CurrentWorker, asked: ForwardedEvents) -> Response:
    """Accept events of this worker's users, which another worker has checked as far as it could."""
    messages = [codec.decode_as(b64decode(text), *OBSERVATIONS) for text in asked.messages]
    try:
        if asked.only_check:
            await worker.publish_router.check_here(messages)
            return answer({"items": [], "final": False, "conflicts": {}})
        published = await worker.publish_router.publish_here(messages, asked.wait)
    except Conflict as conflict:
        conflicts = {str(place): str(at) if at else None for place, at in conflict.places.items()}
        return answer({"items": [], "final": False, "conflicts": conflicts})
    return answer({"items": published.items, "final": published.is_final, "conflicts": {}})


@router.post("/import")
@takes_long
async def import_(worker: CurrentWorker, asked: ForwardedSnapshots) -> Response:
    """Import what this worker's users have, which another worker has checked."""
    now = worker.clock.now()
    lines = [parse_line(raw, tenant=asked.tenant, user_id=asked.user_id, accepted_at=now) for raw in asked.snapshots]
    return answer({"items": await worker.importer.import_here(lines, asked.wait)})


@router.post("/digest")
@reads
async def digest(worker: CurrentWorker) -> Response:
    """Return the digests of this worker's users."""
    return await _answered(worker, worker.digests.read_local())


@router.post("/drain")
@takes_long
async def drain(worker: CurrentWorker, asked: Drain) -> Response:
    """Drain this worker's partitions."""
    return await _answered(worker, worker.drain.run_local(asked.timeout))


@router.post("/ticks")
@takes_long
async def ticks(worker: CurrentWorker, asked: TickDue) -> Response:
    """Emit a tick in this worker's partitions."""
    policy = asked.policy or worker.settings.decay_policy
    return await _answered(worker, worker.ticks.emit_local(policy, asked.as_of, asked.timeout))


@router.post("/share")
async def share(worker: CurrentWorker, asked: SharedMemory) -> Response:
    """Have a user of this worker import what another one shares."""
    item = codec.decode_as(b64decode(asked.message), ImportMemory)
    return answer((await worker.sharer.receive(item)).body)


@router.post("/wakes")
@reads
async def wakes(worker: CurrentWorker, asked: WakesPart) -> Response:
    """Return what was raised in some of this worker's partitions."""
    listener = Listener(tenant=asked.tenant, user_id=asked.user_id, agent_id=asked.agent_id)
    since = {int(partition): offset for partition, offset in asked.since.items()}
    return answer(await worker.wake_streams.wakes_here(listener, since))


@router.post("/tenant/places")
@reads
async def tenant_places(worker: CurrentWorker, asked: TenantPlaces) -> Response:
    """Return where memories of this worker's users stand in a list over all users."""
    return await _answered(worker, worker.tenant_memories.local_places(_wanted(asked), asked.first))


@router.post("/tenant/items")
@reads
async def tenant_items(worker: CurrentWorker, asked: TenantItems) -> Response:
    """Return those of the memories that this worker's users have."""
    return await _answered(worker, worker.tenant_memories.local_items(_wanted(asked), asked.memory_ids))


@router.post("/tenant/counts")
@reads
async def tenant_counts(worker: CurrentWorker, asked: TenantMemories) -> Response:
    """Count the memories of this worker's users."""
    return await _answered(worker, worker.tenant_memories.local_counts(_wanted(asked)))


@router.post("/generations")
async def generations(worker: CurrentWorker) -> Response:
    """Return the generations of this worker's shards."""
    return await _answered(worker, worker.rebuild.local_generations())


@router.post("/rebuild/build")
@takes_long
async def build(worker: CurrentWorker, asked: RebuildPart) -> Response:
    """Build this worker's part of a generation."""
    return await _answered(worker, worker.rebuilder.build(_plan(asked)))


@router.post("/rebuild/switch")
@takes_long
async def switch(worker: CurrentWorker, asked: RebuildPart) -> Response:
    """Switch this worker to what it has built."""
    return await _answered(worker, worker.rebuild.switch_local(_plan(asked)))


@router.post("/rebuild/drop")
async def drop(worker: CurrentWorker, asked: RebuildPart) -> Response:
    """Give up what this worker has built and not switched to."""
    await worker.rebuilder.drop(asked.rebuild_id)
    return answer({})


@router.post("/shard")
async def shard(worker: CurrentWorker, asked: ShardWanted) -> Response:
    """Return what is here of a partition that another worker has now. Raises Problem."""
    try:
        offer = await worker.shards.lending.offer(asked.partition)
    except InUse as refusal:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal)) from None
    if offer is None:
        return answer({"offer": None})
    return answer({"offer": {"offsets": offer.offsets, "version": offer.version, "size": offer.size}})


@router.post("/shard/file")
@takes_long
async def shard_file(worker: CurrentWorker, asked: ShardWanted) -> Response:
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
