"""Changes as they happen: server-sent events, which a client can resume after its connection broke.

A stream repeatedly reads the page after its cursor from the feed. Its only state is that cursor, so it continues when
partitions move between workers.
"""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.changes.feed import NOW
from mnemolog.cluster.peers import PeerUnavailable
from projections.shard.errors import ShardUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from mnemolog.changes.feed import ChangeFeed, ChangesWanted

LOOK_EVERY_SECONDS: Final = 0.25
HEARTBEAT_SECONDS: Final = 15.0
CHANGES_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 512 * 1024
"""The bytes that a stream holds for a slow reader; a single larger decision may exceed them."""
RETRY_MILLISECONDS: Final = 1_000
"""The delay after which a disconnected client should reconnect."""


class ChangeStreams:
    """Streams changes to callers until the worker stops."""

    def __init__(self, feed: ChangeFeed, stopping: asyncio.Event) -> None:
        self._feed = feed
        self._stopping = stopping

    async def begin(self, wanted: ChangesWanted, after: str | None) -> str:
        """Return the cursor at which a stream starts: the given one, else the current position.

        Raises UnknownCursor, PeerUnavailable.
        """
        return await self._feed.begin(wanted, after or NOW)

    async def stream(
        self,
        wanted: ChangesWanted,
        cursor: str,
        *,
        may_go_on: Callable[[], Awaitable[bool]],
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> AsyncGenerator[bytes]:
        """Yield each change at least once, in order for each user, as an event named after its type.

        The id of a page's last event is the cursor after it, so a client that resumes from an earlier id receives the
        events of the page again. Blocks without data are not events, but clients store their ids: one opens the stream,
        and one follows a heartbeat if unwanted changes were skipped. The stream ends once `may_go_on` returns False.
        """
        yield b"retry: %d\n%s\n" % (RETRY_MILLISECONDS, _id(cursor))
        told, sent_at, limit = cursor, time.monotonic(), CHANGES_AT_ONCE
        while not self._stopping.is_set():
            try:
                page = await self._feed.page(wanted, cursor, limit)
            except (PeerUnavailable, ShardUnavailable):
                page = {"items": [], "next": cursor, "more": False}  # a partition moves: retried with the next look
            if not await may_go_on():
                return
            items, following, more = page.pop("items"), str(page["next"]), page["more"]
            events = _events(items, following)
            if len(events) > BYTES_AT_ONCE and min(limit, len(items)) > 1:
                limit = max(1, min(limit, len(items)) * BYTES_AT_ONCE // len(events))
                del items, events  # it may take long until it is this stream's turn again
                continue
            limit = min(CHANGES_AT_ONCE, 2 * limit)
            cursor, is_told = following, bool(items)
            del items
            if is_told:
                yield events  # the caller may take long to read them
                told, sent_at = cursor, time.monotonic()
            elif time.monotonic() - sent_at >= heartbeat_seconds:
                yield b": nothing new\n\n" if cursor == told else b": nothing wanted\n%s\n" % _id(cursor)
                told, sent_at = cursor, time.monotonic()
            del events
            if not more:
                await self._pause()

    async def _pause(self) -> None:
        """Wait for LOOK_EVERY_SECONDS, or until the worker stops."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({stopping}, timeout=LOOK_EVERY_SECONDS)
        finally:
            stopping.cancel()


def _id(cursor: str) -> bytes:
    return b"id: %s\n" % cursor.encode()


def _events(changes: Sequence[dict[str, Any]], cursor: str) -> bytes:
    return b"".join(_event(one, cursor if last is None else None) for one, last in pairwise([*changes, None]) if one)


def _event(change: dict[str, Any], cursor: str | None) -> bytes:
    name = str(change["type"]).encode()
    return b"event: %s\ndata: %s\n%s\n" % (name, orjson.dumps(change), b"" if cursor is None else _id(cursor))
