"""Operations while the worker serves: digests, drain, ticks, rebuilds and dead letters."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Response

from mnemolog.cluster.peers import PeerUnavailable
from mnemolog.http.dependencies import Caller, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import (
    ClockConfirmed,
    Comparison,
    Drain,
    KnownAt,
    Rebuild,
    Reembed,
    Reextract,
    Retry,
    TickDue,
    UsageAsked,
)
from mnemolog.http.permissions import OF_INSTALLATION
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, answers, refused, routes, takes_long
from mnemolog.operations.clocks import ClocksDiffer
from mnemolog.operations.dead_letters import may_read, view
from mnemolog.operations.encoder_comparison import LabelledQuestion
from mnemolog.operations.encryption import NothingToRotate
from mnemolog.operations.reextraction import Rejections
from mnemolog.operations.ticks import MAX_AHEAD, tick_maker
from projections.queries.tenant.model_usage import Span
from schemas.identity import Owner
from schemas.instant import instant

MAX_LISTED = 1_000
"""The most dead letters in one answer; `total` counts them all."""

router = routes("admin", "/v1/admin", OF_INSTALLATION)
# The OpenAPI document takes the title of an optional body from the parameter's name, so `asked` must stay.


@router.get("/digest", response_model=responses.Digest)
async def digest(worker: CurrentWorker, known_at: KnownAt = None) -> Response:  # noqa: ARG001 - refused when given
    """Return one SHA-256 for each projection, and one over all."""
    return answer(await worker.digests.read())


@router.get("/usage", response_model=responses.ModelUsage)
@takes_long
async def model_usage(worker: CurrentWorker, asked: Annotated[UsageAsked, Query()]) -> Response:
    """Return what the model was asked and what it cost, by user, agent, day (UTC) or model, over all tenants."""
    return answer(await worker.model_usages.read(asked.by, Span(since=asked.since, until=asked.until)))


@router.get("/lag", response_model=responses.Lags)
async def lag(worker: CurrentWorker) -> Response:
    """Return how many items of each partition are not done, how old the oldest is, and which worker has them."""
    return answer(await worker.lags.read())


@router.post("/drain", response_model=responses.Drained, responses=refused(HTTPStatus.CONFLICT))
@takes_long
async def drained(worker: CurrentWorker, asked: Drain | None = None) -> Response:
    """End open sessions and answer when everything published so far can be found; 503 when the time is over."""
    return answer(await worker.drain.run((asked or Drain()).timeout))


@router.post("/reextract", response_model=responses.Reextracted)
@takes_long
async def reextract(worker: CurrentWorker, caller: Caller, asked: Reextract | None = None) -> Response:
    """Put the next windows whose extraction was rejected through the extractor again, and wait for what comes of it."""
    order = asked or Reextract()
    owner = None if order.user_id is None else Owner(caller.tenant, order.user_id)
    before = order.before or worker.clock.now()
    found = await worker.reextraction.run(Rejections(before=before, owner=owner, since=order.since, until=order.until))
    return answer({**found, "before": instant(before)})


@router.post("/ticks", response_model=responses.Tick, responses=answers(s202=responses.Tick))
@takes_long
async def tick(body: TickDue, worker: CurrentWorker) -> Response:
    """Emit a tick at exactly `as_of` and wait until it is applied; 202 when that takes longer."""
    if body.as_of > worker.clock.now() + MAX_AHEAD and not body.force:
        detail = f"$.as_of {instant(body.as_of)} is more than 5 minutes ahead of the clock: correct it, or use --force"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    policy = body.policy or worker.settings.decay_policy
    try:
        tick_maker(policy, worker.settings.retention_days)(0, body.as_of)
    except OverflowError:
        days = worker.settings.retention_days
        detail = f"$.as_of {instant(body.as_of)} is too early: the calendar has no day {days:g} days before it"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail) from None
    done = await worker.ticks.emit(policy, body.as_of, body.timeout, force=body.force)
    return answer(done, HTTPStatus.OK if done["applied"] else HTTPStatus.ACCEPTED)


@router.get("/clock", response_model=responses.Clocks)
async def clocks(worker: CurrentWorker) -> Response:
    """Say what time each worker goes by, what its machine's clock says, and what is wrong with either."""
    return answer(await worker.clocks.report())


