"""Health: whether the process lives and is ready, its metrics, and whether it reaches its configured components."""

from dataclasses import asdict
from http import HTTPStatus

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse

from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.checks import Checks, checked
from mnemolog.diagnostics.clock_check import check_of_worker
from mnemolog.diagnostics.ledger_check import damaged
from mnemolog.http.dependencies import is_ready, not_ready
from mnemolog.http.models import responses
from mnemolog.http.permissions import MEASURING, OF_INSTALLATION, OPEN, needs
from mnemolog.http.problems import MOVING, OUT_OF_SESSION, Problem
from mnemolog.http.routing import answer, at_once, refused, routes
from mnemolog.operations.vector_spaces import ADVICE
from mnemolog.worker.metrics import MEDIA_TYPE

router = routes("health", access=OPEN, always=(), about_process=True, checks_query=False)
"""Probes and scrapers may add any query."""


@router.get("/health/live", response_model=responses.Health)
@at_once
async def live() -> Response:
    """Tell that the process answers."""
    return answer({"status": "live"})


@router.get("/health/ready", response_model=responses.Health, responses=refused(HTTPStatus.SERVICE_UNAVAILABLE))
async def ready(request: Request) -> Response:
    """Return whether requests are answered here: started, known to the group, log and shards usable, nothing moves."""
    worker = request.app.state.worker
    if not is_ready(worker):
        raise not_ready(worker)
    if (away := worker.log_watch.away) is not None:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, away)
    if not worker.is_in_session():
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, OUT_OF_SESSION)
    if (trouble := worker.shards.trouble()) is not None:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(trouble))
    if not worker.shards.assignment.is_ready or worker.peers.unowned():
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, worker.hindrance or MOVING)
    return answer({"status": "ready", "conditions": worker.clocks.conditions()})


@router.get("/metrics", response_class=PlainTextResponse)
@needs(MEASURING)
async def metrics(request: Request) -> Response:
    """Return Prometheus metrics."""
    worker = request.app.state.worker
    return Response(await worker.metrics.exposition(worker.gauges if is_ready(worker) else None), media_type=MEDIA_TYPE)


@router.get("/v1/admin/checks", response_model=Checks)
@needs(OF_INSTALLATION)
async def checks(request: Request) -> Response:
    """Reach every component that the worker's settings name, and say what to do about what is wrong."""
    worker = request.app.state.worker
    own = worker.keyed_log if is_ready(worker) else None
    checks = await checked(worker.settings, worker.log_watch.away, own)
    if is_ready(worker) and (found := worker.shards.users.damages()):
        checks.append(damaged(found))
    if is_ready(worker):
        waiting = "nothing of it is answered until that is mended; other partitions are"
        checks += [Check("partition", ok=False, detail=said, advice=waiting) for said in worker.hindrances.values()]
    if is_ready(worker) and (foreign := worker.vector_spaces.total()):
        detail = f"{foreign} memories are found by their words only: another encoder made their vectors"
        checks.append(Check("vectors", ok=False, detail=detail, advice=ADVICE))
    if is_ready(worker):
        checks.append(check_of_worker(worker.clocks.conditions()))
    return answer(asdict(Checks(all(check.ok for check in checks), checks)))
