"""Blocking work on files, which runs in a thread and is never interrupted."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

P = ParamSpec("P")
Result = TypeVar("Result")


async def run_in_thread(work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """Run `work` in a thread. A cancelled caller waits for its end: a thread cannot be stopped, and has open files."""
    return await run_to_end(asyncio.to_thread(work, *args, **kwargs))


async def run_to_end(work: Awaitable[Result]) -> Result:
    """Return the result of work in a thread. A cancelled caller still waits until it ends."""
    working = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():  # even if cancelled again
            with suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        working.exception()  # retrieved, because no task awaits it any more
        raise
