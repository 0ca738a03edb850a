"""The MCP server, for models that call memory tools themselves.

`route` has the only route; `server` implements the protocol with the official package, which only this module imports
and the extra `mcp` installs; `tools` defines the tools that are not among the two in `mnemolog.http.tool_definitions`.
Each call becomes a request to mnemolog's own routes, so it passes the same checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.hooks import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import BaseRoute


def _routes() -> Iterable[BaseRoute]:
    from mnemolog.extensions.mcp.route import router  # noqa: PLC0415 - see Extension

    return router.routes


EXTENSION: Final = Extension(routes=_routes)
