"""Runs: the order in which the records of a fetch are delivered, several of one partition before those of the next."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from faust.transport.utils import DefaultSchedulingStrategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from faust.types import TP

RUN_RECORDS: Final = 64
"""The most records of one partition that are delivered in a row; then the next partition has its turn."""


class Runs(DefaultSchedulingStrategy):
    """Takes topics in turns, and the partitions of each topic in turns; a turn delivers up to RUN_RECORDS records.

    Records that are delivered together are decided, appended and folded together. Faust's own order, one record of each
    partition, would spread every append over all shards: many transactions, each with few records.
    """

    def __init__(self) -> None:
        """Keep nothing from one fetch to the next."""

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, Any]]:
        """Yield each record with its partition; the records of a partition keep their order."""
        topics: dict[str, deque[tuple[TP, deque[Any]]]] = {}
        for tp, fetched in records.items():
            topics.setdefault(tp.topic, deque()).append((tp, deque(fetched)))
        while topics:
            for topic, partitions in [*topics.items()]:
                tp, left = partitions.popleft()
                for _ in range(min(RUN_RECORDS, len(left))):
                    yield tp, left.popleft()
                if left:
                    partitions.append((tp, left))
                elif not partitions:
                    del topics[topic]
