"""The HTTP application: every route of the front door, around one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI
from starlette.responses import HTMLResponse
from starlette.routing import Route

from mnemolog.access.key_file import KeyFile
from mnemolog.access.rates import Rates
from mnemolog.access.verifier import Verifier
from mnemolog.http import forwarding, problems
from mnemolog.http.authentication import WITHOUT_KEY, Authentication
from mnemolog.http.bounds.paths import Paths
from mnemolog.http.docs_page import CONTENT_SECURITY_POLICY, docs_page
from mnemolog.http.mcp import route as mcp
from mnemolog.http.middleware import Edge
from mnemolog.http.origin import LOOPBACK
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
    policies,
    publishing,
    relationship,
    search,
    sharing,
    tools,
    wakes,
)
from mnemolog.http.routing import known_query

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

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
    policies,
    admin,
    internal,
)
"""Every module with routes about memory, in the order of the OpenAPI document. A new module is entered here."""
ROUTES_WITHOUT_QUERY_CHECK: Final = (mcp, health)
"""Those whose query parameters are not in the document: MCP checks its own, probes and scrapers may add any."""


class _Application(FastAPI):
    """An application whose document says how a key is sent."""

    def openapi(self) -> dict[str, Any]:
        """Return the document; it is made once."""
        if self.openapi_schema is None:
            document = super().openapi()
            document["components"]["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer", "description": "an API key: `mnl_…`"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            }
            document["security"] = [{"bearer": []}, {"apiKey": []}, {}]
            for path in WITHOUT_KEY & document["paths"].keys():
                for route in document["paths"][path].values():
                    route["security"] = []
        return super().openapi()


def make_http(worker: Worker, *, trusts_callers: bool = False) -> FastAPI:
    """Return the application of a worker; until the worker has started, all but health and metrics answer 503.

    Where the settings name a file of keys, callers need one, unless it `trusts_callers`: those of the same process.
    Raises KeyFileError.
    """
    app = _Application(
        title="mnemolog", version="1", description=DESCRIPTION, redirect_slashes=False, docs_url=None, redoc_url=None
    )

    async def docs(_request: Request) -> Response:
        headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY}
        return HTMLResponse(docs_page(app.openapi()), headers=headers)

    app.add_route("/docs", docs, include_in_schema=False)
    app.state.worker = worker
    problems.install(app)
    forwarding.install(app)
    for module in ROUTES:
        app.include_router(module.router, dependencies=[Depends(known_query)])
    for module in ROUTES_WITHOUT_QUERY_CHECK:
        app.include_router(module.router)
    settings = worker.settings
    advertised = urlsplit(settings.advertised_url or "").hostname
    hosts = LOOPBACK | {settings.host.lower()} | ({advertised} if advertised else set[str]())
    modules = (*ROUTES, *ROUTES_WITHOUT_QUERY_CHECK)
    answered = [*app.router.routes, *(route for module in modules for route in module.router.routes)]
    path = None if trusts_callers else settings.api_keys_file
    keys = None if path is None else Verifier(KeyFile(path), worker.clock)
    app.add_middleware(
        Edge,
        metrics=worker.metrics,
        hosts=hosts if path is None else None,  # a page of another site has no key, by whatever name it reaches us
        authentication=None if keys is None else Authentication(keys, Rates(worker.group_size)),
        paths=Paths(route for route in answered if isinstance(route, Route)),
        scheme="https" if settings.tls == "elsewhere" else None,
        names_suffice=not settings.has_proof and settings.api_keys_file is None,
    )
    return app
