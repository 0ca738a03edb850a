"""Erasures of a simulated run: who is erased when, by which worker, and what the world without the user is."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final

from support.master_key import MASTER_KEY

from mnemolog.commands.commands import AnotherCommand
from mnemolog.operations.erasing.erasure import ErasedBefore, NotErasedYet
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable
from schemas import codec
from schemas.identity import Owner, piece_id, reminder_id_of
from schemas.inputs.pieces import is_extractable, piece_texts
from schemas.log import LogUnavailable, Position
from schemas.messages.erasure import EraseUser
from schemas.messages.inbox import INBOX_ITEMS
from schemas.messages.observations import SessionEnded
from schemas.messages.wakes import ScheduleReminder
from schemas.topics import INBOX, INPUTS, REPLACEMENTS
from streams.agents.erasure_gate import ErasureRunning
from streams.sealing import sealed_record
from streams.sealing.master_key import MasterKeys
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from simulation.simulated_group import SimulatedGroup
    from simulation.simulated_log import SimulatedLog
    from simulation.simulated_worker import SimulatedWorker
    from simulation.steps import Phase, Step
    from simulation.workload import Workload

    from schemas.log import NewRecord, Record
    from schemas.messages.observations import Observation

    Records = Mapping[tuple[str, int], Sequence[Record]]

MASTERS: Final = MasterKeys([b64decode(MASTER_KEY)])
COMMAND: Final = "erase"
_INPUTS: Final = {topic.name for topic in INPUTS}
MOST: Final = 0.4
"""How many runs have an erasure, 0 to 1."""
PATIENCE_SECONDS: Final = 80.0
"""So long an erasure is waited for, before another worker is asked: the first may be frozen, or dead."""
NOT_YET: Final = (
    NotHeld, NotErasedYet, ErasureRunning, AnotherCommand, LogUnavailable, ShardUnavailable,
)  # fmt: skip
"""What a client answers by asking again."""


@dataclass(frozen=True, slots=True)
class PlannedErasure:
    """That a user is erased on one day: while things are said, while things are asked for, or when all that is done."""

    owner: Owner
    phase: int
    stage: str
    pause: float


def plan_erasure(seed: int, phases: int, users: Sequence[Owner]) -> PlannedErasure | None:
    """Return whether somebody is erased in a run, and when."""
    chance = Random(f"erasures {seed}")  # noqa: S311 - repeatable on purpose
    if chance.random() >= MOST:
        return None
    stage = chance.choice(("said", "asked", "after"))
    return PlannedErasure(chance.choice(users), chance.randrange(phases), stage, chance.random() * 12)


def phases_without(phases: Sequence[Phase], erasure: PlannedErasure) -> list[Phase]:
    """Return the days of a world in which the user comes only after the day of the erasure."""

    def left(lists: list[list[Step]]) -> list[list[Step]]:
        return [[step for step in steps if step.record.key != erasure.owner.key] for steps in lists]

    return [
        replace(phase, said=left(phase.said), asked=left(phase.asked)) if number <= erasure.phase else phase
        for number, phase in enumerate(phases)
    ]


async def erase_somewhere(
    group: SimulatedGroup, partition: int, erase: Callable[[SimulatedWorker], Coroutine[Any, Any, None]]
) -> None:
    """Have something erased by whichever worker has the partition, asking again until one says that it is done."""
    while True:
        await asyncio.sleep(0.3)
        holder = group.owners.get(partition)
        if holder is None or not holder.worker.is_alive:
            continue
        worker = holder.worker
        asked = group.loop.create_task(erase(worker), context=worker.context)
        until = group.loop.time() + PATIENCE_SECONDS
        while not asked.done() and worker.is_alive and group.loop.time() < until:  # noqa: ASYNC110 - nobody tells of deaths
            await asyncio.sleep(0.1)
        if not asked.done():
            continue
        error = asked.exception()
        if error is None or isinstance(error, ErasedBefore):
            return
        if not isinstance(error, NOT_YET):
            raise error


class Opened:
    """The records of the log as somebody reads them who has all keys that are left."""

    def __init__(self, log: SimulatedLog) -> None:
        """Read a log without weather."""
        self._raw = log
        self._keys = UserKeys(log, MASTERS)
        self.log = SealedLog(log, self._keys, replacements=Replacements(log, self._keys))

    async def read(self) -> dict[tuple[str, int], list[Record]]:
        """Return what can be read of each partition."""
        await self._keys.follow()  # some may be destroyed since
        return {
            place: [one for one in [await self.log.open(record) for record in records] if not one.is_erased]
            for place, records in self._raw.records.items()
            if place[0] != REPLACEMENTS.name
        }

    def said(self, records: Records, clear: Mapping[bytes, NewRecord]) -> dict[tuple[str, int], list[Record]]:
        """Return records that were read, with those that no key opens any more and of which `clear` has what they were.

        `clear` has it by the sealed value.
        """
        return {
            place: [
                *records[place],
                *(
                    replace(one, key=known.key, value=known.value)
                    for one in self._raw.records[place]
                    if (known := clear.get(one.value)) is not None
                ),
            ]
            for place in records
        }

    def ends(self) -> dict[tuple[str, int], int]:
        """Return how long each partition is."""
        return {place: len(records) for place, records in self._raw.records.items()}

    async def sealed(self, owner: Owner) -> list[Record]:
        """Return the records of an owner that lie sealed and a key that is left opens, with every replacement.

        A replacement stands where what it replaces does.
        """
        await self._keys.follow()
        found = []
        for (topic, _), records in self._raw.records.items():
            for record in records:
                opened = await self._opened(topic, record)
                if opened is not None and opened.key == owner.key:
                    found.append(opened)
        return found

    async def _opened(self, topic: str, record: Record) -> Record | None:
        key_id = sealed_record.key_id_of(record.value)
        cipher = None if key_id is None else await self._keys.opening(key_id)
        if cipher is None:
            return None
        position = record.position
        if topic == REPLACEMENTS.name:  # each is sealed for the place of what it replaces
            topic = (record.key or b"").decode().rpartition("/")[0]
            name, partition, offset = topic.rsplit("/", 2)
            position = Position(name, int(partition), int(offset))
        key, value = sealed_record.open_sealed(cipher, topic, record.value)
        return replace(record, position=position, key=key, value=value)


class AfterErasure:
    """What the log holds of an erased user from the cut on: all that must count, and nothing else."""

    def __init__(self, records: Records, erasure: PlannedErasure, partition: int, said: Records) -> None:
        """Read it from the opened records; `said` has also what a destroyed key sealed."""
        self.owner = erasure.owner
        self._said = said
        self.partition = partition
        inbox = [(record, codec.decode_as(record.value, *INBOX_ITEMS)) for record in records[INBOX.name, partition]]
        own = [(r.position.offset, item) for r, item in inbox if item.envelope.owner == self.owner]
        # One that was asked for twice stands there twice: the first counts.
        self.offset, item = next((offset, item) for offset, item in own if isinstance(item, EraseUser))
        self._at = next(r.recorded_at for r, _ in inbox if r.position.offset == self.offset)
        self.cuts = {cut.topic: cut.before for cut in item.cut}
        self.items = [(offset, item) for offset, item in own if offset > self.offset]

    def is_before(self, position: Position, owner: Owner) -> bool:
        """Return whether a record is the user's, and from before the cut."""
        return owner == self.owner and position.offset < self.cuts.get(position.topic, 0)

    def counts(self, position: Position) -> bool:
        """Return whether an item of the user's stems from after the erasure; of one elsewhere its copy counts."""
        return position.partition == self.partition and position.offset >= self.offset

    def observations(self) -> tuple[dict[str, Observation], dict[str, Observation]]:
        """Return the user's observations from the cut on, by their ids: those that are new there, and repeats.

        What was said before the cut and comes again from there on is a repeat as long as the erasure is not decided,
        and new as soon as it is: it may be either. So is what stood in another partition by then: a worker may have
        copied it before the cut, under the key that is destroyed.
        """
        before: dict[str, Observation] = {}
        since: dict[str, Observation] = {}
        for (topic, partition), records in self._said.items():
            for record in records if topic in _INPUTS else ():
                if not record.value.startswith(codec.MARKER):
                    continue
                message: Observation = codec.decode(record.value)
                if message.envelope.owner != self.owner:
                    continue
                if partition == self.partition:
                    found = before if self.is_before(record.position, self.owner) else since
                elif record.recorded_at < self._at:
                    found = before
                else:  # its copy counts
                    continue
                found.setdefault(message.envelope.event_id, message)
        new = {event_id: message for event_id, message in since.items() if event_id not in before}
        return new, {event_id: message for event_id, message in since.items() if event_id in before}

    def reminders(self) -> set[str]:
        """Return the reminders that were asked for since."""
        return {
            reminder_id_of(self.owner, item.envelope.event_id)
            for _, item in self.items
            if isinstance(item, ScheduleReminder)
        }


