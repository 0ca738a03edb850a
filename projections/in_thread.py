"""Work on files in a thread, which nothing leaves behind half done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
Result = TypeVar("Result")


async def in_thread(work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """Do it in a thread; who is cancelled waits for its end: a thread cannot be stopped, and has files open."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        working.exception()  # nobody waits for it any more
        raise
