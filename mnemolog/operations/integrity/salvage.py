"""The readable part of a damaged log: the memories that result from the readable part of its ledger.

A worker does not serve a damaged ledger, because the missing record is unknown. This is the way out: the remaining
memories are written as an export, and imported into an intact log.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mnemolog.log.connection import opened_log
from mnemolog.log.sealing import given_keys
from projections.queries.export import memory_line, place_of, wake_lines
from projections.state.evolve import after_item, apply_all, events_of, link_of
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import SYSTEM_TENANT
from schemas.log import LogDamaged
from schemas.messages.decision import Decision
from schemas.topics import GLOBALS, LEDGER
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from datetime import datetime

    from mnemolog.settings import Settings
    from schemas.identity import Owner
    from schemas.log import Record

READ_RECORDS: Final = 500


@dataclass(slots=True)
class Salvage:
    """The result of reading a damaged log."""

    states: dict[Owner, UserState] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """A sentence for each record that could not be read, and for each event that no longer applies because of it."""

    def take(self, record: Record) -> None:
        """Fold a record of the ledger as far as it applies."""
        try:
            decision = codec.decode_as(record.value, Decision)
        except codec.Undecodable as error:
            self.unread.append(f"{record.position}: {error}")
            return
        owner = decision.envelope.owner
        if owner.tenant == SYSTEM_TENANT:
            return
        state = self.states.get(owner) or UserState(owner=owner)
        if decision.version <= state.version:
            return  # void: another decision of this version came first
        state = after_item(state, decision, link_of(decision, record.value))
        for event in events_of(decision):
            try:
                state = apply_all(state, (event,), decision.envelope.recorded_at)
            except (KeyError, ValueError) as error:  # a memory whose first event could not be read
                self.unread.append(f"{record.position}: {type(event).__name__} of what is not known: {error}")
        self.states[owner] = state

    def lines(self, now: datetime) -> Iterator[dict[str, Any]]:
        """Yield the memories, and the coming wakes, in the format of an import."""
        for owner, state in sorted(self.states.items()):
            for memory in sorted(state.memories.values(), key=lambda one: place_of(one, now)):
                yield memory_line(owner, memory, now)
            with suppress(KeyError):  # a wake that a missing record had set
                yield from list(wake_lines(state))


async def salvaged(settings: Settings) -> Salvage:
    """Read the undamaged parts of the ledger. On the embedded engine, no worker may run. Raises LogError, OSError."""
    found = Salvage()
    async with opened_log(settings) as inner:
        keys = UserKeys(inner, given_keys(settings))
        await keys.follow()
        log = SealedLog(inner, keys, replacements=None if settings.is_embedded else Replacements(inner, keys))
        for topic in (LEDGER, GLOBALS):
            for partition in range(await log.partitions(topic.name)):
                async for record in _readable(log, topic.name, partition, found):
                    found.take(record)
    return found


async def _readable(log: SealedLog, topic: str, partition: int, found: Salvage) -> AsyncIterator[Record]:
    """Yield the readable records; after damage, the reads continue one record at a time."""
    start, end, limit = await log.earliest(topic, partition), await log.end(topic, partition), READ_RECORDS
    while start < end:
        try:
            records = await log.read(topic, partition, start, limit)
        except LogDamaged as error:
            if limit == 1:
                found.unread.append(f"{topic}:{partition}:{start}: {error}")
                start += 1
            limit = 1
            continue
        if not records:
            return
        for record in records:
            if not record.is_erased:
                yield record
        start, limit = records[-1].position.offset + 1, min(READ_RECORDS, 2 * limit)
