"""The engine in the command's own process: a worker, and its front door without a port."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx

from mnemolog.cli.logs import start_logging
from mnemolog.client import AsyncClient
from mnemolog.composition import Worker
from mnemolog.http.app import make_http
from projections.shard_trouble import ShardDamaged, ShardUnavailable
from schemas.codec import UnknownSchema
from streams.schema_registry import RegistryRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from mnemolog.settings import Settings


class EngineStopped(Exception):
    """The worker met what it cannot handle; the message is its last word."""


async def started(settings: Settings) -> AbstractAsyncContextManager[AsyncClient]:
    """Start a worker; the context gives its client and stops it. Raises LogError, EngineStopped, OSError."""
    start_logging("warning", settings.log_format)  # a command's own engine has no news, only warnings
    worker = Worker(settings)
    try:
        await worker.start()
    except BaseException as error:
        await worker.stop()
        if isinstance(error, (ShardDamaged, ShardUnavailable, UnknownSchema, RegistryRefused)):
            raise EngineStopped(str(error)) from error
        raise
    return _open(worker)


@asynccontextmanager
async def _open(worker: Worker) -> AsyncIterator[AsyncClient]:
    failure, mine = worker.failure, asyncio.current_task()
    assert failure is not None  # noqa: S101 - a started worker has one
    assert mine is not None  # noqa: S101 - this is a coroutine

    def stop(_: asyncio.Future[None]) -> None:
        mine.cancel()

    failure.add_done_callback(stop)
    try:
        async with AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(make_http(worker))) as client:
            yield client
    except asyncio.CancelledError:
        if failure.done() and (error := failure.exception()) is not None:
            mine.uncancel()
            raise EngineStopped(f"{type(error).__name__}: {error}") from error
        raise
    finally:
        failure.remove_done_callback(stop)
        await worker.stop()
