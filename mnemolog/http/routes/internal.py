"""Routes for the other workers of the group: a worker's part of an operation on all partitions, and its users' data."""

from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.access.principal import PRINCIPAL, Principal
from mnemolog.changes.feed import ChangesWanted
from mnemolog.cluster.peers import SHARD
from mnemolog.cluster.trust import FORWARDED
from mnemolog.http.authentication import NOT_FOR_CALLERS
from mnemolog.http.changes.models import ChangesPart
from mnemolog.http.dependencies import CurrentWorker, is_ready, not_ready
from mnemolog.http.models.internal_requests import (
    ClockPart,
    ComparisonPart,
    ReembedPart,
    ReextractPart,
    ShardWanted,
    SharedMemory,
    TenantItems,
    TenantMemories,
    TenantNames,
    TenantPlaces,
    UsagePart,
)
from mnemolog.http.models.requests import Drain, ForwardedEvents, ForwardedSnapshots, RebuildPart, TickDue
from mnemolog.http.models.wakes import WakesPart
from mnemolog.http.peer_door import FROM_PEER
from mnemolog.http.permissions import BETWEEN_WORKERS, reads
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, routes, takes_long
from mnemolog.imports.importer import parse_line
from mnemolog.operations.encoder_comparison import LabelledQuestion
from mnemolog.operations.rebuild import RebuildPlan
from mnemolog.operations.reextraction import Rejections
from mnemolog.operations.ticks import MAX_AHEAD, MAX_SKEW
from mnemolog.publishing.publisher import Conflict
from mnemolog.publishing.utterances import Conversation, Utterance
from mnemolog.wakes.stream import Listener
from projections.partitions.sender import InUse
from projections.queries.tenant.memories import Counted, Wanted
from projections.queries.tenant.model_usage import Span
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.slices import in_slices
from schemas.instant import instant
from schemas.messages.inbox import ImportMemory
from schemas.messages.observations import OBSERVATIONS


async def _from_a_worker(request: Request) -> None:
    """Refuse what no worker of the group sent: as was proven at their door, else as far as a name can tell.

    Raises Problem.
    """
    worker, sender = request.app.state.worker, request.headers.get(FORWARDED)
    if FROM_PEER in request.scope:
        return
    if sender is None:
        raise Problem(HTTPStatus.NOT_FOUND, NOT_FOR_CALLERS)
    if not is_ready(worker):
        raise not_ready(worker)
    if not worker.peers.knows(sender):
        raise Problem(HTTPStatus.NOT_FOUND, NOT_FOR_CALLERS)


def _require_tenant(request: Request, *tenants: str) -> None:
    """Refuse what is about another tenant than the caller's. Raises Problem."""
    scope = request.scope
    caller: Principal | None = scope[FROM_PEER] if FROM_PEER in scope else scope[PRINCIPAL]
    if caller is not None and any(tenant != caller.tenant for tenant in tenants):
        raise Problem(HTTPStatus.FORBIDDEN, "the worker asks about another tenant than the caller's")


router = routes(
    "internal", "/v1/internal", BETWEEN_WORKERS, dependencies=[Depends(_from_a_worker)], include_in_schema=False
)


def _wanted(body: TenantMemories) -> Wanted:
    return Wanted(tenant=body.tenant, now=body.now, memory_type=body.memory_type, category=body.category)


def _plan(body: RebuildPart) -> RebuildPlan:
    return RebuildPlan(body.what, body.generation, body.rebuild_id, body.switches, body.encoder)


async def _answered(worker: CurrentWorker, work: Awaitable[dict[str, Any]]) -> Response:
    here = await worker.cluster.local_answer(work)
    return answer({"partitions": sorted(here.partitions), "body": here.body, "settings": here.settings})


def _conversation(body: ForwardedEvents) -> Conversation | None:
    """Return what names the messages of a conversation."""
    sent = body.conversation
    if sent is None:
        return None
    utterances = [Utterance(**one.model_dump()) for one in sent.utterances]
    return Conversation(utterances=utterances, sent_at=sent.sent_at, request_id=sent.request_id)


@router.post("/events")
async def events(request: Request, worker: CurrentWorker, body: ForwardedEvents) -> Response:
    """Accept events of this worker's users, which another worker has checked as far as it could."""
    messages = [codec.decode_as(b64decode(text), *OBSERVATIONS) async for text in in_slices(body.messages)]
    _require_tenant(request, body.tenant)
    if any(message.envelope.tenant != body.tenant for message in messages):
        raise Problem(HTTPStatus.FORBIDDEN, "an event is of another tenant than the request")
    try:
        if body.only_check:
            await worker.publish_router.check_here(messages)
            return answer({"items": [], "final": False, "conflicts": {}})
        published = await worker.publish_router.publish_here(messages, body.wait, _conversation(body))
    except Conflict as conflict:
        conflicts = {str(place): str(at) if at else None for place, at in conflict.places.items()}
        return answer({"items": [], "final": False, "conflicts": conflicts})
    return answer({"items": published.items, "final": published.is_final, "conflicts": {}})


