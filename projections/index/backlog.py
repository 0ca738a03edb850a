"""The backlog of an index: memories that have changed in the shards and have not been written to it yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from schemas.identity import Owner


class PendingChanges:
    """Changed memories by user, the oldest first. Each is listed once, however often it has changed.

    Only ids are kept. The entry is read from the shard when it is written, so that it is never older than the change.
    """

    def __init__(self) -> None:
        self._pending: dict[Owner, dict[str, None]] = {}
        self._in_flight: frozenset[Owner] = frozenset()
        """The users of the batch that is being written. There is one batch at a time."""

    def __bool__(self) -> bool:
        """Return whether any change is pending that is not in flight."""
        return bool(self._pending)

    def __contains__(self, owner: Owner) -> bool:
        """Return whether changes of a user are pending or in flight."""
        return owner in self._pending or owner in self._in_flight

    def add(self, owner: Owner, ids: Iterable[str]) -> None:
        """Add memories of a user, after those that are pending."""
        self._pending.setdefault(owner, {}).update(dict.fromkeys(ids))

    def add_all(self, changes: Mapping[Owner, Iterable[str]]) -> None:
        """Add memories of many users."""
        for owner, ids in changes.items():
            self.add(owner, ids)

    def discard(self, owner: Owner) -> None:
        """Forget the pending changes of a user."""
        self._pending.pop(owner, None)

    def clear(self) -> None:
        """Forget all pending changes."""
        self._pending.clear()

    def take(
        self, limit: int, owner: Owner | None, is_held: Callable[[Owner], bool], is_indexed: Callable[[Owner], bool]
    ) -> dict[Owner, list[str]]:
        """Take off a batch of at most `limit` memories, of one user if one is named.

        Users whose partition is not held here are skipped: the worker that next holds it finds out what the index
        missed. Changes of users for whom the index keeps nothing are dropped.
        """
        batch: dict[Owner, list[str]] = {}
        room = limit
        for each in list(self._pending) if owner is None else [owner]:
            if room <= 0:
                break
            if each not in self._pending or not is_held(each):
                continue
            ids = list(self._pending.pop(each))
            if is_indexed(each):
                batch[each] = ids[:room]
                if ids[room:]:
                    self._pending[each] = dict.fromkeys(ids[room:])
                room -= len(batch[each])
        return batch

    def begin(self, batch: Mapping[Owner, object]) -> None:
        """Note that a batch returned by `take` is being written."""
        self._in_flight = frozenset(batch)

    def end(self) -> None:
        """Note that no batch is being written any more."""
        self._in_flight = frozenset()
