"""A worker's door in a simulated run: what is published there is sealed, and what is acknowledged must stay."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from schemas import codec
from schemas.identity import Owner
from schemas.topics import INBOX
from streams.sealing.sealed_log import SealedLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simulation.erasures import AfterErasure, Records
    from simulation.simulated_log import SimulatedLog
    from simulation.workload import Workload

    from schemas.log import Appended, NewRecord, Position
    from schemas.messages.erasure import MemoryErased
    from streams.sealing.user_keys import UserKeys

SOME: Final = 0.5
"""How many of those who are erased come in by a worker's door, 0 to 1; the others' records lie in clear."""


class Door(SealedLog):
    """Seals what is published, and keeps in mind what it was."""

    def __init__(self, log: SimulatedLog, keys: UserKeys) -> None:
        """Take the log, and the keys as this door reads them."""
        super().__init__(log, keys)
        self.clear: dict[bytes, NewRecord] = {}
        """What was sealed, by the sealed value: also what no key opens any more."""
        self.acknowledged: list[tuple[Position, NewRecord]] = []

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `SealedLog.append`."""
        appended = await super().append(records)
        self.acknowledged += [(one.position, record) for one, record in zip(appended, records, strict=True)]
        return appended

    def _sealed(self, record: NewRecord, owner: Owner) -> NewRecord:
        sealed = super()._sealed(record, owner)
        self.clear[sealed.value] = record
        return sealed


def comes_by_the_door(workload: Workload) -> set[bytes]:
    """Return the keys of those who publish by a worker's door: whoever has memories erased, and some who are erased."""
    owners = {one.owner for one in workload.memory_erasures}
    if workload.erasure is not None and Random(f"door {workload.seed}").random() < SOME:  # noqa: S311 - repeatable
        owners.add(workload.erasure.owner)
    return {owner.key for owner in owners}


def check_acknowledged(
    door: Door, records: Records, after: AfterErasure | None, gone: Mapping[Owner, Iterable[MemoryErased]]
) -> None:
    """Check that all that was acknowledged can be read, apart from what was erased."""
    readable = {record.position for some in records.values() for record in some}
    for position, said in door.acknowledged:
        owner = Owner.of_key(said.key or b"")
        if after is not None and owner == after.owner:
            cut = after.offset if position.topic == INBOX.name else after.cuts[position.topic]
            if position.offset < cut:
                continue
        message = codec.decode(said.value) if said.value.startswith(codec.MARKER) else None
        erased = {event_id for event in gone.get(owner, ()) for event_id in event.event_ids}
        if message is not None and message.envelope.event_id in erased:
            continue
        assert position in readable, f"{owner}: what was acknowledged at {position} cannot be read: {message}"
