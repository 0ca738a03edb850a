"""Routes for the other workers of the group: a worker's part of an operation on all partitions, and its users' data.

The parts are the rows of `PARTS`; the name of a row is the one that `ScatterGather.gather` takes.
"""

from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Generic, TypeAlias, TypeVar

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.access.principal import PRINCIPAL, Principal
from mnemolog.changes.feed import ChangesWanted
from mnemolog.cluster.peers import SHARD
from mnemolog.cluster.trust import FORWARDED
from mnemolog.http.authentication import NOT_FOR_CALLERS
from mnemolog.http.changes.models import ChangesPart
from mnemolog.http.dependencies import CurrentWorker, is_ready, not_ready
from mnemolog.http.models.body import Body
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
from mnemolog.worker.worker import Worker
from projections.partitions.sender import InUse
from projections.queries.tenant.memories import Counted, Wanted
from projections.queries.tenant.model_usage import Span
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.slices import in_slices
from schemas.instant import instant
from schemas.messages.inbox import ImportMemory
from schemas.messages.observations import OBSERVATIONS

B = TypeVar("B", bound=Body)
Work: TypeAlias = "Awaitable[dict[str, Any]]"


async def _from_a_worker(request: Request) -> None:
    """Refuse a request that no worker of the group sent. Without a proof at the workers' port, the name must be known.

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
    """Refuse a request about a tenant other than the caller's. Raises Problem."""
    scope = request.scope
    caller: Principal | None = scope[FROM_PEER] if FROM_PEER in scope else scope[PRINCIPAL]
    if caller is not None and any(tenant != caller.tenant for tenant in tenants):
        raise Problem(HTTPStatus.FORBIDDEN, "the worker asks about another tenant than the caller's")


router = routes(
    "internal", "/v1/internal", BETWEEN_WORKERS, dependencies=[Depends(_from_a_worker)], include_in_schema=False
)


def _conversation(body: ForwardedEvents) -> Conversation | None:
    """Return the utterances from which the ids of a conversation's messages are derived."""
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


@router.post("/rebuild/drop")
async def drop(worker: CurrentWorker, body: RebuildPart) -> Response:
    """Give up what this worker has built and not switched to."""
    await worker.rebuilder.drop(body.rebuild_id)
    return answer({})


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
                    return  # the receiver notices the missing end, and folds instead
                yield part

    return StreamingResponse(whole(), media_type=SHARD)


def _wanted(body: TenantMemories) -> Wanted:
    return Wanted(tenant=body.tenant, now=body.now, memory_type=body.memory_type, category=body.category)


def _plan(body: RebuildPart) -> RebuildPlan:
    return RebuildPlan(body.what, body.generation, body.rebuild_id, body.switches, body.encoder)


def _reextract(worker: Worker, body: ReextractPart) -> Work:
    owner = None if body.tenant is None or body.user_id is None else Owner(body.tenant, body.user_id)
    return worker.reextraction.run_local(
        Rejections(before=body.before, owner=owner, since=body.since, until=body.until)
    )


async def _tick(worker: Worker, body: TickDue) -> dict[str, Any]:
    """Emit a tick. Raises Problem for a tick that the other worker should have refused."""
    if body.as_of > worker.clock.now() + MAX_AHEAD + MAX_SKEW and not body.force:
        detail = f"$.as_of {instant(body.as_of)} is ahead of the clock: correct it, or use --force"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    return await worker.ticks.emit_local(body.policy or worker.settings.decay_policy, body.as_of, body.timeout)


def _names(worker: Worker, body: TenantNames) -> Work:
    counted = Counted(
        by=body.by,
        after=body.after,
        limit=body.limit,
        agent_id=body.agent_id,
        session_id=body.session_id,
        app_id=body.app_id,
    )
    return worker.tenant_memories.local_names(_wanted(body), counted)


def _compare(worker: Worker, body: ComparisonPart) -> Work:
    questions = [LabelledQuestion(Owner(q.tenant, q.user_id), q.query, frozenset(q.expected)) for q in body.questions]
    return worker.reembed.local_compare(body.encoder, questions, body.now)


