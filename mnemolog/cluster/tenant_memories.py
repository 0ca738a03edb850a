"""The memories of all users of a tenant. Each worker sorts its own, and the worker with the request merges them.

A page takes two rounds: the first gathers the short places of all memories up to the end of the page, and the second
the memories of the page.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from projections.queries.tenant.memories import Counted, Place, Wanted, counts, named, named_counts, places
from projections.queries.views import memory_view
from schemas.identity import GLOBAL_USER, Owner
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards

T = TypeVar("T")
_SCANS: Final = ThreadPoolExecutor(1, "tenant-memories")
"""The thread for scans: one at a time, because more would starve everything else on the machine."""
REACH: Final = 100_000
"""The memories that pages over all users can reach; this many places are gathered from every worker."""


class TenantMemories:
    """Pages and counts over all users of a tenant, and this worker's share of them."""

    def __init__(self, shards: Shards, cluster: ScatterGather) -> None:
        self._shards = shards
        self._cluster = cluster

    async def page(self, wanted: Wanted, number: int, size: int) -> dict[str, Any]:
        """Return a page over all users, the most important first, and the total. Raises PeerUnavailable.

        The page is `{items, total, page, page_size}`. A memory that is removed while the page is gathered is left out.
        `number * size` is at most REACH.
        """
        request = _as_json(wanted)
        first = number * size
        work = self.local_places(wanted, first)
        answers = await self._cluster.gather(work, "tenant/places", {**request, "first": first}, None)
        total = sum(body["total"] for body in answers)
        merged = heapq.merge(*([Place(*place) for place in body["places"]] for body in answers))
        ids = [place.memory_id for place in islice(merged, first - size, first)]
        if not ids:
            return {"items": [], "total": total, "page": number, "page_size": size}
        work = self.local_items(wanted, ids)
        bodies = await self._cluster.gather(work, "tenant/items", {**request, "memory_ids": ids}, None)
        items = {item["memory_id"]: item for body in bodies for item in body["items"]}
        shown = [items[memory_id] for memory_id in ids if memory_id in items]
        return {"items": shown, "total": total, "page": number, "page_size": size}

    async def stats(self, wanted: Wanted) -> dict[str, Any]:
        """Count the memories of all users: `{total, by_type, by_category}`. Raises PeerUnavailable."""
        answers = await self._cluster.gather(self.local_counts(wanted), "tenant/counts", _as_json(wanted), None)
        return summed((memory_type, category, n) for body in answers for memory_type, category, n in body["counts"])

    async def by_name(self, wanted: Wanted, counted: Counted) -> dict[str, Any]:
        """Count the memories by user, agent, session or application, in the order of the names. Raises PeerUnavailable.

        Returns `{items: [{name, memories, first_at, last_at}], next}`. The next page starts after the name `next`,
        which is None at the end.
        """
        request = _as_json(wanted) | asdict(counted)
        answers = await self._cluster.gather(self.local_names(wanted, counted), "tenant/names", request, None)
        found: dict[str, dict[str, Any]] = {}
        for name, number, first_at, last_at in (row for body in answers for row in body["names"]):
            one = found.setdefault(name, {"name": name, "memories": 0, "first_at": first_at, "last_at": last_at})
            one["memories"] += number
            one["first_at"], one["last_at"] = min(one["first_at"], first_at), max(one["last_at"], last_at)
        names = sorted(found)  # each worker has sent its first names, so the first of all are complete
        items = [found[name] for name in names[: counted.limit]]
        is_full = len(items) == counted.limit
        return {"items": items, "next": names[counted.limit - 1] if is_full else None}

    async def local_names(self, wanted: Wanted, counted: Counted) -> dict[str, Any]:
        """Return the first names in the memories of this worker's users, sorted, each with its count and dates."""
        rows = await self._read_shards(wanted.tenant, lambda path: named_counts(path, wanted, counted))
        return {
            "names": [
                [name, number, first_at.replace("+00:00", "Z"), last_at.replace("+00:00", "Z")]
                for each in rows
                for name, number, first_at, last_at in each
            ]
        }

    async def local_places(self, wanted: Wanted, first: int) -> dict[str, Any]:
        """Return the places of the `first` first memories of this worker's users, sorted, and the total."""
        rows = await self._read_shards(wanted.tenant, lambda path: places(path, wanted, first))
        total = sum(map(len, rows))
        if any(len(each) == first for each in rows):  # there may be more than the limit
            total = sum(number for _, _, number in (await self.local_counts(wanted))["counts"])
        return {"places": [[*place] for place in islice(heapq.merge(*rows), first)], "total": total}

    async def local_counts(self, wanted: Wanted) -> dict[str, Any]:
        """Return the number of memories of this worker's users by type and category."""
        rows = await self._read_shards(wanted.tenant, lambda path: counts(path, wanted))
        return {"counts": [row for each in rows for row in each]}

    async def local_items(self, wanted: Wanted, memory_ids: list[str]) -> dict[str, Any]:
        """Return the memories with these ids that belong to this worker's users."""
        rows = await self._read_shards(wanted.tenant, lambda path: named(path, wanted, memory_ids))
        return {"items": [memory_view(owner, memory, wanted.now) for each in rows for owner, memory in each]}

    async def _read_shards(self, tenant: str, read: Callable[[Path], T]) -> list[T]:
        """Read every shard of this worker in a thread, including the shard of global memories on its one worker.

        Raises ShardUnavailable if a shard cannot be written and holds uncommitted changes of the tenant.
        """
        self._shards.users.require_whole(tenant)
        answers_for_globals = self._shards.counts(Owner(tenant, GLOBAL_USER))
        shards = self._shards.all() if answers_for_globals else self._shards.all()[:-1]
        loop = asyncio.get_running_loop()
        return [await loop.run_in_executor(_SCANS, read, shard.committed_file(tenant)) for shard in shards]


def summed(rows: Iterable[tuple[str, str, int]]) -> dict[str, Any]:
    """Sum rows of (type, category, number) to `{total, by_type, by_category}`."""
    by_type: Counter[str] = Counter()
    by_category: Counter[str] = Counter()
    for memory_type, category, number in rows:
        by_type[memory_type] += number
        by_category[category] += number
    return {"total": by_type.total(), "by_type": by_type, "by_category": by_category}


def _as_json(wanted: Wanted) -> dict[str, Any]:
    return {**asdict(wanted), "now": instant(wanted.now)}
