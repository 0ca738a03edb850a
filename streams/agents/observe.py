"""observe: receives the observations, and submits each for extraction once, in the window of its session."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from projections.partitions.assignment import NotHeld
from schemas import codec
from schemas.inputs.decoding import ForeignKey, InRegistryAvro, digest_of, observation_of_record
from schemas.inputs.input_events import InvalidEvent
from schemas.inputs.pieces import is_extractable
from schemas.messages.dead_letters import first_position
from schemas.messages.observations import SessionEnded, TurnRecorded
from streams.agents.erasure_gate import was_erased
from streams.agents.open_windows import OpenWindows
from streams.agents.resumption import Resumption
from streams.delivery.retry import catch_up

if TYPE_CHECKING:
    from projections.partitions.shards import Shards
    from schemas.log import Log, Position
    from schemas.messages.observations import Observation
    from streams.agents.extraction_queue import ExtractionQueue
    from streams.agents.reencode import Reencoder
    from streams.delivery.delivery import Delivery
    from streams.extraction.window import WindowLimits


class Observe:
    """Reads the input topics. Turns of an open window are not acknowledged: the log is the buffer."""

    def __init__(
        self,
        *,
        log: Log,
        shards: Shards,
        extractions: ExtractionQueue,
        reencoder: Reencoder,
        limits: WindowLimits,
        memorizes: bool = True,
    ) -> None:
        self._shards = shards
        self._extractions = extractions
        self.reencoder = reencoder
        self._memorizes = memorizes
        self._counted = extractions.counted
        self.windows = OpenWindows(log, shards, extractions, limits)
        self.resumption = Resumption(shards, extractions, self.windows)

    async def handle(self, delivery: Delivery) -> None:
        """Handle one record; return when the next may be delivered."""
        record = delivery.record
        position = record.position
        lease = self._shards.assignment.lease(position.partition)
        try:
            message = observation_of_record(record)
        except InRegistryAvro as registry_avro:
            await self.reencoder.take(delivery, registry_avro.schema_id, self._was_erased_by_now)
        except ForeignKey as error:
            await self.reencoder.put_aside(delivery, "key", str(error))
        except (codec.Undecodable, InvalidEvent) as error:
            await self.reencoder.put_aside(delivery, "decode", str(error))
        else:
            await self._observe(delivery, message)
        if not lease.is_current(delivery):
            return
        self.windows.note_delivered(position)

    async def _observe(self, delivery: Delivery, message: Observation) -> None:
        record, owner = delivery.record, message.envelope.owner
        position, partition = record.position, record.position.partition
        held = self._shards.resolve(owner)
        if held.partition != partition:
            if await self.reencoder.reappend(delivery, message):  # with the id and time of this first position
                self._counted("observe", "moved")
            return
        await self._shards.assignment.wait_until_ready(partition)
        await catch_up(self._shards, position.topic, partition, position.offset + 1)
        with suppress(NotHeld):
            await held.load()
        if not held.lease.is_current(delivery):
            return  # revoked meanwhile: it is delivered again, and must not be pending here then
        first = self._shards.at(partition).observations.first(owner, message.envelope.event_id)
        # A record that was sent back from the dead letters stands for its first one, which may be folded by now.
        if first is None and was_erased(held, message.envelope.event_id, position):
            self._counted("observe", "erased")
            delivery.ack()
            return
        if first is not None and first.position != position and str(first.position) != first_position(record):
            if first.digest != digest_of(message):
                detail = f"event_id {first.event_id!r} was accepted with another body at {first.position}"
                await self.reencoder.put_aside(delivery, "body_differs", detail)
                return
            self._counted("observe", "repeated")
            delivery.ack()
            return
        if isinstance(message, SessionEnded):
            self._counted("observe", "boundary")
            await self.windows.end(partition, message)
            delivery.ack()
        elif not self._memorizes or not is_extractable(message):
            self._counted("observe", "nothing")
            delivery.ack()
        else:
            await self._take(delivery, message)

    async def _was_erased_by_now(self, message: Observation, position: Position) -> bool:
        """Return whether an observation is gone, when no erasure of its user is under way. Raises NotHeld.

        A copy of it would come after the cut, and so bring it back. An observation on another partition than its user's
        is not subject to the cut.
        """
        held = self._shards.resolve(message.envelope.owner)
        if held.partition != position.partition:
            return False
        await self._extractions.gate.wait(held.owner)
        await self._shards.assignment.wait_until_ready(position.partition)
        return was_erased(held, message.envelope.event_id, position)

    async def _take(self, delivery: Delivery, message: Observation) -> None:
        """Begin the extraction of an observation's pieces, except those that are extracted already."""
        owner = message.envelope.owner
        partition = delivery.record.position.partition
        event_id = message.envelope.event_id
        if self._extractions.pending.join(owner, event_id, delivery.ack):
            self._counted("observe", "repeated")
            return
        pieces = self._extractions.pieces_of(message, delivery.record)
        extracted = self._shards.at(partition).observations.extracted(owner, [p.piece_id for p in pieces])
        pieces = [p for p in pieces if p.piece_id not in extracted]
        if not pieces:
            self._counted("observe", "repeated")
            delivery.ack()
            return
        self._extractions.pending.add(owner, event_id, [p.piece_id for p in pieces], delivery.ack)
        self._counted("observe", "taken")
        if not isinstance(message, TurnRecorded) or not message.infer:
            for piece in pieces:
                await self._extractions.submit(message, (piece,))
            return
        await self.windows.join(partition, message, pieces)

    async def keep_current(self) -> None:
        """Close idle windows and extract words that survived erasures, repeatedly, until cancelled."""
        while True:
            await asyncio.sleep(self.windows.check_seconds)
            await self.windows.close_idle()
            await self.resumption.run()

    def revoke(self, partition: int) -> None:
        """Drop the records in work of a revoked partition: its new worker reads them again."""
        self.reencoder.drop(partition)
        self._extractions.drop(partition)
        self.windows.drop(partition)
