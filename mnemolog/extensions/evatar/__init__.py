"""Evatar's own routes: its names for the same memories, so that Evatar's clients need no change.

`route` lists, counts and forgets memories, as our own routes do; a device is a user, and where no device is named, the
pages are those of all users of the tenant (`mnemolog.cluster.tenant_memories`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.hooks import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import BaseRoute


def _routes() -> Iterable[BaseRoute]:
    from mnemolog.extensions.evatar.route import router  # noqa: PLC0415 - see Extension

    return router.routes


EXTENSION: Final = Extension(routes=_routes)
