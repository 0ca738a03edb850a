"""The HTTP application: every route of the front door, around one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI

from mnemolog.access.key_file import KeyFile
from mnemolog.access.rates import Rates
from mnemolog.access.verifier import Verifier
from mnemolog.http import forwarding, problems
from mnemolog.http.authentication import Authentication
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


ROUTES: Final = (
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
)
"""Every module with routes about memory, in the order of the OpenAPI document. A new module is entered here."""
ROUTES_WITHOUT_QUERY_CHECK: Final = (mcp, health)
"""Those whose query parameters are not in the document: MCP checks its own, probes and scrapers may add any."""


def make_http(worker: Worker, *, trusts_callers: bool = False) -> FastAPI:
    """Return the application of a worker; until the worker has started, all but health and metrics answer 503.

    Where the settings name a file of keys, callers need one, unless it `trusts_callers`: those of the same process.
    Raises KeyFileError.
    """
    app = FastAPI(title="mnemolog", version="1", description=DESCRIPTION, redirect_slashes=False, redoc_url=None)
    app.state.worker = worker
    problems.install(app)
    forwarding.install(app)
    for module in ROUTES:
        app.include_router(module.router, dependencies=[Depends(known_query)])
    for module in ROUTES_WITHOUT_QUERY_CHECK:
        app.include_router(module.router)
    settings = worker.settings
    advertised = {name_of(urlsplit(settings.advertised_url).netloc)} if settings.advertised_url else set[str]()
    hosts = LOOPBACK | {name_of(settings.host)} | advertised
    path = None if trusts_callers else settings.api_keys_file
    keys = None if path is None else Verifier(KeyFile(path), worker.clock)
    app.add_middleware(
        Edge,
        metrics=worker.metrics,
        hosts=hosts if path is None else None,  # a page of another site has no key, by whatever name it reaches us
        authentication=None if keys is None else Authentication(keys, Rates(worker.group_size)),
        names_suffice=not settings.has_proof and settings.api_keys_file is None,
    )
    return app
