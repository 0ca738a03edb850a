"""The HTTP application: every route of the front door, around one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI

from mnemolog.http import forwarding, problems
from mnemolog.http.mcp import route as mcp
from mnemolog.http.middleware import Edge
from mnemolog.http.origin import LOOPBACK, name_of
from mnemolog.http.routes import (
    admin,
    agents,
    context,
    conversations,
    evatar,
    exchange,
    health,
    internal,
    memories,
    publishing,
    relationship,
    search,
    sharing,
    tools,
    wakes,
)
from mnemolog.http.routing import known_query

if TYPE_CHECKING:
    from mnemolog.worker.worker import Worker

DESCRIPTION = "Memory for AI agents, kept as a log. Errors are application/problem+json."


def make_http(worker: Worker) -> FastAPI:
    """Return the application of a worker; until the worker has started, all but health and metrics answer 503."""
    app = FastAPI(title="mnemolog", version="1", description=DESCRIPTION, redirect_slashes=False, redoc_url=None)
    app.state.worker = worker
    problems.install(app)
    forwarding.install(app)
    for part in (
        publishing,
        conversations,
        memories,
        sharing,
        search,
        agents,
        wakes,
        exchange,
        tools,
        evatar,
        context,
        relationship,
        admin,
        internal,
    ):
        app.include_router(part.router, dependencies=[Depends(known_query)])
    for part in (mcp, health):
        app.include_router(part.router)
    settings = worker.settings
    advertised = {name_of(urlsplit(settings.advertised_url).netloc)} if settings.advertised_url else set[str]()
    hosts = LOOPBACK | {name_of(settings.host)} | advertised
    app.add_middleware(Edge, metrics=worker.metrics, hosts=hosts)
    return app
