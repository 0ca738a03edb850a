"""The memories of all users of a tenant: each worker orders its own, and who was asked merges them, never partly.

Two rounds: first the places of as many memories as the page reaches, which are short, then the page's memories alone.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mnemolog.cluster.scatter_gather import every_part
from projections.queries.tenant_memories import Place, Wanted, counts, named, places
from projections.queries.views import evatar_view
from schemas.identity import GLOBAL_USER, Owner
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mnemolog.worker.worker import Worker

T = TypeVar("T")
_SCANS: Final = ThreadPoolExecutor(1, "tenant-memories")
"""One scan at a time: more of them would keep the machine from everything else."""
REACH: Final = 100_000
"""How far pages over all users go: so many places are gathered from every worker."""


async def places_part(worker: Worker, wanted: Wanted, first: int) -> dict[str, Any]:
    """Return the places of the first so many memories of this worker's users, in order, and how many there are."""
    found = await _of_each_shard(worker, wanted.tenant, lambda path: places(path, wanted, first))
    total = sum(map(len, found))
    if any(len(each) == first for each in found):  # there may be more of them than were asked for
        total = sum(number for _, _, number in (await counts_part(worker, wanted))["counts"])
    return {"places": [[*place] for place in islice(heapq.merge(*found), first)], "total": total}


async def counts_part(worker: Worker, wanted: Wanted) -> dict[str, Any]:
    """Return how many memories of each type and category this worker's users have."""
    found = await _of_each_shard(worker, wanted.tenant, lambda path: counts(path, wanted))
    return {"counts": [row for rows in found for row in rows]}


async def items_part(worker: Worker, wanted: Wanted, memory_ids: list[str]) -> dict[str, Any]:
    """Return those of the memories that this worker's users have, as Evatar shows them."""
    found = await _of_each_shard(worker, wanted.tenant, lambda path: named(path, wanted, memory_ids))
    return {"items": [evatar_view(owner, memory) for each in found for owner, memory in each]}


async def page(worker: Worker, wanted: Wanted, number: int, size: int) -> dict[str, Any]:
    """Return a page over all users, the most important first, and the total. Raises PeerUnavailable.

    A memory that goes while the page is gathered is left out. `number * size` is at most REACH.
    """
    asked = _spelt(wanted)
    first = number * size
    parts = await every_part(
        worker, places_part(worker, wanted, first), "tenant/places", {**asked, "first": first}, None
    )
    total = sum(part["total"] for part in parts)
    merged = heapq.merge(*([Place(*place) for place in part["places"]] for part in parts))
    ids = [place.memory_id for place in islice(merged, first - size, first)]
    if not ids:
        return {"items": [], "total": total, "page": number, "page_size": size}
    mine = items_part(worker, wanted, ids)
    items = await every_part(worker, mine, "tenant/items", {**asked, "memory_ids": ids}, None)
    known = {item["id"]: item for part in items for item in part["items"]}
    shown = [known[memory_id] for memory_id in ids if memory_id in known]
    return {"items": shown, "total": total, "page": number, "page_size": size}


async def stats(worker: Worker, wanted: Wanted) -> dict[str, Any]:
    """Count the memories of all users: `{total, by_type, by_category}`. Raises PeerUnavailable."""
    parts = await every_part(worker, counts_part(worker, wanted), "tenant/counts", _spelt(wanted), None)
    return summed((memory_type, category, n) for part in parts for memory_type, category, n in part["counts"])


def summed(rows: Iterable[tuple[str, str, int]]) -> dict[str, Any]:
    """Return counts of (type, category, number) as stats."""
    by_type: Counter[str] = Counter()
    by_category: Counter[str] = Counter()
    for memory_type, category, number in rows:
        by_type[memory_type] += number
        by_category[category] += number
    return {"total": by_type.total(), "by_type": by_type, "by_category": by_category}


async def _of_each_shard(worker: Worker, tenant: str, read: Callable[[Path], T]) -> list[T]:
    """Read every shard that this worker answers for, beside the event loop; what everybody shares is one worker's."""
    shared = worker.shards.counts(Owner(tenant, GLOBAL_USER))
    shards = worker.shards.all() if shared else worker.shards.all()[:-1]
    loop = asyncio.get_running_loop()
    return [await loop.run_in_executor(_SCANS, read, shard.path) for shard in shards]


def _spelt(wanted: Wanted) -> dict[str, Any]:
    return {**asdict(wanted), "now": instant(wanted.now)}
