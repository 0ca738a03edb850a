"""mem0's protocol: its own clients, unchanged, work on mnemolog.

1. `whose` determines the owner that a request is about: a user, an agent, an application, a run.
2. `conditions` translates mem0's filters into those of our own routes, for one user at a time.
3. `shapes` shows our memories, histories and states as mem0 does.
4. `requests` reads a request, and calls our own routes on its behalf.
5. `additions` adds the contents of messages, `memories` carries out all other requests.
6. `projects` handles the clients' settings for extraction: a project's settings are the tenant's policy.
7. `platform` has the routes of mem0's platform, `server` those of its open-source server.

Unknown fields are accepted here, as the protocol requires. A refusal is JSON with `detail`, which mem0's clients read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.extensions.mem0.paths import speaks_mem0
from mnemolog.hooks import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import BaseRoute


def _routes() -> Iterable[BaseRoute]:
    from mnemolog.extensions.mem0 import platform, server  # noqa: PLC0415 - see Extension

    return [*platform.router.routes, *server.router.routes]


EXTENSION: Final = Extension(routes=_routes, has_plain_errors=speaks_mem0)