@router.post(
    "/clock/confirm",
    response_model=responses.ClockConfirmed,
    responses=answers(s202=responses.ClockConfirmed) | refused(HTTPStatus.CONFLICT),
)
@takes_long
async def clock_confirmed(worker: CurrentWorker, asked: ClockConfirmed | None = None) -> Response:
    """Believe the workers' clocks as they are, have the log go on from them, and let what waited go on."""
    try:
        done = await worker.clocks.confirm((asked or ClockConfirmed()).timeout)
    except ClocksDiffer as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error
    return answer(done, HTTPStatus.OK if done["applied"] else HTTPStatus.ACCEPTED)


@router.post("/rebuild", response_model=responses.Rebuilt, responses=refused(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))
@takes_long
async def rebuild(worker: CurrentWorker, asked: Rebuild | None = None) -> Response:
    """Fold the ledger from its beginning into a new generation, verify it, and switch; asks no model.

    With `activate` the generation of that number is brought up to date and switched to.
    """
    order = asked or Rebuild()
    try:
        return answer(await worker.rebuild.run(order.what, order.activate))
    except PeerUnavailable as error:
        state = "searches go on, and `mnemolog rebuild --list` says which generation is active"
        raise PeerUnavailable(f"{error}; {state}") from error


@router.get("/rebuild", response_model=responses.Generations)
@takes_long
async def generations(worker: CurrentWorker) -> Response:
    """List the generations: the active one, and those that can be switched back to."""
    return answer(await worker.rebuild.generations())


@router.post("/keys/rotate", response_model=responses.KeysRotated, responses=refused(HTTPStatus.CONFLICT))
@takes_long
async def rotated(worker: CurrentWorker) -> Response:
    """Rewrap all data keys with a newer master key; the log is not rewritten."""
    try:
        return answer(await worker.key_rotation.run())
    except NothingToRotate as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error


@router.post("/reembed", response_model=responses.Reembedded, responses=refused(HTTPStatus.CONFLICT))
@takes_long
async def reembed(worker: CurrentWorker, asked: Reembed | None = None) -> Response:
    """Make another encoder's vectors beside those that serve; forecast what that takes, or switch to them."""
    order = asked or Reembed()
    encoder = order.encoder or worker.reembed.active
    calls = {"forecast": worker.reembed.forecast, "build": worker.reembed.build, "activate": worker.reembed.activate}
    return answer(await calls[order.what](encoder))


@router.get("/reembed", response_model=responses.ServingEncoder)
async def reembedding(worker: CurrentWorker) -> Response:
    """Say which encoder serves, and how far a running reembedding is."""
    return answer(await worker.reembed.report())


@router.post("/reembed/compare", response_model=responses.EncoderComparison, responses=refused(HTTPStatus.CONFLICT))
@takes_long
async def compared(body: Comparison, worker: CurrentWorker, tenant: Tenant) -> Response:
    """Ask both the active encoder and another one, and say what of the expected each finds."""
    questions = [
        LabelledQuestion(Owner(tenant, one.user_id), one.query, frozenset(one.expected)) for one in body.questions
    ]
    return answer(await worker.reembed.compare(body.encoder, questions, worker.clock.now()))


@router.get("/dead-letters", response_model=responses.DeadLetters)
async def listed(worker: CurrentWorker, caller: Caller) -> Response:
    """List what could not be read or handled, and why; the words of those only that the key may read."""
    letters = await worker.dead_letters.waiting()
    shown = letters[:MAX_LISTED]
    return answer(
        {"items": [view(letter, shows_words=may_read(caller, letter)) for letter in shown], "total": len(letters)}
    )


@router.post("/dead-letters", response_model=responses.Retried, responses=refused(HTTPStatus.NOT_FOUND))
async def retried(worker: CurrentWorker, asked: Retry | None = None) -> Response:
    """Send dead letters back where they came from."""
    ids = (asked or Retry()).ids
    known = {letter.envelope.event_id for letter in await worker.dead_letters.waiting()} if ids else set[str]()
    if unknown := [i for i in ids or () if i not in known]:
        detail = f"there is no dead letter {unknown[0]!r}: it never was, or it was sent back; nothing was sent"
        raise Problem(HTTPStatus.NOT_FOUND, detail)
    return answer({"retried": await worker.dead_letters.retry(ids)})
