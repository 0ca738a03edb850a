"""Pagination: what is read page by page, so that the event loop has its turn between two."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Item = TypeVar("Item")


async def all_pages(read: Callable[[int], tuple[list[Item], int | None]]) -> list[Item]:
    """Return what all pages have. `read` returns what follows a place, from 0 on, and the next place; None: no more."""
    found, after = read(0)
    while after is not None:
        await asyncio.sleep(0)
        some, after = read(after)
        found += some
    return found
