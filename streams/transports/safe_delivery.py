"""Safe delivery: a consumer commits past no message in work, and takes no acknowledgement from another generation.

Faust 0.15.3 commits past a message in work when nothing was committed yet, and when the message is the first one after
the commit (faust-streaming issue 606); it acknowledges what it skips; it starts four tasks for each message. This mixin
replaces those parts, for any driver. Agents use `stream.noack()`: without it Faust's C extension acknowledges what an
agent has received, and does not go through `ack`.

A *generation* is the time between two rebalances. Everything this consumer knows of a partition belongs to one
generation: after a rebalance the log delivers again from the committed offset on, here or at another worker. Within a
generation one partition can be delivered again (`starts`), while the others go on.
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
"""The event loop gets a turn at least so often while messages are delivered."""
REFILL_SECONDS = 0.05
"""How long a fetch may last while a queue is full, or a partition withheld: it does not notice when that is over."""


class SafeDelivery(Consumer):
    """A mixin, named before the driver's own consumer class. The driver implements `_rewind`."""

    poll_timeout_s = 1.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's signature, passed on
        """Start with nothing delivered."""
        super().__init__(*args, **kwargs)
        self._withheld: set[TP] = set()
        """Partitions that are not fetched from, as nothing of them can be handled yet; see `withhold`."""
        self.scheduler = Runs()
        self._ends_of_fetching: tuple[type[BaseException], ...] = (
            asyncio.CancelledError,
            *self.consumer_stopped_errors,
        )
        self._delivered: dict[TP, deque[int]] = {}
        """The offsets delivered in this generation and not committed past, in order. A commit may go up to the first
        one that is not acknowledged. Only what was delivered is waited for, so gaps in the log (retention, compaction,
        transactions) hold up nothing."""
        self._safe: dict[TP, int] = {}
        """The offset that may be committed. It cannot be computed from `_delivered` again, which loses what is done;
        and a commit that failed must be repeated although nothing new was acknowledged."""
        self._at_group: dict[TP, int | None] = {}
        """The offset from which the group delivers after a rebalance, as far as it has confirmed. Faust notes an offset
        as committed even when the group refused it, and would then ignore acknowledgements of what is delivered
        again."""
        self._held: dict[TP, list[Any]] = {}
        """Records fetched for a partition whose agent's queue filled meanwhile, at most those of one fetch. They are
        delivered before this partition is fetched from again, which keeps their order, and other partitions go on."""
        self._partitions_changed = asyncio.Event()
        """Set when another partition may be fetched from: a wait for messages then ends at once."""
        self.large = LargeMessages(self._partitions_changed.set)
        self.starts = Starts(self._partitions_changed.set)
        self._stops = 0
        """How often the flow was stopped."""
        self._positions_since = 0
        """The stop after which positions were set last. Delivery may resume only if it is the last stop: else messages
        from positions of the old generation would be delivered. 0 of 0: a worker that was never stopped may begin."""

    async def _rewind(self, tp: TP, offset: int) -> None:
        """Fetch this partition again from an offset that was fetched already."""
        raise NotImplementedError

    # -- delivery

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Message]]:  # noqa: ASYNC109
        """Yield the next messages, in runs of a partition.

        A message is put back if its partition was paused meanwhile, or if it is large and there is no room. It is held
        if its agent's queue is full. Only its own partition waits then. (Faust goes on until the queue is full; then
        all agents wait for that one, and the group waits for this worker.)
        """
        if not self.flow_active:
            await self.wait(self.can_resume_flow)  # type: ignore[arg-type] # as Faust does: mode takes both events
        generation = self.app.consumer_generation_id
        while due := self.starts.due():
            await self._go_to_undone(due & self.assignment())
        starts = self.starts.numbers()
        records = {} if self.should_stop else await self._fetch(timeout)
        if generation != self.app.consumer_generation_id and not self.should_stop:
            # It is unknown whether these were fetched before or after the new generation set its positions: they are
            # set again. (Faust does so only if the flow is still suspended; otherwise it loses what came after the
            # seek.)
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
        """Return whether a record is to be delivered now; else put it back, hold it, or pass it over."""
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
        with suppress(TimeoutError):  # none can be fetched from: Faust would sleep for a second here
            await asyncio.wait_for(self._partitions_changed.wait(), timeout)
        return {}

    def _get_active_partitions(self) -> set[TP]:
        active: set[TP] | None = self._active_partitions
        # Faust looks at the type of each of them, at every fetch.
        return super()._get_active_partitions() if active is None else active

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Fetch from these partitions again, at once."""
        super().resume_partitions(tps)
        self._partitions_changed.set()

    def on_buffer_drop(self, tp: TP) -> None:
        """Fetch again from a partition whose buffer has room again, at once."""
        super().on_buffer_drop(tp)
        self._partitions_changed.set()

    def withhold(self, tps: set[TP]) -> None:
        """Fetch from all partitions but these: what there is of them waits in the log, and keeps nothing else waiting.

        What is being fetched, or was, is delivered all the same: call this first while the flow is stopped.
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
        # Both before the callback: it may wait until a rebalance is over, when these belong to the next generation.
        self._delivered.setdefault(tp, deque()).append(message.offset)
        self._read_offset[tp] = message.offset
        self.large.add(tp, message)
        await self.callback(message)

    def _passes_over(self, tp: TP, record: Any) -> bool:  # noqa: ANN401 - the driver's record
        """Count a record that no agent needs as delivered and done, in its turn behind those before it."""
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
        """Return the offset behind the delivered messages that are done without a gap; None where there are none."""
        delivered, done = self._delivered.get(tp, deque()), self._acked_index[tp]
        while delivered and delivered[0] in done:
            offset = delivered.popleft()
            done.discard(offset)
            self._safe[tp] = offset + 1
        self._acked[tp].clear()  # Faust's list of the same, of which only the key is needed
        return self._safe.get(tp)

    def handled(self, tp: TP) -> int:
        """Return the offset before which every message is done, as this generation knows it."""
        delivered, done = self._delivered.get(tp, deque()), self._acked_index[tp]
        undone = next((offset for offset in delivered if offset not in done), None)
        if undone is not None:
            return undone
        last = delivered[-1] + 1 if delivered else self._safe.get(tp)
        return last if last is not None else self._committed_offset[tp] or 0

    async def _commit_offsets(self, offsets: Mapping[TP, int], start_new_transaction: bool = True) -> bool:  # noqa: FBT001, FBT002
        at_group = self._at_group
        committed = bool(await super()._commit_offsets(offsets, start_new_transaction))
        # Faust notes offsets as committed that the group refused. It would not commit them again, and would ignore the
        # acknowledgements of what is delivered again.
        for tp in self._at_group.keys() & offsets.keys():
            if committed and at_group is self._at_group:  # else a rebalance came between
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

        Faust does not stop the flow of a worker without partitions before it assigns some. It would clear what is
        delivered while positions are set from the agents' queues when it resumes, and never deliver it again.
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
        self._committed_offset.update(self._at_group)  # Faust would leave there what the group does not know

    async def seek(self, partition: TP, offset: int) -> None:
        """Go to an offset, and forget what was delivered of this partition."""
        self._forget({partition})
        await super().seek(partition, offset)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Forget what was delivered of these partitions: late acknowledgements do not count."""
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