def pieces_of(observations: Mapping[str, Observation]) -> set[str]:
    """Return the pieces of observations that must be covered."""
    return {
        piece_id(event_id, number)
        for event_id, message in observations.items()
        if not isinstance(message, SessionEnded) and is_extractable(message)
        for number in range(len(piece_texts(message)))
    }


def commands_repeated(workload: Workload) -> set[str]:
    """Return the commands of who is erased that are sent before the erasure, and may come again after it.

    Which of the two a worker decides on depends on what it has folded by then: either is right.
    """
    erasure = workload.erasure
    if erasure is None:
        return set()
    return {
        codec.decode(step.record.value).envelope.event_id
        for number, phase in enumerate(workload.phases)
        for steps in phase.asked
        for step in steps
        if step.record.key == erasure.owner.key
        and (number < erasure.phase or (number == erasure.phase and (step.again or erasure.stage == "after")))
    }


def reminders_due(workload: Workload, after: AfterErasure | None) -> dict[str, datetime]:
    """Return when each reminder is due of which a run must still know."""
    gone = set[str]()
    if after is not None:
        gone = reminders_of(workload.phases, after.owner) - after.reminders()
    elif workload.without is not None:
        left = reminders_of(workload.phases, workload.without)
        gone = reminders_of(type(workload).of_seed(workload.seed).phases, workload.without) - left
    return {reminder_id: due_at for reminder_id, due_at in workload.reminders.items() if reminder_id not in gone}


def reminders_of(phases: Sequence[Phase], owner: Owner) -> set[str]:
    """Return the reminders that a user asks for in a run."""
    items = (
        codec.decode(step.record.value)
        for phase in phases
        for steps in phase.asked
        for step in steps
        if step.record.key == owner.key
    )
    return {reminder_id_of(owner, item.envelope.event_id) for item in items if isinstance(item, ScheduleReminder)}
