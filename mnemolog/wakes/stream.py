"""Wakes as they are raised: one stream over all partitions, whichever workers hold them.

Nothing is queued. A stream keeps, for each partition, the offset of the ledger up to which it has reported wakes. It
asks the shards, here or at other workers, for the wakes after that offset. It therefore resumes correctly after a
partition has moved, or when the caller reconnects with the position that it received last.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.cluster.peers import PeerUnavailable
from mnemolog.wakes.view import wake_view
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mnemolog.cluster.peers import Peers
    from projections.partitions.shards import Shards
    from schemas.instant import Clock

LOOK_EVERY_SECONDS: Final = 0.5
HEARTBEAT_SECONDS: Final = 15.0
ASK_SECONDS: Final = 5.0
WAKES_AT_ONCE: Final = 50
"""The wakes of one partition that a look returns; more if the last decision raised several."""
RETRY_MILLISECONDS: Final = 1_000
"""The delay after which a disconnected caller should reconnect."""

log = logging.getLogger("mnemolog.wakes")
_POSITIONS: Final = re.compile(r"\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*")


async def _always() -> bool:
    return True


class UnknownPosition(ValueError):
    """The Last-Event-ID is none that a stream has given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """The wakes that a stream reports: those of a tenant or of one user, and optionally for one agent only."""

    tenant: str
    user_id: str | None = None
    agent_id: str | None = None


