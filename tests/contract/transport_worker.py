"""A Faust app as the composition runs it, with one agent that notes what it gets: for the tests of transports."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import faust

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

PARTITIONS = 3
COMMIT_INTERVAL_S = 0.1
PATIENCE_S = 120


@dataclass
class Worker:
    """A Faust app with one agent that notes every event and acknowledges those that `acknowledges` says.

    It waits for `gate`, if there is one. Another agent notes the values of the topic `other`, if there is one.
    """

    url: str
    group: str
    topic: str
    datadir: str
    acknowledges: Callable[[faust.Event], bool] = lambda _: True
    buffer: int = 256
    gate: asyncio.Event | None = None
    other: str | None = None
    heartbeat_seconds: float = 3.0
    noted: list[bytes] = field(default_factory=list)
    events: list[faust.Event] = field(default_factory=list)
    app: Any = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Worker]:
        """Run the app as the composition does: no web server, no waiting for streams at the end."""
        self.app = faust.App(
            self.group,
            broker=self.url,
            web_enabled=False,
            datadir=self.datadir,
            topic_partitions=PARTITIONS,
            stream_wait_empty=False,
            stream_buffer_maxsize=self.buffer,
            broker_commit_interval=COMMIT_INTERVAL_S,
            broker_max_poll_interval=86400,
            broker_heartbeat_interval=self.heartbeat_seconds,
            consumer_auto_offset_reset="earliest",
            topic_disable_leader=True,
        )
        of_bytes = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}

        @self.app.agent(self.app.topic(self.topic, **of_bytes))  # type: ignore[untyped-decorator] # Faust's
        async def note(stream: Any) -> None:
            async for event in stream.noack().events():
                if self.gate is not None:
                    await self.gate.wait()
                self.events.append(event)
                if self.acknowledges(event):
                    event.ack()

        async def note_other(stream: Any) -> None:
            async for event in stream.noack().events():
                self.noted.append(event.value)
                event.ack()

        if self.other is not None:
            self.app.agent(self.app.topic(self.other, **of_bytes))(note_other)
        await self.app.start()
        try:
            yield self
        finally:
            await self.app.stop()

    async def has(self, count: int) -> list[tuple[int, bytes]]:
        """Wait until so many events have come; return (partition, value) of all that have."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.events) < count:  # noqa: ASYNC110 - it ends by itself, within PATIENCE_S
                await asyncio.sleep(0.01)
        return self.seen()

    def seen(self) -> list[tuple[int, bytes]]:
        """Return (partition, value) of what has come."""
        return [(event.message.partition, event.value) for event in self.events]
