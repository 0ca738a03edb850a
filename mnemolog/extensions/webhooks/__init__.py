"""Webhooks: changes of memories, posted to a URL.

`registered.Webhooks` folds the registered webhooks and the progress of each. `deliveries.Deliveries` delivers the
changes: each webhook belongs to the worker that holds a certain partition. That worker reads `mnemolog/changes/feed.py`
like any caller, posts one page at a time by `mnemolog.receivers`, and continues once the receiver has accepted it.
`signature` signs the deliveries. `part` joins these to a worker, `route` has the routes with the bodies and answers of
`models`, and `commands` the command line's. Remove the webhooks about users before you take this folder away, because
an erasure of these users then leaves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.hooks import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click
    from starlette.routing import BaseRoute

    from mnemolog.hooks import Collaborators, WorkerPart


def _routes() -> Iterable[BaseRoute]:
    from mnemolog.extensions.webhooks.route import router  # noqa: PLC0415 - see Extension

    return router.routes


def _commands(program: click.Group) -> None:
    from mnemolog.extensions.webhooks.commands import commands  # noqa: PLC0415 - see Extension

    commands.install_group(program, "webhooks", "Whom changes are posted to.")


def _worker_part(given: Collaborators) -> WorkerPart:
    from mnemolog.extensions.webhooks.part import WebhookPart  # noqa: PLC0415 - see Extension

    return WebhookPart(given)


EXTENSION: Final = Extension(routes=_routes, commands=_commands, worker_part=_worker_part)