class WakeStreams:
    """Streams wakes to callers, and returns the wakes of this worker's partitions to other workers."""

    def __init__(
        self,
        shards: Shards,
        peers: Peers,
        clock: Clock,
        *,
        stopping: asyncio.Event,
        is_in_session: Callable[[], bool],
    ) -> None:
        """Read wakes from these shards and peers.

        Streams end when `stopping` is set. `is_in_session` returns whether no other worker can hold this worker's
        partitions.
        """
        self._shards = shards
        self._peers = peers
        self._clock = clock
        self._stopping = stopping
        self._is_in_session = is_in_session

    async def wakes_here(self, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
        """Return the wakes in this worker's partitions since an offset of each ledger, and the offset reached.

        Returns `{partition: {"items": [{"offset", "wake"}], "reached"}}`; without an offset there are no items.
        """
        parts: dict[str, Any] = {}
        for partition, offset in since.items():
            if partition not in self._shards.held():
                continue
            shard = self._shards.at(partition)
            reached = shard.offset(shard.ledger_topic)
            items: list[dict[str, Any]] = []
            if offset is not None and offset < reached:
                wakes = shard.ledger.wakes.raised_since(listener.tenant, listener.user_id, offset, WAKES_AT_ONCE)
                now = self._clock.now()
                items = [
                    {"offset": wake.offset, "wake": wake_view(self._shards, wake, now, listener.agent_id)}
                    for wake in wakes
                ]
                reached = reached if len(items) < WAKES_AT_ONCE else items[-1]["offset"] + 1
            parts[str(partition)] = {"items": items, "reached": reached}
        return parts

    async def begin(self, listener: Listener, last_event_id: str | None) -> dict[int, int]:
        """Return the positions at which a stream starts: after the last event that its caller received, else now.

        Raises UnknownPosition, PeerUnavailable.
        """
        partitions = range(self._shards.partitions)
        if listener.user_id is not None:
            partition = self._shards.partition(Owner(listener.tenant, listener.user_id))
            partitions = range(partition, partition + 1)
        received = read_positions(last_event_id) if last_event_id else {}
        new: dict[int, int | None] = {partition: None for partition in partitions if partition not in received}
        parts = await self._look(listener, new) if new else {}
        if missing := new.keys() - {int(partition) for partition in parts}:
            raise self._peers.unanswered(missing)
        reached = {int(partition): part["reached"] for partition, part in parts.items()}
        return {p: offset for p, offset in (received | reached).items() if p in partitions}

    async def stream(
        self,
        listener: Listener,
        positions: dict[int, int],
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        may_go_on: Callable[[], Awaitable[bool]] = _always,
    ) -> AsyncIterator[bytes]:
        """Yield server-sent events until the worker stops: each wake at least once, and heartbeats in between.

        The stream also ends once `may_go_on` returns False; wakes that were read just before are not reported.

        The first block has no data, so it is not an event. Clients store its id nevertheless, so a caller that
        disconnects before the first wake resumes where the stream started.
        """
        yield b"retry: %d\n%s\n" % (RETRY_MILLISECONDS, _id(positions))
        sent_at = time.monotonic()
        while not self._stopping.is_set():
            has_more = False
            parts = await self._look(listener, positions)
            if not await may_go_on():
                return
            for name, part in parts.items():
                partition, items = int(name), part["items"]
                has_more = has_more or len(items) >= WAKES_AT_ONCE
                for item, next_item in pairwise([*items, None]):
                    # One decision may raise several wakes: the stream can resume only after the last of them.
                    is_last = next_item is None or next_item["offset"] != item["offset"]
                    if is_last:
                        positions[partition] = item["offset"] + 1
                    if listener.agent_id in (None, item["wake"]["agent_id"]) or item["wake"]["agent_id"] is None:
                        yield wake_event(item["wake"], positions if is_last else None)
                        sent_at = time.monotonic()
                positions[partition] = max(positions[partition], part["reached"])
            if time.monotonic() - sent_at >= heartbeat_seconds:
                yield b": nothing new\n\n"
                sent_at = time.monotonic()
            if not has_more:
                await self._pause()

    async def _pause(self) -> None:
        """Wait for LOOK_EVERY_SECONDS, or until the worker stops."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({stopping}, timeout=LOOK_EVERY_SECONDS)
        finally:
            stopping.cancel()

    async def _look(self, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
        """Return the wakes of partitions from the workers that hold them.

        A partition that is moving, or whose worker does not answer, is left out; the next look asks for it again.
        """
        by_url: dict[str | None, dict[int, int | None]] = {}
        for partition, offset in since.items():
            try:
                by_url.setdefault(self._peers.owner(partition), {})[partition] = offset
            except NotHeld:
                continue
        answers = await asyncio.gather(
            *(
                self._look_here(listener, offsets) if url is None else self._look_at(url, listener, offsets)
                for url, offsets in by_url.items()
            )
        )
        return {name: part for parts in answers for name, part in parts.items()}

    async def _look_here(self, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
        try:
            parts = await self.wakes_here(listener, since)
        except (NotHeld, ShardUnavailable, ShardDamaged):
            return {}
        return parts if self._is_in_session() else {}

    async def _look_at(self, url: str, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
        body = {
            "tenant": listener.tenant,
            "user_id": listener.user_id,
            "agent_id": listener.agent_id,
            "since": {str(partition): offset for partition, offset in since.items()},
        }
        try:
            return await self._peers.ask(url, "/v1/internal/wakes", body, ASK_SECONDS)
        except PeerUnavailable:
            return {}


def read_positions(text: str) -> dict[int, int]:
    """Return the positions in the id of an event. Raises UnknownPosition."""
    if _POSITIONS.fullmatch(text) is None:
        detail = f"Last-Event-ID {text[:100]!r} is no id of this stream: leave it out to begin now"
        raise UnknownPosition(detail)
    pairs = [entry.split(":") for entry in text.split(",")]
    return {int(partition): int(offset) for partition, offset in pairs}


def wake_event(wake: dict[str, Any], positions: Mapping[int, int] | None) -> bytes:
    """Return a wake as a server-sent event, with an id if the caller may resume after it.

    A wake that cannot be serialised to JSON becomes a comment, so that it does not block the wakes after it.
    """
    try:
        data = orjson.dumps(wake)
    except (TypeError, ValueError):
        log.exception("wake %s is left out of the stream: JSON cannot carry it", wake.get("wake_id"))
        return b": a wake that JSON cannot carry was left out\n\n"
    return (b"" if positions is None else _id(positions)) + b"event: wake\ndata: " + data + b"\n\n"


def _id(positions: Mapping[int, int]) -> bytes:
    return b"id: " + ",".join(f"{p}:{offset}" for p, offset in sorted(positions.items())).encode() + b"\n"
