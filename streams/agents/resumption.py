"""The resumption after an erasure: words that survived it are extracted again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from projections.partitions.assignment import NotHeld
from projections.state.evolve import is_cut_off, is_decided
from schemas.inputs.decoding import observation_of_record
from schemas.topics import INBOX

if TYPE_CHECKING:
    from projections.partitions.assignment import Lease
    from projections.partitions.shards import Shards
    from projections.shard.observation_lookup import Answered
    from schemas.identity import Owner
    from schemas.log import Position
    from streams.agents.extraction_queue import ExtractionQueue
    from streams.agents.open_windows import OpenWindows


class Resumption:
    """Searches after each erasure for surviving words whose answer is void, and submits them for extraction again."""

    def __init__(self, shards: Shards, extractions: ExtractionQueue, windows: OpenWindows) -> None:
        self._shards = shards
        self._extractions = extractions
        self._windows = windows
        self._waiting: set[Owner] = set()
        self._resumed: dict[int, Lease] = {}
        """The lease under which each partition was searched for words that survived an erasure."""

    def later(self, owner: Owner) -> None:
        """Queue a user for the next `run`, which also drops the user's erased words from open windows."""
        self._waiting.add(owner)

    async def run(self) -> None:
        """Extract what outlived an erasure and was answered together with what did not, so that the answer was void.

        Also what was answered just before the erasure, and decided too early to stay. Such observations were
        acknowledged. So whoever gets a partition looks for them, too: its former worker may have died before it could.
        What was not answered is not acknowledged either, and is delivered again.
        """
        for partition in self._shards.held():
            lease = self._shards.assignment.lease(partition)
            if self._resumed.get(partition) != lease:
                self._resumed[partition] = lease
                self._waiting.update(owner for owner, _ in self._shards.at(partition).ledger.erasures())
        while self._waiting:
            owner = self._waiting.pop()
            with suppress(NotHeld):
                await self._resume(owner)

    async def _resume(self, owner: Owner) -> None:
        partition = self._shards.partition(owner)
        lease = self._shards.assignment.lease(partition)
        self._windows.drop_erased(owner)
        void: dict[Position, set[str]] = {}
        for answered in self._shards.of(owner).observations.answered(owner):
            if self._is_void(owner, answered):
                void.setdefault(answered.position, set()).add(answered.piece_id)
        for position, piece_ids in void.items():
            record = await self._shards.record(position)
            # From here on nothing is awaited before it is pending, or it might be taken twice.
            if not lease.is_valid:
                return
            if record is None:
                continue
            message = observation_of_record(record)
            pieces = [p for p in self._extractions.pieces_of(message, record) if p.piece_id in piece_ids]
            event_id = message.envelope.event_id
            if self._extractions.pending.has(owner, event_id):
                continue
            self._extractions.pending.add(owner, event_id, piece_ids)  # it was acknowledged before
            self._extractions.counted("observe", "resumed")
            await self._extractions.submit(message, pieces)

    def _is_void(self, owner: Owner, answered: Answered) -> bool:
        """Return whether nothing will come of the answer to a piece: it was void, or stood before the erasure."""
        state = self._shards.state(owner)
        return is_decided(state, answered.item_id) or is_cut_off(state, INBOX.name, answered.item_offset)
