"""Changes of memories in the order of the ledger: one feed over all partitions, whichever workers hold them.

Nothing is queued. A caller sends the cursor of the last answer, and the shards return the changes after it. They keep
every counted decision as long as the ledger does, so a cursor does not expire. The feed omits the events of erased
memories, but contains their erasures.
"""

from __future__ import annotations

import asyncio
import heapq
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from projections.partitions.assignment import NotHeld
from projections.queries.views import memory_view
from projections.shard.errors import ShardDamaged
from projections.state.evolve import events_of
from projections.state.memory import ACTIVE
from schemas.identity import Owner
from schemas.instant import instant
from schemas.messages.erasure import MemoryErased, UserErased
from schemas.messages.events import MEMORY_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mnemolog.cluster.peers import Peers
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.instant import Clock
    from schemas.messages.decision import Decision

ASK_SECONDS: Final = 5.0
DECISIONS_AT_ONCE: Final = 500
"""The decisions of one partition that a page reads. All may belong to other owners, so any page may be empty."""
NOW: Final = "now"
"""A value in place of a cursor: the position after all existing changes."""
ERASURES: Final = (MemoryErased, UserErased)
CHANGES: Final = (*MEMORY_EVENTS, *ERASURES)
TYPES: Final = tuple(sorted(event.__name__ for event in CHANGES))
_EVER: Final = "9999"
_POSITIONS: Final = re.compile(r"\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*", re.ASCII)


