"""Batches of a put: one partition each, the latest version of each memory once."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from projections.index.remote.object_ids import partition_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from projections.index.protocol import IndexEntry


def by_partition(entries: Iterable[IndexEntry], partitions: int, most: int) -> Iterator[tuple[str, list[IndexEntry]]]:
    """Yield the latest version of each memory in batches of one partition, at most `most` in each."""

    def partition(entry: IndexEntry) -> str:
        return partition_name(entry.tenant, entry.user_id, partitions)

    for name, group in groupby(sorted(newest(entries), key=partition), partition):
        batch = list(group)
        for start in range(0, len(batch), most):
            yield name, batch[start : start + most]


def newest(entries: Iterable[IndexEntry]) -> list[IndexEntry]:
    """Return the latest version of each memory."""
    latest: dict[tuple[str, str, str], IndexEntry] = {}
    for entry in entries:
        key = (entry.tenant, entry.user_id, entry.memory_id)
        if key not in latest or latest[key].version < entry.version:
            latest[key] = entry
    return list(latest.values())
