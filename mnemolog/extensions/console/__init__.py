"""The console: web pages that show memories and let a person correct them.

`pages` serves three files, which contain no data. `console.js` calls the routes that all callers use, with the key that
the person enters, so the console shows nothing that the key may not see. There is no build step, and nothing is fetched
from other hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.hooks import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import BaseRoute


def _routes() -> Iterable[BaseRoute]:
    from mnemolog.extensions.console.pages import console_routes  # noqa: PLC0415 - see Extension

    return console_routes()


EXTENSION: Final = Extension(routes=_routes)
