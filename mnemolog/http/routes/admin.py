"""What operators ask for: digests, draining, ticks, rebuilds and dead letters, while the worker serves."""

from datetime import timedelta
from http import HTTPStatus

from fastapi import Response

from mnemolog.cluster import scatter_gather
from mnemolog.cluster.peers import PeerUnavailable
from mnemolog.http.dependencies import Held
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Drain, KnownAt, Rebuild, Retry, TickDue
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, answers, refused, routes
from mnemolog.operations import dead_letters
from mnemolog.worker.components import tick_maker
from schemas.instant import instant

MAX_AHEAD = timedelta(minutes=5)
"""A tick that lies further ahead of the clock is probably a slip: it expires what is still in use."""
MAX_LISTED = 1_000
"""Dead letters in one answer; `total` counts them all."""

router = routes("admin", "/v1/admin")


@router.get("/digest", response_model=responses.Digest)
async def digest(worker: Held, known_at: KnownAt = None) -> Response:  # noqa: ARG001 - refused when given
    """Return one SHA-256 for each projection, and one over all."""
    return answer(await scatter_gather.digest(worker))


@router.post("/drain", response_model=responses.Drained, responses=refused(HTTPStatus.CONFLICT))
async def drained(worker: Held, asked: Drain | None = None) -> Response:
    """End open sessions and answer when everything published so far can be found; 503 when the time is over."""
    return answer(await scatter_gather.drain(worker, (asked or Drain()).timeout))


@router.post("/ticks", response_model=responses.Tick, responses=answers(s202=responses.Tick))
async def tick(asked: TickDue, worker: Held) -> Response:
    """Emit a tick at exactly `as_of` and wait until it is applied; 202 when that takes longer."""
    if asked.as_of > worker.clock.now() + MAX_AHEAD and not asked.force:
        detail = f"$.as_of {instant(asked.as_of)} is more than 5 minutes ahead of the clock: correct it, or use --force"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    policy = asked.policy or worker.settings.decay_policy
    try:
        tick_maker(policy, worker.settings)(0, asked.as_of)
    except OverflowError:
        days = worker.settings.retention_days
        detail = f"$.as_of {instant(asked.as_of)} is too early: the calendar has no day {days:g} days before it"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail) from None
    done = await scatter_gather.tick(worker, policy, asked.as_of, asked.timeout)
    return answer(done, HTTPStatus.OK if done["applied"] else HTTPStatus.ACCEPTED)


@router.post("/rebuild", response_model=responses.Rebuilt, responses=refused(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))
async def rebuild(worker: Held, asked: Rebuild | None = None) -> Response:
    """Fold the ledger from its beginning into a new generation, verify it, and switch; asks no model.

    With `activate` the generation of that number is brought up to date and switched to.
    """
    wanted = asked or Rebuild()
    try:
        return answer(await scatter_gather.rebuild(worker, wanted.what, wanted.activate))
    except PeerUnavailable as error:
        state = "searches go on, and `mnemolog rebuild --list` says which generation is active"
        raise PeerUnavailable(f"{error}; {state}") from error


@router.get("/rebuild", response_model=responses.Generations)
async def generations(worker: Held) -> Response:
    """List the generations: the active one, and those that can be switched back to."""
    return answer(await scatter_gather.generations(worker))


@router.get("/dead-letters", response_model=responses.DeadLetters)
async def listed(worker: Held) -> Response:
    """List what could not be read or handled, and why."""
    letters = await dead_letters.letters(worker.log)
    shown = letters[:MAX_LISTED]
    return answer({"items": [dead_letters.view(letter) for letter in shown], "total": len(letters)})


@router.post("/dead-letters", response_model=responses.Retried, responses=refused(HTTPStatus.NOT_FOUND))
async def retried(worker: Held, asked: Retry | None = None) -> Response:
    """Send dead letters back where they came from."""
    ids = (asked or Retry()).ids
    known = {letter.envelope.event_id for letter in await dead_letters.letters(worker.log)} if ids else set[str]()
    if unknown := [i for i in ids or () if i not in known]:
        detail = f"there is no dead letter {unknown[0]!r}: it never was, or it was sent back; nothing was sent"
        raise Problem(HTTPStatus.NOT_FOUND, detail)
    return answer({"retried": await dead_letters.retry(worker.log, ids)})
