"""Faust's producer over the embedded log: a message is acknowledged when it is durable."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from faust.transport.producer import Producer as FaustProducer
from faust.transport.producer import ProducerBuffer
from faust.types import TP, RecordMetadata

from schemas.log import NewRecord
from schemas.topics import partition_of
from streams.transports.sqlite.consumer import LOG_APPEND_TIME

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from faust.types import HeadersArg

    from schemas.log import Headers
    from streams.transports.sqlite.log import SqliteLog


class Buffer(ProducerBuffer):
    """The messages that wait to be sent. Faust reads `size` before each message; its own `size` also reads settings."""

    @property
    def size(self) -> int:
        """The number of messages that wait."""
        return int(self.pending.qsize())


class Producer(FaustProducer):
    """Sends in order. Messages sent while a transaction runs share the next one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's signature, passed on
        super().__init__(*args, **kwargs)
        self.buffer = Buffer(loop=self.loop, beacon=self.beacon)
        self.buffer.app = self.app
        self._unacknowledged: set[asyncio.Task[RecordMetadata]] = set()

    @property
    def log_(self) -> SqliteLog:
        """The log (`log` is Faust's name for its logger)."""
        return self.transport.sqlite_log  # type: ignore[attr-defined,no-any-return] # ours, not in Faust's interface

    async def on_stop(self) -> None:
        """Stop, and wait until everything sent is acknowledged or has failed."""
        await super().on_stop()
        await self._wait_for_acknowledgements()

    async def send(  # noqa: PLR0917 - Faust's signature
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,  # noqa: ARG002 - the log sets the time
        headers: HeadersArg,
        *,
        transactional_id: str | None = None,  # noqa: ARG002 - there are no transactions, see `processing_guarantee`
    ) -> Awaitable[RecordMetadata]:
        """Queue a message; await the result for its acknowledgement.

        A tombstone (no value) is an empty value in the log. A message without partition and key goes to partition 0.
        Raises UnknownTopic.
        """
        if partition is None:
            partition = 0 if key is None else partition_of(key, await self.log_.partitions(topic))
        record = NewRecord(topic=topic, partition=partition, key=key, value=value or b"", headers=_pairs(headers))
        task = asyncio.ensure_future(self._append(record))  # tasks start in the order of their creation
        self._unacknowledged.add(task)
        task.add_done_callback(self._unacknowledged.discard)
        return task

    async def _append(self, record: NewRecord) -> RecordMetadata:
        [appended] = await self.log_.append([record])
        place = TP(record.topic, record.partition)
        at = appended.recorded_at.timestamp()
        return RecordMetadata(*place, place, appended.position.offset, at, LOG_APPEND_TIME)

    async def send_and_wait(self, *args: Any, **kwargs: Any) -> RecordMetadata:  # noqa: ANN401 - the arguments of `send`
        """Send, and return the acknowledgement. Raises what `Log.append` raises."""
        return await (await self.send(*args, **kwargs))

    async def flush(self) -> None:
        """Wait until everything sent so far is acknowledged or has failed."""
        await self.buffer.flush()
        await self._wait_for_acknowledgements()

    async def _wait_for_acknowledgements(self) -> None:
        if self._unacknowledged:
            await asyncio.wait(tuple(self._unacknowledged))

    async def create_topic(self, topic: str, partitions: int, replication: int, **settings: Any) -> None:  # noqa: ANN401, ARG002
        """See the transport's `create_topic`; one machine keeps no replicas."""
        await self.transport.create_topic(topic, partitions, **settings)  # type: ignore[attr-defined] # ours

    def key_partition(self, topic: str, key: bytes) -> TP:
        """Return the key's partition."""
        return TP(topic, partition_of(key, self.log_.topics()[topic].partitions))

    def supports_headers(self) -> bool:
        """Return True: records carry headers."""
        return True


def _pairs(headers: HeadersArg) -> Headers:
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return tuple((name, value if isinstance(value, bytes) else str(value).encode()) for name, value in pairs)
