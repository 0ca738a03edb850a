"""The routes of the console's files, with a policy that forbids the browser to load anything else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.routing import Route

from mnemolog.http.permissions import OPEN, needs

if TYPE_CHECKING:
    from starlette.requests import Request

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_FILES: Final = {
    "/console": ("console.html", "text/html"),
    "/console/": ("console.html", "text/html"),
    "/console/console.js": ("console.js", "text/javascript"),
    "/console/console.css": ("console.css", "text/css"),
}


def console_routes() -> list[Route]:
    """Return the routes of the console's files."""
    return [Route(path, _file, include_in_schema=False) for path in _FILES]


@needs(OPEN)
async def _file(request: Request) -> Response:
    """Serve a file, which contains no data and so needs no key."""
    name, kind = _FILES[request.url.path]
    headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Referrer-Policy": "no-referrer"}
    return Response((Path(__file__).parent / name).read_bytes(), media_type=f"{kind}; charset=utf-8", headers=headers)
