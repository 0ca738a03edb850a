"""Erasures of single memories in a simulated run, and what must hold of their words when it is over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final

from simulation.scripted_extractor import FACT
from support.counting import counted
from support.workbench import hold_all

from projections.partitions.shards import Shards
from projections.state.erased_words import ErasedWords
from projections.state.evolve import events_of
from schemas import codec
from schemas.identity import Owner, derived_id, event_of_piece
from schemas.log import LogUnavailable
from schemas.messages.decision import Decision
from schemas.messages.envelope import Sealed
from schemas.messages.erasure import MemoryErased
from schemas.messages.events import MemoryFormed, MemoryImported
from schemas.messages.inbox import EXTRACTIONS
from schemas.topics import INBOX, INPUTS
from streams.delivery.retry import retry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from simulation.erasures import Opened, Records
    from simulation.simulated_worker import SimulatedWorker

    from schemas.log import Log, Record

SOME: Final = 0.3
"""How many runs erase single memories, 0 to 1."""
PUBLISHED: Final = frozenset({*(topic.name for topic in INPUTS), INBOX.name})
"""Topics on which a publisher may say the same again after an erasure. Extractions on them come from workers."""


@dataclass(frozen=True, slots=True)
class PlannedMemoryErasure:
    """That a memory of a user is erased on one day, in the midst of something or when all that is done."""

    owner: Owner
    phase: int
    stage: str
    pause: float
    number: int
    """Which of those that there are then, counted in the order of their ids, over and over."""

    @property
    def command_id(self) -> str:
        """The Idempotency-Key, as it were."""
        return derived_id("erase", self.owner.user_id, self.phase, self.stage, self.number)


@dataclass(frozen=True, slots=True)
class ErasedMemory:
    """A memory that was erased, and what was known of it when that was asked for."""

    owner: Owner
    memory_id: str
    words: frozenset[bytes]
    ends: Mapping[tuple[str, int], int]
    """How long the partitions of the log were."""


def plan_memory_erasures(
    seed: int, phases: int, users: Sequence[Owner], erased: Owner | None
) -> list[PlannedMemoryErasure]:
    """Return which memories are erased in a run, and when; none of who is erased as a whole."""
    chance = Random(f"memory erasures {seed}")  # noqa: S311 - repeatable on purpose
    if chance.random() >= SOME:
        return []
    others = [user for user in users if user != erased]
    return [
        PlannedMemoryErasure(
            owner=chance.choice(others),
            phase=chance.randrange(phases),
            stage=chance.choice(("said", "asked", "after", "after")),
            pause=chance.random() * 30,
            number=chance.randrange(1_000),
        )
        for _ in range(chance.choice((1, 1, 2, 3)))
    ]


async def choose(opened: Opened, planned: PlannedMemoryErasure) -> ErasedMemory | None:
    """Return the memory that is to be erased, by the log alone; None where the user has none."""
    records = await opened.read()
    chain = counted(records).get(planned.owner, [])
    events = [event for decision in chain for event in events_of(decision)]
    gone = {event.memory_id for event in events if isinstance(event, MemoryErased)}
    known = sorted({event.memory_id for event in events if isinstance(event, (MemoryFormed, MemoryImported))} - gone)
    if not known:
        return None
    memory_id = known[planned.number % len(known)]
    told = [getattr(one, "content", None) for one in events if getattr(one, "memory_id", None) == memory_id]
    said = [content.text for content in told if isinstance(content, Sealed)]
    # What kind of event it was stays, as a word of a vocabulary does: here the script makes one of its own of each.
    words = {found[0].encode() for text in said for found in FACT.finditer(text) if found[1] != "event"}
    return ErasedMemory(planned.owner, memory_id, frozenset(words), opened.ends())


def erased_events(records: Records) -> dict[Owner, list[MemoryErased]]:
    """Return the erasures of memories that were decided."""
    return {
        owner: found
        for owner, chain in counted(records).items()
        if (found := [e for d in chain for e in events_of(d) if isinstance(e, MemoryErased)])
    }


def pieces_gone(events: Iterable[MemoryErased], pieces: Iterable[str]) -> set[str]:
    """Return those of the pieces whose observations were erased."""
    gone = {event_id for event in events for event_id in event.event_ids}
    return {piece for piece in pieces if event_of_piece(piece) in gone}


async def check_memory_erasures(
    opened: Opened, records: Records, erased: Sequence[ErasedMemory], *, words_are_once: bool
) -> None:
    """Check that each was decided once, and that no key opens what it said, or the observations it came from.

    `words_are_once`: nothing else in the run has the words.
    """
    events = erased_events(records)
    for one in erased:
        own = [event for event in events.get(one.owner, ()) if event.memory_id == one.memory_id]
        assert len(own) == 1, f"{one.memory_id} was erased {len(own)} times"
        items = {
            decision.item_id
            for decision in counted(records)[one.owner]
            for event in events_of(decision)
            if getattr(event, "memory_id", None) == one.memory_id
        }
        gone = ErasedWords(frozenset({one.memory_id}), frozenset(own[0].event_ids), frozenset(items))
        for record in await opened.sealed(one.owner):
            message = _message(record)
            place = record.position
            is_later = place.offset >= one.ends[place.topic, place.partition]
            if is_later and place.topic in PUBLISHED and not isinstance(message, EXTRACTIONS):
                continue
            assert not gone.is_whole(message), f"{one.memory_id}: {place} holds its observation"
            without = gone.without(message)
            if is_later and isinstance(message, Decision):  # it says that the memory is unknown
                without = replace(message, events=gone.without(message).events)
            assert without == message, f"{one.memory_id}: {place} holds its words: {message}"
            if words_are_once:
                found = [word for word in one.words if word in record.value]
                assert not found, f"{one.memory_id}: {place} says {found}: {message}"


async def check_rows_of_memories(
    log: Log, workers: Mapping[int, SimulatedWorker], folder: Path, owners: Iterable[Owner]
) -> None:
    """Check that the decisions that shards hold of who had a memory erased are, to the byte, those of a fold anew."""
    anew = hold_all(Shards(folder / "memories anew", log, max(workers) + 1))
    try:
        for owner in dict.fromkeys(owners):
            rows = []
            for shards in (workers[anew.partition(owner)].shards, anew):
                shard = shards.of(owner)
                await retry(shard.catch_up, LogUnavailable)
                rows.append([(offset, codec.encode(decision)) for offset, decision in shard.ledger.decisions(owner)])
            assert rows[0] == rows[1], f"{owner}: the shard's decisions are not those of a fold anew"
    finally:
        anew.close()


def _message(record: Record) -> object:
    try:
        found: object = codec.decode(record.value)
    except codec.Undecodable:
        return None
    return found
