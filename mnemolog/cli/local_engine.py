"""The engine in the command's own process: a worker, and its front door without a port."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx

from mnemolog.cli.logs import start_logging
from mnemolog.client.client import AsyncClient
from mnemolog.http.app import make_http
from mnemolog.worker.worker import Worker
from projections.blocking_work import run_in_thread
from projections.shard.errors import ShardDamaged, ShardUnavailable, damage_reported, find_damaged
from schemas.codec import UnknownSchema
from schemas.disclosure import describe
from streams.registry.protocol import RegistryRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from mnemolog.settings import Settings


class EngineStopped(Exception):
    """The worker met what it cannot handle; the message is its last word."""


class ShardsDamaged(EngineStopped):
    """Shards could not be read; they are folded anew, so the same command given again works."""


async def started(settings: Settings) -> AbstractAsyncContextManager[AsyncClient]:
    """Start a worker; the context gives its client and stops it. Raises LogError, EngineStopped, OSError."""
    start_logging("warning", settings.log_format)  # a command's own engine shows only warnings
    worker = Worker(settings)
    try:
        await worker.start()
    except BaseException as error:
        await worker.stop()
        if isinstance(error, ShardDamaged):
            raise await _damaged(settings, {error.path}) from error
        if isinstance(error, (ShardUnavailable, UnknownSchema, RegistryRefused)):
            raise EngineStopped(str(error)) from error
        raise
    return _open(worker, settings)


@asynccontextmanager
async def _open(worker: Worker, settings: Settings) -> AsyncIterator[AsyncClient]:
    failure, mine, is_open, was_stopped = worker.failure, asyncio.current_task(), True, False
    damaged: set[Path] = set()
    assert failure is not None  # noqa: S101 - a started worker has one
    assert mine is not None  # noqa: S101 - this is a coroutine

    def stop(_: asyncio.Future[None]) -> None:
        nonlocal was_stopped
        if is_open:  # otherwise the worker is stopping, which must complete
            was_stopped = mine.cancel()

    failure.add_done_callback(stop)
    try:
        transport = httpx.ASGITransport(make_http(worker, trusts_callers=True))  # local access to the data needs no key
        with damage_reported(settings.data_dir / "shards", lambda found: damaged.add(found.path)):
            async with AsyncClient("http://127.0.0.1", transport=transport) as client:
                yield client
    except (Exception, asyncio.CancelledError) as refusal:  # an answer may have reported the failure in other words
        is_open = False
        if damaged and isinstance(refusal, Exception):
            await worker.stop()
            raise await _damaged(settings, damaged) from refusal
        if not failure.done() or (error := failure.exception()) is None:
            raise
        if was_stopped:
            mine.uncancel()
        await worker.stop()
        raise EngineStopped(describe(error)) from error
    finally:
        is_open = False
        await worker.stop()


async def _damaged(settings: Settings, found: Iterable[Path]) -> ShardsDamaged:
    """Look for more damage in all shards, which are closed by now, so that all damaged ones are folded anew at once."""
    folder = settings.data_dir.resolve() / "shards"
    more = [path for generation in sorted(folder.glob("*/")) for path in await run_in_thread(find_damaged, generation)]
    names = ", ".join(sorted({str(path.resolve().relative_to(folder)) for path in (*found, *more)}))
    return ShardsDamaged(
        f"shards in {folder} are damaged ({names}): give the same command again, and they are set aside and folded "
        "anew from the log, which has everything"
    )
