"""A queue that serves parties in turns, so that a party with many items does not delay the others."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """A queue that serves the party that has waited longest for its turn, and the items of one party in order.

    A party (a tenant) with one item therefore waits for at most one item of each other party.
    """

    def __init__(self) -> None:
        self._parties: OrderedDict[Hashable, deque[Item]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._parties)

    def put(self, party: Hashable, item: Item) -> None:
        """Add an item after those of its party."""
        items = self._parties.get(party)
        if items is None:
            self._parties[party] = deque([item])
        else:
            items.append(item)

    def take(self) -> Item:
        """Remove and return the next item. Raises KeyError if none is waiting."""
        party, items = next(iter(self._parties.items()), (None, None))
        if items is None:
            raise KeyError("nothing waits")
        item = items.popleft()
        if items:
            self._parties.move_to_end(party)
        else:
            del self._parties[party]
        return item

    def remove(self, party: Hashable, item: Item) -> None:
        """Remove an item that may be waiting."""
        items = self._parties.get(party)
        if items is not None and item in items:
            items.remove(item)
            if not items:
                del self._parties[party]