@router.post("/import")
@takes_long
async def import_(request: Request, worker: CurrentWorker, body: ForwardedSnapshots) -> Response:
    """Import what this worker's users have, which another worker has checked."""
    _require_tenant(request, body.tenant)
    now = worker.clock.now()
    lines = [
        parse_line(raw, tenant=body.tenant, user_id=body.user_id, accepted_at=now, ids=worker.sealing.word_ids)
        async for raw in in_slices(body.snapshots)
    ]
    return answer({"items": await worker.importer.import_here(lines, body.wait)})


@router.post("/digest")
@reads
async def digest(worker: CurrentWorker) -> Response:
    """Return the digests of this worker's users."""
    return await _answered(worker, worker.digests.read_local())


@router.post("/usage")
@reads
async def usage(worker: CurrentWorker) -> Response:
    """Return how many events keys with a quota have published at this worker today."""
    return await _answered(worker, worker.usage.counts())


@router.post("/erasures")
@reads
async def erasures(worker: CurrentWorker) -> Response:
    """Return this worker's list of erasures, without names."""
    return await _answered(worker, worker.erasure_list.here())


@router.post("/lag")
@reads
async def lag(worker: CurrentWorker) -> Response:
    """Return how far behind this worker's partitions are."""
    return await _answered(worker, worker.lags.read_local())


@router.post("/model-usage")
@reads
@takes_long
async def model_usage(worker: CurrentWorker, body: UsagePart) -> Response:
    """Return what this worker's users cost."""
    span = Span(since=body.since, until=body.until)
    return await _answered(worker, worker.model_usages.read_local(body.by, span))


@router.post("/drain")
@takes_long
async def drain(worker: CurrentWorker, body: Drain) -> Response:
    """Drain this worker's partitions."""
    return await _answered(worker, worker.drain.run_local(body.timeout))


@router.post("/reextract")
@takes_long
async def reextract(worker: CurrentWorker, body: ReextractPart) -> Response:
    """Extract rejected windows of this worker's partitions again."""
    owner = None if body.tenant is None or body.user_id is None else Owner(body.tenant, body.user_id)
    wanted = Rejections(before=body.before, owner=owner, since=body.since, until=body.until)
    return await _answered(worker, worker.reextraction.run_local(wanted))


@router.post("/ticks")
@takes_long
async def ticks(worker: CurrentWorker, body: TickDue) -> Response:
    """Emit a tick in this worker's partitions. Raises Problem for one that the other worker should have refused."""
    if body.as_of > worker.clock.now() + MAX_AHEAD + MAX_SKEW and not body.force:
        detail = f"$.as_of {instant(body.as_of)} is ahead of the clock: correct it, or use --force"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    policy = body.policy or worker.settings.decay_policy
    return await _answered(worker, worker.ticks.emit_local(policy, body.as_of, body.timeout))


@router.post("/clock")
@reads
async def clock(worker: CurrentWorker) -> Response:
    """Return how this worker's clock is."""
    return await _answered(worker, worker.clocks.read_local())


@router.post("/clock-confirm")
@takes_long
async def clock_confirm(worker: CurrentWorker, body: ClockPart) -> Response:
    """Believe this worker's clock: an operator says so."""
    return await _answered(worker, worker.clocks.confirm_here(body.as_of, body.timeout))


@router.post("/share")
async def share(request: Request, worker: CurrentWorker, body: SharedMemory) -> Response:
    """Have a user of this worker import what another one shares."""
    item = codec.decode_as(b64decode(body.message), ImportMemory)
    _require_tenant(request, item.envelope.tenant)
    return answer((await worker.sharer.receive(item)).body)


@router.post("/wakes")
@reads
async def wakes(request: Request, worker: CurrentWorker, body: WakesPart) -> Response:
    """Return what was raised in some of this worker's partitions."""
    _require_tenant(request, body.tenant)
    listener = Listener(tenant=body.tenant, user_id=body.user_id, agent_id=body.agent_id)
    since = {int(partition): offset for partition, offset in body.since.items()}
    return answer(await worker.wake_streams.wakes_here(listener, since))


