"""Runs: the order in which a fetch is delivered, some records of one partition before those of the next."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from faust.transport.utils import DefaultSchedulingStrategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from faust.types import TP

RUN_RECORDS: Final = 64
"""Of one partition, one after the other. What waits in another partition comes after so many of each."""


class Runs(DefaultSchedulingStrategy):
    """Delivers records of topics in turns, of a topic's partitions in turns, so many at a time.

    What is delivered together is decided, appended and folded together. Faust's own order, a record of each partition,
    spreads every append over all shards: many transactions, each with few records.
    """

    def __init__(self) -> None:
        """Keep nothing from one fetch to the next."""

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, Any]]:
        """Yield each record with its partition; those of a partition in their order."""
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
