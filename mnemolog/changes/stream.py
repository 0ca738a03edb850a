"""Changes as they happen: server-sent events, which a client can resume after its connection broke.

A stream asks the feed for the page after its cursor, again and again. So it holds nothing but that cursor, and goes on
when partitions move between workers.
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
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from mnemolog.changes.feed import ChangeFeed, ChangesWanted

LOOK_EVERY_SECONDS: Final = 0.25
HEARTBEAT_SECONDS: Final = 15.0
CHANGES_AT_ONCE: Final = 500
RETRY_MILLISECONDS: Final = 1_000
"""After which a client that lost the stream should reconnect."""


class ChangeStreams:
    """Streams changes to callers until the worker stops."""

    def __init__(self, feed: ChangeFeed, stopping: asyncio.Event) -> None:
        self._feed = feed
        self._stopping = stopping

    async def begin(self, wanted: ChangesWanted, after: str | None) -> str:
        """Return the cursor at which a stream begins: one that was given, else that of now.

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
        """Yield each change at least once, in the order of its user, as an event named by its type.

        The last event of a page has the cursor behind it as its id: events before it are told again to who comes back
        from an earlier one. Blocks without data are no events, but their id is kept by the rules of server-sent events:
        one stands at the beginning, and one with a heartbeat where changes were passed that are not wanted. It ends as
        soon as it may not go on.
        """
        yield b"retry: %d\n%s\n" % (RETRY_MILLISECONDS, _id(cursor))
        told, sent_at = cursor, time.monotonic()
        while not self._stopping.is_set():
            try:
                page = await self._feed.page(wanted, cursor, CHANGES_AT_ONCE)
            except (PeerUnavailable, ShardUnavailable):
                page = {"items": [], "next": cursor, "more": False}  # a partition moves: the next look asks again
            if not await may_go_on():
                return
            cursor = str(page["next"])
            if page["items"]:
                yield b"".join(
                    _event(change, cursor if following is None else None)
                    for change, following in pairwise([*page["items"], None])
                )
                told, sent_at = cursor, time.monotonic()
            elif time.monotonic() - sent_at >= heartbeat_seconds:
                yield b": nothing new\n\n" if cursor == told else b": nothing wanted\n%s\n" % _id(cursor)
                told, sent_at = cursor, time.monotonic()
            if not page["more"]:
                await self._pause()

    async def _pause(self) -> None:
        """Wait for a moment, or until the worker stops."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({stopping}, timeout=LOOK_EVERY_SECONDS)
        finally:
            stopping.cancel()


def _id(cursor: str) -> bytes:
    return b"id: %s\n" % cursor.encode()


def _event(change: dict[str, Any], cursor: str | None) -> bytes:
    name = str(change["type"]).encode()
    return b"event: %s\ndata: %s\n%s\n" % (name, orjson.dumps(change), b"" if cursor is None else _id(cursor))