@dataclass(frozen=True, slots=True)
class Part(Generic[B]):
    """A worker's part of an operation on all partitions: its name, its body, and the function that performs it."""

    name: str
    body: type[B] | None
    work: Callable[[Worker, B], Work]
    reads: bool = False
    takes_long: bool = False


PARTS: Final[tuple[Part[Any], ...]] = (
    Part("digest", None, lambda worker, _: worker.digests.read_local(), reads=True),
    Part("usage", None, lambda worker, _: worker.usage.counts(), reads=True),
    Part("erasures", None, lambda worker, _: worker.erasure_list.here(), reads=True),
    Part("lag", None, lambda worker, _: worker.lags.read_local(), reads=True),
    Part(
        "model-usage",
        UsagePart,
        lambda worker, body: worker.model_usages.read_local(body.by, Span(since=body.since, until=body.until)),
        reads=True,
        takes_long=True,
    ),
    Part("drain", Drain, lambda worker, body: worker.drain.run_local(body.timeout), takes_long=True),
    Part("reextract", ReextractPart, _reextract, takes_long=True),
    Part("ticks", TickDue, _tick, takes_long=True),
    Part("clock", None, lambda worker, _: worker.clocks.read_local(), reads=True),
    Part(
        "clock-confirm",
        ClockPart,
        lambda worker, body: worker.clocks.confirm_here(body.as_of, body.timeout),
        takes_long=True,
    ),
    Part(
        "tenant/places",
        TenantPlaces,
        lambda worker, body: worker.tenant_memories.local_places(_wanted(body), body.first),
        reads=True,
    ),
    Part(
        "tenant/items",
        TenantItems,
        lambda worker, body: worker.tenant_memories.local_items(_wanted(body), body.memory_ids),
        reads=True,
    ),
    Part(
        "tenant/counts",
        TenantMemories,
        lambda worker, body: worker.tenant_memories.local_counts(_wanted(body)),
        reads=True,
    ),
    Part("tenant/names", TenantNames, _names, reads=True),
    Part("generations", None, lambda worker, _: worker.rebuild.local_generations()),
    Part("rebuild/build", RebuildPart, lambda worker, body: worker.rebuilder.build(_plan(body)), takes_long=True),
    Part("rebuild/switch", RebuildPart, lambda worker, body: worker.rebuild.switch_local(_plan(body)), takes_long=True),
    Part("reembed/report", None, lambda worker, _: worker.reembed.local_report(), reads=True),
    Part(
        "reembed/forecast",
        ReembedPart,
        lambda worker, body: worker.reembed.local_forecast(body.encoder),
        takes_long=True,
    ),
    Part("reembed/build", ReembedPart, lambda worker, body: worker.reembed.local_build(body.encoder), takes_long=True),
    Part("reembed/compare", ComparisonPart, _compare, takes_long=True),
)
"""The parts that workers request from each other, all at the same time; each is the route of its name."""


async def _answered(worker: Worker, work: Work) -> Response:
    here = await worker.cluster.local_answer(work)
    return answer({"partitions": sorted(here.partitions), "body": here.body, "settings": here.settings})


def _route(part: Part[Any]) -> Callable[..., Coroutine[Any, Any, Response]]:
    async def without_body(worker: CurrentWorker) -> Response:
        return await _answered(worker, part.work(worker, None))

    async def with_body(request: Request, worker: CurrentWorker, body: Any) -> Response:  # noqa: ANN401 - see below
        if isinstance(body, TenantMemories):
            _require_tenant(request, body.tenant)
        return await _answered(worker, part.work(worker, body))

    with_body.__annotations__["body"] = part.body  # FastAPI reads the type of a body here
    route = without_body if part.body is None else with_body
    return takes_long(route) if part.takes_long else route


for each in PARTS:
    router.post(f"/{each.name}")(reads(_route(each)) if each.reads else _route(each))
