"""What a worker among others looks after by itself, besides its agents: everybody's memories, and its generation."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from mnemolog.cluster.peers import PeerUnavailable, WorkersDiffer
from mnemolog.cluster.scatter_gather import catch_up, same_settings
from mnemolog.operations.rebuild import RebuildDiffers, RebuildInterrupted, RebuildRunning
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardUnavailable
from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from mnemolog.worker.worker import Worker
    from projections.partitions.shards import Shards

log = logging.getLogger("mnemolog")
FOLLOW_EVERY_SECONDS: Final = 1.0
CATCH_UP_EVERY_SECONDS: Final = 10.0
DIFFERS_SECONDS: Final = 3_600.0
"""Before a generation whose digest differed is built again."""


def among_others(worker: Worker) -> list[Callable[[], Coroutine[Any, Any, None]]]:
    """Return what a worker does beside its agents where there may be others; each goes on until it is cancelled."""
    if worker.settings.is_embedded:
        return []
    return [
        partial(follow_for_ever, worker.shards),
        partial(say_if_settings_differ, worker),
        partial(catch_up_for_ever, worker),
        partial(worker.log_watch.run, worker.log, worker.shards),
    ]


async def follow_for_ever(shards: Shards) -> None:
    """Fold global memories that others decide."""
    while True:
        await asyncio.sleep(FOLLOW_EVERY_SECONDS)
        with suppress(ShardUnavailable):
            await shards.follow_globals()


async def say_if_settings_differ(worker: Worker) -> None:
    """Log it when another worker has other settings of those that all must share."""
    with suppress(PeerUnavailable):  # who cannot be asked says it when it starts itself
        try:
            await same_settings(worker)
        except WorkersDiffer as error:
            log.error("%s; until then searches miss memories, and drain and rebuild are refused", error)  # noqa: TRY400 - an operator's matter


async def catch_up_for_ever(worker: Worker) -> None:
    """Switch to the generation that the others have switched to, so that none stays half switched to."""
    while True:
        await asyncio.sleep(CATCH_UP_EVERY_SECONDS)
        try:
            await catch_up(worker)
        except (PeerUnavailable, RebuildRunning, RebuildInterrupted):
            pass  # what is going on ends, and then it is tried again
        except (LogUnavailable, ShardUnavailable, IndexUnavailable, OSError) as error:
            log.warning("the generation that the other workers have switched to is built later: %s", error)
        except RebuildDiffers as error:
            log.error("%s; this worker stays with the generation that it has", error)  # noqa: TRY400 - it says where
            await asyncio.sleep(DIFFERS_SECONDS)


async def unless_failed(failure: asyncio.Future[None], awaited: Coroutine[Any, Any, None]) -> None:
    """Wait for something to end, but no longer than until the failure. Raises what either raises."""
    waiting = asyncio.ensure_future(awaited)
    await asyncio.wait({waiting, failure}, return_when=asyncio.FIRST_COMPLETED)
    if failure.done():
        waiting.cancel()
        failure.result()
    waiting.result()
