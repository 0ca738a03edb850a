"""Re-encoding: registry Avro is appended again in single-object Avro, which is readable without a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas import codec
from schemas.inputs.decoding import SCHEMA_HEADER, ForeignKey, observation_of_registry
from schemas.inputs.input_events import InvalidEvent
from schemas.log import NewRecord, RecordTooLarge
from schemas.messages.dead_letters import TOO_LARGE
from streams.delivery.dead_letter import put_aside
from streams.delivery.keyed_pool import MAX_QUEUED, KeyedPool
from streams.delivery.retry import append_with_retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from schemas.identity import Owner
    from schemas.inputs.decoding import SchemaId
    from schemas.log import Log, Position
    from schemas.messages.observations import Observation
    from streams.delivery.delivery import Delivery
    from streams.registry.protocol import WriterSchemas

    WasErased = Callable[[Observation, Position], Awaitable[bool]]


class Reencoder:
    """Re-encodes records. Those of one key keep their order; one that waits for the registry delays no other key.

    The record appended here is the one that counts: its position is the event's. The original may be delivered again,
    for example because the worker died between append and acknowledgement; then a second copy is appended, which folds
    count as a repeat.
    """

    def __init__(
        self,
        log: Log,
        partition_of: Callable[[Owner], int],
        schemas: WriterSchemas,
        failure: Callable[[BaseException], None],
        counted: Callable[[str, str], None] = lambda _step, _outcome: None,
    ) -> None:
        self._log = log
        self._partition_of = partition_of
        self._schemas = schemas
        self._counted = counted
        self._pool = KeyedPool(
            MAX_QUEUED, failure
        )  # as many slots as jobs: those that wait for the registry must not fill them
        self.ends: dict[tuple[str, int], int] = {}
        """The offset after the last record appended here to each (topic, partition), for callers who wait for it."""

    async def take(self, delivery: Delivery, schema_id: SchemaId, was_erased: WasErased) -> None:
        """Queue a record after those of its key; it is acknowledged when its copy or its dead letter is durable.

        `was_erased` returns, once the record can be read, whether its observation was erased: then it is not copied.
        """
        position = delivery.record.position
        lane = (position.topic, delivery.record.key)
        await self._pool.submit(position.partition, lane, lambda: self._reencode(delivery, schema_id, was_erased))

    async def reappend(self, delivery: Delivery, message: Observation) -> bool:
        """Append an observation to its owner's partition, and acknowledge the record that it came in.

        Return whether it was appended; one that is too large for the log becomes a dead letter.
        """
        topic, owner = delivery.record.position.topic, message.envelope.owner
        partition = self._partition_of(owner)
        headers = tuple(one for one in delivery.record.headers if one[0] != SCHEMA_HEADER)
        value = codec.encode(message)
        copy = NewRecord(topic=topic, partition=partition, key=owner.key, value=value, headers=headers)
        try:
            [appended] = await append_with_retry(self._log, [copy])
        except RecordTooLarge as error:  # it came compressed, or shorter as JSON
            await self.put_aside(delivery, TOO_LARGE, str(error))
            return False
        self.ends[topic, partition] = appended.position.offset + 1
        delivery.ack()
        return True

    def drop(self, partition: int) -> None:
        """Drop the jobs of a revoked partition: its new worker gets the records again."""
        self._pool.drop(partition)

    async def settle(self) -> None:
        """Wait until nothing is queued."""
        await self._pool.settle()

    async def _reencode(self, delivery: Delivery, schema_id: SchemaId, was_erased: WasErased) -> None:
        record = delivery.record
        try:
            writer = await self._schemas.writer(schema_id, lambda: self._counted("observe", "waiting"))
            message = observation_of_registry(record, writer)
        except ForeignKey as error:
            await self.put_aside(delivery, "key", str(error))
        except (codec.Undecodable, InvalidEvent) as error:
            await self.put_aside(delivery, "decode", f"schema {schema_id}: {error}")
        else:
            if await was_erased(message, record.position):
                self._counted("observe", "erased")
                delivery.ack()
            elif await self.reappend(delivery, message):
                self._counted("observe", "rewritten")

    async def put_aside(self, delivery: Delivery, reason: str, detail: str) -> None:
        """Acknowledge a record of the inputs that cannot be read, when it is durable among the dead letters."""
        await put_aside(self._log, delivery.record, reason, detail)
        self._counted("observe", "dead")
        delivery.ack()
