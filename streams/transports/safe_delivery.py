"""Safe delivery: a consumer commits past no unfinished message, and accepts no acknowledgement from another generation.

Faust 0.15.3 commits past an unfinished message if nothing was committed before, or if the message is the first one
after the commit (faust-streaming issue 606). It also acknowledges messages that it skips, and starts four tasks for
each message. This mixin replaces those parts, for any driver. Agents use `stream.noack()`: without it, Faust's C
extension acknowledges every message that an agent has received, and does not call `ack`.

A *generation* is the time between two rebalances. Everything that this consumer knows about a partition belongs to one
generation: after a rebalance, messages are delivered again from the committed offset on, to this worker or another.
Within a generation, one partition can be delivered again (`starts`) while the others go on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from faust.transport.consumer import Consumer
from mode.utils.futures import notify

from streams.transports.large_messages import LargeMessages
from streams.transports.runs import Runs
from streams.transports.starts import Starts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from faust.types import TP, Message

MESSAGES_BETWEEN_YIELDS = 50
"""The number of delivered messages after which the event loop gets a turn."""
REFILL_SECONDS = 0.05
"""How long a fetch may last while a queue is full or a partition is withheld: it does not notice when that ends."""


class SafeDelivery(Consumer):
    """A mixin, which precedes the driver's own consumer class among the bases. The driver implements `_rewind`."""

    poll_timeout_s = 1.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's signature, passed on
        super().__init__(*args, **kwargs)
        self._withheld: set[TP] = set()
        """The partitions that are not fetched from, because their messages cannot be handled yet; see `withhold`."""
        self.scheduler = Runs()
        self._ends_of_fetching: tuple[type[BaseException], ...] = (
            asyncio.CancelledError,
            *self.consumer_stopped_errors,
        )
        self._delivered: dict[TP, deque[int]] = {}
        """The offsets delivered in this generation that `_safe` does not include yet, in order. A commit may go up to
        the first unacknowledged one. Only delivered offsets are waited for, so that gaps in the log (retention,
        compaction, transactions) delay nothing."""
        self._safe: dict[TP, int] = {}
        """The offset that may be committed. It cannot be computed from `_delivered` again, which drops finished
        offsets, and a failed commit must be repeated even if nothing new was acknowledged."""
        self._at_group: dict[TP, int | None] = {}
        """The last committed offset that the group has confirmed: it delivers from there after a rebalance. Faust
        considers an offset committed even if the group refused it, and would then ignore acknowledgements of messages
        that are delivered again."""
        self._held: dict[TP, list[Any]] = {}
        """The records that were fetched for a partition whose agent's queue filled up meanwhile, at most those of one
        fetch. They are delivered before this partition is fetched from again, which keeps their order. Other partitions
        are not delayed."""
        self._partitions_changed = asyncio.Event()
        """Set when more partitions may be fetched from: a wait for messages then ends at once."""
        self.large = LargeMessages(self._partitions_changed.set)
        self.starts = Starts(self._partitions_changed.set)
        self._stops = 0
        """The number of times that the flow was stopped."""
        self._positions_since = 0
        """The number of the stop after which positions were last set. Delivery may resume only if that was the last
        stop; otherwise messages from positions of the old generation would be delivered. Both numbers begin at 0, so
        that a worker that was never stopped may deliver."""

    async def _rewind(self, tp: TP, offset: int) -> None:
        """Fetch this partition again from an offset that was fetched already."""
        raise NotImplementedError

    # -- delivery

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Message]]:  # noqa: ASYNC109
        """Yield the next messages, in runs of a partition.

        A message is put back if its partition was paused meanwhile, or if it is large and there is no room. It is kept
        here if its agent's queue is full. In both cases only its own partition waits. (Faust itself delivers until the
        queue is full; then all agents wait for that one, and the group waits for this worker.)
        """
        if not self.flow_active:
            await self.wait(self.can_resume_flow)  # type: ignore[arg-type] # as Faust does: mode takes both events
        generation = self.app.consumer_generation_id
        while due := self.starts.due():
            await self._go_to_undone(due & self.assignment())
        starts = self.starts.numbers()
        records = {} if self.should_stop else await self._fetch(timeout)
        if generation != self.app.consumer_generation_id and not self.should_stop:
            # It is unknown whether these records were fetched before or after the new generation set its positions, so
            # the positions are set again. (Faust does that only if the flow is still suspended; otherwise it loses the
            # records after the seek.)
            await self._seek_to_committed()
            return
        put_back: dict[TP, Any] = {}
        for tp, record in self.scheduler.iterate(records):
            if generation != self.app.consumer_generation_id or self.should_stop:
                return  # the new generation sets its own positions
            if not self.starts.is_present(tp, starts[tp]):
                continue  # the next fetch begins at the first message that is not done
            if tp not in put_back and self._is_next(tp, record, put_back):
                message: Any = self._to_message(tp, record)
                message.start = starts[tp]
                yield tp, message
        for tp, record in put_back.items():
            if generation == self.app.consumer_generation_id:
                await self._rewind(tp, self._to_message(tp, record).offset)

    def _is_next(self, tp: TP, record: Any, put_back: dict[TP, Any]) -> bool:  # noqa: ANN401 - the driver's record
        """Return whether a record is to be delivered now; otherwise put it back, keep it here, or pass over it."""
        if not self.flow_active or tp in self._paused_partitions or self.large.must_wait(tp, record):
            put_back[tp] = record
            return False
        if tp in self._held or tp in self._buffered_partitions:
            self._held.setdefault(tp, []).append(record)
            return False
        return not self._passes_over(tp, record)

    async def _fetch(self, timeout: float) -> Mapping[TP, list[Any]]:  # noqa: ASYNC109
        self._partitions_changed.clear()
        if ready := {tp: self._held.pop(tp) for tp in [*self._held] if tp not in self._buffered_partitions}:
            return ready
        active = None
        if not self.app.client_only:
            active = self._get_active_partitions() - self.large.crowded - self._held.keys() - self._withheld
        if active is None or active:
            wait = REFILL_SECONDS if self._buffered_partitions or self._withheld else timeout
            return await self._getmany(active_partitions=active, timeout=min(wait, timeout))
        with suppress(TimeoutError):  # no partition can be fetched from: Faust would sleep for a second here
            await asyncio.wait_for(self._partitions_changed.wait(), timeout)
        return {}

    def _get_active_partitions(self) -> set[TP]:
        active: set[TP] | None = self._active_partitions
        # Faust's own method would check the type of each of them at every fetch.
        return super()._get_active_partitions() if active is None else active

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Fetch from these partitions again, without delay."""
        super().resume_partitions(tps)
        self._partitions_changed.set()

    def on_buffer_drop(self, tp: TP) -> None:
        """Fetch again, without delay, from a partition whose buffer has room again."""
        super().on_buffer_drop(tp)
        self._partitions_changed.set()

    def withhold(self, tps: set[TP]) -> None:
        """Fetch from all partitions except these, whose messages wait in the log and delay nothing else.

        Messages that were fetched already, or are being fetched, are still delivered. To prevent that for partitions
        that were just assigned, call this while the flow is stopped.
        """
        self._withheld = tps
        self._partitions_changed.set()

    async def _drain_messages(self, fetcher: Any) -> None:  # noqa: ANN401 - Faust's signature
        count = 0
        try:
            while not (self.should_stop or fetcher.should_stop):
                await asyncio.sleep(0)
                async for tp, message in self.getmany(timeout=self.poll_timeout_s):
                    count += 1
                    if not count % MESSAGES_BETWEEN_YIELDS:
                        await asyncio.sleep(0)
                    if self._commit_every is not None and self._n_acked >= self._commit_every:
                        self._n_acked = 0
                        await self.commit()
                    await self._deliver(tp, message)
        except self._ends_of_fetching:
            if not self.transport.app.should_stop:
                raise

    async def _deliver(self, tp: TP, message: Message) -> None:
        read = self._read_offset[tp]
        is_stale = message.generation_id != self.app.consumer_generation_id or not self.starts.is_current(message)
        if is_stale or (read is not None and message.offset < read):
            return
        # Both are set before the callback, which may wait until a rebalance is over: afterwards they would be entries
        # of the next generation.
        self._delivered.setdefault(tp, deque()).append(message.offset)
        self._read_offset[tp] = message.offset
        self.large.add(tp, message)
        await self.callback(message)

    def _passes_over(self, tp: TP, record: Any) -> bool:  # noqa: ANN401 - the driver's record
        """Count a settled record as delivered and done, in its place in the order; return whether it is settled."""
        if not getattr(record, "is_settled", False):
            return False
        offset, read = record.position.offset, self._read_offset[tp]
        if read is None or offset >= read:
            self._read_offset[tp] = offset
            self._delivered.setdefault(tp, deque()).append(offset)
            self._acked_index[tp].add(offset)
            self._acked[tp].append(offset)
            self._n_acked += 1
        return True

    async def _go_to_undone(self, tps: set[TP]) -> None:
        """Fetch these partitions again from the first message of each that is not done."""
        for tp in tps:
            offset = self.handled(tp)
            self._forget({tp})
            if offset:
                self._safe[tp] = offset
            self._read_offset[tp] = offset or None
            await self._rewind(tp, offset)

    # -- acknowledgement and commit

    def ack(self, message: Message) -> bool:
        """Count a message as done if this generation delivered it; return whether it did."""
        # Of a revoked partition the new worker gets the message again.
        is_ours = message.generation_id == self.app.consumer_generation_id and message.tp in self._delivered
        # While the flow is suspended Faust's Python streams acknowledge what they skip and have not tracked.
        if is_ours and (message.tracked or self.app.flow_control.is_active()):
            self.large.done(message.tp, message.offset)
            return super().ack(message)
        message.acked = True
        self._unacked_messages.discard(message)
        notify(self._waiting_for_ack)
        return False

    def _new_offset(self, tp: TP) -> int | None:
        """Return the offset after the delivered messages that are done without a gap; None if there are none."""
        delivered, done = self._delivered.get(tp, deque()), self._acked_index[tp]
        while delivered and delivered[0] in done:
            offset = delivered.popleft()
            done.discard(offset)
            self._safe[tp] = offset + 1
        self._acked[tp].clear()  # Faust's list of the same offsets, of which only the key is needed
        return self._safe.get(tp)

    def handled(self, tp: TP) -> int:
        """Return the offset before which every message is done, as far as this generation knows."""
        delivered, done = self._delivered.get(tp, deque()), self._acked_index[tp]
        undone = next((offset for offset in delivered if offset not in done), None)
        if undone is not None:
            return undone
        last = delivered[-1] + 1 if delivered else self._safe.get(tp)
        return last if last is not None else self._committed_offset[tp] or 0

    async def _commit_offsets(self, offsets: Mapping[TP, int], start_new_transaction: bool = True) -> bool:  # noqa: FBT001, FBT002
        at_group = self._at_group
        committed = bool(await super()._commit_offsets(offsets, start_new_transaction))
        # Faust considers offsets committed even if the group refused them. It would not commit them again, and would
        # ignore acknowledgements of messages that are delivered again.
        for tp in self._at_group.keys() & offsets.keys():
            if committed and at_group is self._at_group:  # otherwise a rebalance came in between
                self._at_group[tp] = offsets[tp]
            self._committed_offset[tp] = self._at_group[tp]
        return committed

    # -- generations

    def stop_flow(self) -> None:
        """Deliver nothing until positions have been set after this call."""
        self._stops += 1
        super().stop_flow()

    def resume_flow(self) -> None:
        """Deliver again, if positions were set since the last stop.

        If a worker has no partitions, Faust does not stop the flow before it assigns some. Messages may then be
        delivered while positions are set. When Faust resumes, it would clear them from the agents' queues, and never
        deliver them again.
        """
        if self._positions_since == self._stops:
            super().resume_flow()

    async def perform_seek(self) -> None:
        """Go back to the committed offsets; everything after them is delivered again."""
        stops = self._stops
        await self._seek_to_committed()
        self._positions_since = stops

    async def _seek_to_committed(self) -> None:
        self._forget(self._delivered.keys() | self._held.keys())
        committed = await self.seek_to_committed()
        self._at_group = {tp: offset or None for tp, offset in committed.items()}
        self._read_offset.update(self._at_group)
        self._committed_offset.update(self._at_group)  # Faust would keep old offsets where the group has none

    async def seek(self, partition: TP, offset: int) -> None:
        """Go to an offset, and forget which messages of this partition were delivered."""
        self._forget({partition})
        await super().seek(partition, offset)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Forget which messages of these partitions were delivered: late acknowledgements do not count."""
        self._forget(set(revoked))
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin a generation: nothing is delivered yet."""
        self.stop_flow()
        self._forget(self._delivered.keys() | self._held.keys())
        await super().on_partitions_assigned(assigned, generation_id)

    def _forget(self, tps: set[TP]) -> None:
        self.large.forget(tps)
        for tp in tps:
            for by_partition in (self._held, self._delivered, self._safe, self._acked, self._acked_index, self._gap):
                by_partition.pop(tp, None)