@router.post("/changes")
@reads
async def changes(request: Request, worker: CurrentWorker, body: ChangesPart) -> Response:
    """Return the changes in some of this worker's partitions."""
    _require_tenant(request, body.tenant)
    wanted = ChangesWanted(
        tenant=body.tenant, user_id=body.user_id, agent_id=body.agent_id, types=frozenset(body.types)
    )
    since = {int(partition): offset for partition, offset in body.since.items()}
    return answer(await worker.change_feed.take_turn(wanted, since, body.limit))


@router.post("/tenant/places")
@reads
async def tenant_places(request: Request, worker: CurrentWorker, body: TenantPlaces) -> Response:
    """Return where memories of this worker's users stand in a list over all users."""
    _require_tenant(request, body.tenant)
    return await _answered(worker, worker.tenant_memories.local_places(_wanted(body), body.first))


@router.post("/tenant/items")
@reads
async def tenant_items(request: Request, worker: CurrentWorker, body: TenantItems) -> Response:
    """Return those of the memories that this worker's users have."""
    _require_tenant(request, body.tenant)
    return await _answered(worker, worker.tenant_memories.local_items(_wanted(body), body.memory_ids))


@router.post("/tenant/counts")
@reads
async def tenant_counts(request: Request, worker: CurrentWorker, body: TenantMemories) -> Response:
    """Count the memories of this worker's users."""
    _require_tenant(request, body.tenant)
    return await _answered(worker, worker.tenant_memories.local_counts(_wanted(body)))


@router.post("/tenant/names")
@reads
async def tenant_names(request: Request, worker: CurrentWorker, body: TenantNames) -> Response:
    """Count the memories of this worker's users by what they name."""
    _require_tenant(request, body.tenant)
    counted = Counted(
        by=body.by,
        after=body.after,
        limit=body.limit,
        agent_id=body.agent_id,
        session_id=body.session_id,
        app_id=body.app_id,
    )
    return await _answered(worker, worker.tenant_memories.local_names(_wanted(body), counted))


@router.post("/generations")
async def generations(worker: CurrentWorker) -> Response:
    """Return the generations of this worker's shards."""
    return await _answered(worker, worker.rebuild.local_generations())


@router.post("/rebuild/build")
@takes_long
async def build(worker: CurrentWorker, body: RebuildPart) -> Response:
    """Build this worker's part of a generation."""
    return await _answered(worker, worker.rebuilder.build(_plan(body)))


@router.post("/rebuild/switch")
@takes_long
async def switch(worker: CurrentWorker, body: RebuildPart) -> Response:
    """Switch this worker to what it has built."""
    return await _answered(worker, worker.rebuild.switch_local(_plan(body)))


@router.post("/rebuild/drop")
async def drop(worker: CurrentWorker, body: RebuildPart) -> Response:
    """Give up what this worker has built and not switched to."""
    await worker.rebuilder.drop(body.rebuild_id)
    return answer({})


@router.post("/reembed/report")
@reads
async def reembed_report(worker: CurrentWorker) -> Response:
    """Return how far this worker is with a reembedding."""
    return await _answered(worker, worker.reembed.local_report())


@router.post("/reembed/forecast")
@takes_long
async def reembed_forecast(worker: CurrentWorker, body: ReembedPart) -> Response:
    """Say what this worker's share of a reembedding takes."""
    return await _answered(worker, worker.reembed.local_forecast(body.encoder))


@router.post("/reembed/build")
@takes_long
async def reembed_build(worker: CurrentWorker, body: ReembedPart) -> Response:
    """Make an encoder's vectors of this worker's memories."""
    return await _answered(worker, worker.reembed.local_build(body.encoder))


@router.post("/reembed/compare")
@takes_long
async def reembed_compare(worker: CurrentWorker, body: ComparisonPart) -> Response:
    """Ask both encoders the questions of this worker's users."""
    questions = [LabelledQuestion(Owner(q.tenant, q.user_id), q.query, frozenset(q.expected)) for q in body.questions]
    return await _answered(worker, worker.reembed.local_compare(body.encoder, questions, body.now))


@router.post("/shard")
async def shard(worker: CurrentWorker, body: ShardWanted) -> Response:
    """Return what is here of a partition that another worker has now. Raises Problem."""
    try:
        offer = await worker.shards.takeover.sender.offer(body.partition)
    except InUse as refusal:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal)) from None
    if offer is None:
        return answer({"offer": None})
    return answer({"offer": {"offsets": offer.offsets, "version": offer.version, "size": offer.size}})


@router.post("/shard/file")
@takes_long
async def shard_file(worker: CurrentWorker, body: ShardWanted) -> Response:
    """Return the file, then its checksum. Raises Problem."""
    parts = worker.shards.takeover.sender.content(body.partition)
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
