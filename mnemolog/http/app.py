"""The HTTP application: every route of the front door, around one worker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import HTMLResponse
from starlette.routing import Route

from mnemolog.access.key_file import KeyFile
from mnemolog.access.rates import Rates
from mnemolog.access.verifier import Verifier
from mnemolog.hooks import extensions
from mnemolog.http import forwarding, problems, stats
from mnemolog.http.authentication import Authentication
from mnemolog.http.bounds.origin import LOOPBACK
from mnemolog.http.bounds.paths import Paths
from mnemolog.http.changes import route as changes
from mnemolog.http.docs_page import CONTENT_SECURITY_POLICY, docs_page
from mnemolog.http.middleware import Edge
from mnemolog.http.permissions import OPEN, access_of, declare
from mnemolog.http.routes import (
    admin,
    agents,
    context,
    conversations,
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
from mnemolog.http.routing import RouteStack

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

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
    changes,
    stats,
    exchange,
    tools,
    context,
    relationship,
    policies,
    admin,
    internal,
    health,
)
"""Every module with routes, in the order of the OpenAPI document. Add new modules here, except those of extensions."""


class _Application(FastAPI):
    """An application whose OpenAPI document describes the keys, and whose requests pass one layer: the edge."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(**options)
        self.edge: Callable[[ASGIApp], Edge] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the edge. FastAPI would check each time whether its telemetry, unused here, is set up."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        await self.middleware_stack(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """Put the edge around the routes.

        FastAPI's other layers are left out: the edge handles bugs and bounds bodies itself, and finds the route before
        it reads a body.
        """
        assert self.edge is not None  # noqa: S101 - set by who makes the application
        return self.edge(RouteStack(self.exception_handlers))

    def openapi(self) -> dict[str, Any]:
        """Return the document, which is built once."""
        if self.openapi_schema is None:
            document = super().openapi()
            document["components"]["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer", "description": "an API key: `mnl_…`"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            }
            document["security"] = [{"bearer": []}, {"apiKey": []}, {}]
            for route in self.routes:
                if isinstance(route, APIRoute) and route.include_in_schema and access_of(route.endpoint) is OPEN:
                    for operation in document["paths"][route.path_format].values():
                        operation["security"] = []
        return super().openapi()


def make_http(worker: Worker, *, trusts_callers: bool = False) -> FastAPI:
    """Return the application of a worker; until the worker has started, all routes but health and metrics answer 503.

    If the settings name a file of keys, callers need a key, unless the application `trusts_callers` because they are in
    the same process. Raises KeyFileError.
    """
    app = _Application(
        title="mnemolog", version="1", description=DESCRIPTION, redirect_slashes=False, docs_url=None, redoc_url=None
    )

    async def docs(_request: Request) -> Response:
        headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY}
        return HTMLResponse(docs_page(app.openapi()), headers=headers)

    app.add_route("/docs", docs, include_in_schema=False)
    for route in app.router.routes:
        if isinstance(route, Route):
            declare(route.endpoint, OPEN)  # the document and its page
    app.state.worker = worker
    problems.install(app)
    forwarding.install(app)
    for module in ROUTES:
        app.router.routes.extend(module.router.routes)
    for extension in extensions():
        app.router.routes.extend(extension.routes())
    settings = worker.settings
    advertised = urlsplit(settings.advertised_url or "").hostname
    hosts = LOOPBACK | {settings.host.lower()} | ({advertised} if advertised else set[str]())
    path = None if trusts_callers else settings.api_keys_file
    keys = None if path is None else Verifier(KeyFile(path), worker.clock)
    app.edge = partial(
        Edge,
        metrics=worker.metrics,
        hosts=hosts if path is None else None,  # a page of another site has no key, whatever hostname it uses
        authentication=Authentication(keys, Rates(worker.group_size)),
        paths=Paths(route for route in app.router.routes if isinstance(route, Route)),
        scheme="https" if settings.tls == "elsewhere" else None,
        plain_errors=[extension.has_plain_errors for extension in extensions()],
        names_suffice=not settings.has_proof and settings.api_keys_file is None,
    )
    return app