class UnknownCursor(ValueError):
    """The cursor is not one of this feed: leave it out to start with the first change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesWanted:
    """The changes that a caller requests: by tenant or user, by an agent that can see the memory, and by type."""

    tenant: str
    user_id: str | None = None
    agent_id: str | None = None
    types: frozenset[str] = frozenset()
    """The types of changes; empty for all."""


class ChangeFeed:
    """Returns the changes of all partitions to callers, and those of this worker's partitions to other workers."""

    def __init__(
        self,
        shards: Shards,
        peers: Peers,
        clock: Clock,
        *,
        is_in_session: Callable[[], bool],
    ) -> None:
        """Read changes from these shards and peers.

        `is_in_session` returns whether no other worker can hold this worker's partitions.
        """
        self._shards = shards
        self._peers = peers
        self._clock = clock
        self._is_in_session = is_in_session
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """A lock for each tenant: its callers take turns, so that the worker can do other work in between."""

    async def page(self, wanted: ChangesWanted, after: str | None, limit: int) -> dict[str, Any]:
        """Return `{items, next, more}`: the changes after a cursor (None: all), and the next cursor.

        The changes of a user are in order. A decision is never split, so there may be more items than `limit`. Raises
        UnknownCursor, and PeerUnavailable while a partition moves, because a partial answer would not show the gap.
        """
        partitions = list(range(self._shards.partitions))
        if wanted.user_id is not None:
            partitions = [self._shards.partition(Owner(wanted.tenant, wanted.user_id))]
        since: dict[int, int | None] = dict.fromkeys(partitions, None if after == NOW else 0)
        if after not in (None, NOW):
            since |= _positions(after, partitions)
        share = -(-limit // len(partitions))  # reading the whole limit from each partition would mostly be wasted
        parts = await self._ask(wanted, since, share)
        if missing := since.keys() - parts.keys():
            raise self._peers.unanswered(missing)
        reached = {partition: int(part["reached"]) for partition, part in parts.items()}
        items: list[dict[str, Any]] = []
        left: dict[int, int] = {}
        until = _known_until(parts.values())
        for partition, offset, changes in _merged({partition: part["items"] for partition, part in parts.items()}):
            if partition in left or len(items) >= limit or _time_of(changes[0]) > until:
                left.setdefault(partition, offset)
            else:
                items += changes
        more = bool(left) or any(part["more"] for part in parts.values())
        return {"items": items, "next": _cursor(reached | left), "more": more}

    async def begin(self, wanted: ChangesWanted, after: str | None) -> str:
        """Return a checked cursor: the given one, the current position for `now`, and that of the start for None.

        Raises UnknownCursor, and PeerUnavailable while a partition moves.
        """
        if after in (None, NOW):
            page = await self.page(wanted, NOW, 1)
            return str(page["next"]) if after == NOW else _cursor(dict.fromkeys(_read(str(page["next"])), 0))
        await self.page(wanted, after, 1)
        return str(after)

    async def take_turn(self, wanted: ChangesWanted, since: Mapping[int, int | None], limit: int) -> dict[str, Any]:
        """Return the result of `changes_here`, once it is this caller's turn among the callers of its tenant."""
        parts: dict[str, Any] = {}
        async with self._turns[wanted.tenant]:
            for partition, offset in since.items():
                found = self.changes_here(wanted, {partition: offset}, limit)
                parts |= found
                if any(part["reached"] != offset for part in found.values()):
                    await asyncio.sleep(0)  # many decisions may have been read
        return parts

    def changes_here(self, wanted: ChangesWanted, since: Mapping[int, int | None], limit: int) -> dict[str, Any]:
        """Return the changes in this worker's partitions since an offset of each ledger, and the offset reached.

        Returns `{partition: {"items": [{"offset", "change"}], "reached", "more"}}`; without an offset there are no
        items. A partition that is not held is left out. Raises NotHeld, ShardUnavailable, ShardDamaged.
        """
        parts: dict[str, Any] = {}
        for partition, offset in since.items():
            if partition not in self._shards.held():
                continue
            shard = self._shards.at(partition)
            end = shard.offset(shard.ledger_topic)
            items: list[dict[str, Any]] = []
            reached = end
            if offset is not None and offset < end:
                items, reached = self._changes_of(shard, wanted, partition, offset, limit)
            parts[str(partition)] = {"items": items, "reached": max(reached, offset or 0), "more": reached < end}
        return parts

    def _changes_of(
        self, shard: Shard, wanted: ChangesWanted, partition: int, offset: int, limit: int
    ) -> tuple[list[dict[str, Any]], int]:
        items: list[dict[str, Any]] = []
        owner = None if wanted.user_id is None else Owner(wanted.tenant, wanted.user_id)
        for read, (place, decision) in enumerate(shard.ledger.decisions_since(offset, DECISIONS_AT_ONCE, owner), 1):
            position = f"{shard.ledger_topic}:{partition}:{place}"
            items += [{"offset": place, "change": change} for change in self._changes(wanted, decision, position)]
            if len(items) >= limit or read == DECISIONS_AT_ONCE:
                return items, place + 1
        return items, shard.offset(shard.ledger_topic)

    def _changes(self, wanted: ChangesWanted, decision: Decision, position: str) -> Iterator[dict[str, Any]]:
        owner = decision.envelope.owner
        if owner.tenant != wanted.tenant or owner.is_partition:
            return
        now, memories = self._clock.now(), self._shards.state(owner).memories
        for event in events_of(decision):
            if not isinstance(event, CHANGES) or (wanted.types and type(event).__name__ not in wanted.types):
                continue
            memory_id = None if isinstance(event, UserErased) else event.memory_id
            memory = None if memory_id is None else memories.get(memory_id)
            # Erasures are for all agents: it is no longer known which agents saw the memory and may hold a copy.
            if not isinstance(event, ERASURES):
                if memory is None:
                    continue  # erased: the remains of its events have no content
                if wanted.agent_id is not None and not memory.visible_to(wanted.agent_id):
                    continue
            is_shown = memory is not None and memory.status_at(now) == ACTIVE
            yield {
                "type": type(event).__name__,
                "event_id": event.envelope.event_id,
                "user_id": owner.user_id,
                "memory_id": memory_id,
                "occurred_at": instant(event.envelope.occurred_at),
                "recorded_at": instant(decision.envelope.recorded_at),
                "position": position,
                "memory": memory_view(owner, memory, now) if memory is not None and is_shown else None,
            }

    async def _ask(
        self, wanted: ChangesWanted, since: Mapping[int, int | None], limit: int
    ) -> dict[int, dict[str, Any]]:
        """Return the changes from the workers that hold the partitions, except moving ones. Raises PeerUnavailable."""
        by_url: dict[str | None, dict[int, int | None]] = {}
        for partition, offset in since.items():
            try:
                by_url.setdefault(self._peers.owner(partition), {})[partition] = offset
            except NotHeld:
                continue
        asking = (
            self._ask_here(wanted, offsets, limit) if url is None else self._ask_at(url, wanted, offsets, limit)
            for url, offsets in by_url.items()
        )
        answers = await asyncio.gather(*asking)
        return {int(name): part for parts in answers for name, part in parts.items()}

    async def _ask_here(self, wanted: ChangesWanted, since: Mapping[int, int | None], limit: int) -> dict[str, Any]:
        try:
            parts = await self.take_turn(wanted, since, limit)
        except (NotHeld, ShardDamaged):
            return {}
        return parts if self._is_in_session() else {}

    async def _ask_at(
        self, url: str, wanted: ChangesWanted, since: Mapping[int, int | None], limit: int
    ) -> dict[str, Any]:
        body = {
            "tenant": wanted.tenant,
            "user_id": wanted.user_id,
            "agent_id": wanted.agent_id,
            "types": sorted(wanted.types),
            "since": {str(partition): offset for partition, offset in since.items()},
            "limit": limit,
        }
        return await self._peers.ask(url, "/v1/internal/changes", body, ASK_SECONDS)


def _merged(items: Mapping[int, list[dict[str, Any]]]) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
    """Yield the partition, offset and changes of each decision: in order within a partition, else roughly by time."""
    decisions = (
        [
            (partition, offset, [item["change"] for item in group])
            for offset, group in groupby(of_partition, key=lambda item: int(item["offset"]))
        ]
        for partition, of_partition in sorted(items.items())
    )
    return heapq.merge(*decisions, key=lambda decision: _time_of(decision[2][0]))


def _time_of(change: dict[str, Any]) -> str:
    return str(change["recorded_at"])[:-1]  # with the Z, a whole second would sort after its fractions


def _known_until(parts: Iterable[dict[str, Any]]) -> str:
    """Return the time up to which the parts of an answer contain all changes of their partitions.

    Some partition always has a change up to it, even if the clock of a log went back, so each page makes progress.
    """
    ends = (max(_time_of(item["change"]) for item in part["items"]) for part in parts if part["more"] and part["items"])
    return min(ends, default=_EVER)


def _cursor(positions: Mapping[int, int]) -> str:
    text = ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _positions(cursor: str, partitions: list[int]) -> dict[int, int]:
    """Return the positions of a cursor in these partitions. Raises UnknownCursor."""
    found = _read(cursor)
    if not found.keys() >= set(partitions):
        detail = f"the cursor {cursor[:100]!r} is not of this feed: give the `next` of its last answer, or none"
        raise UnknownCursor(detail)
    return {partition: found[partition] for partition in partitions}


def _read(cursor: str) -> dict[int, int]:
    """Return the positions of a cursor, or none if the text is not a cursor."""
    try:
        text = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
    except ValueError:
        return {}
    if _POSITIONS.fullmatch(text) is None:
        return {}
    pairs = [entry.split(":") for entry in text.split(",")]
    return {int(partition): int(offset) for partition, offset in pairs}


def earliest(one: str, other: str) -> str:
    """Return a cursor with the earlier position of two cursors, for each partition of the first."""
    positions, others = _read(one), _read(other)
    return _cursor({each: min(at, others.get(each, at)) for each, at in positions.items()})
