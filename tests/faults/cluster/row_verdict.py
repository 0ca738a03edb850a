"""The verdict on a row, read from the log on Kafka, independent of the fold that it checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from faults.cluster.numbered_facts import place_of, text
from support.counting import counted, decisions

from projections.state.digest import PROJECTIONS, combined, digests
from projections.state.evolve import events_of, evolve, link_of
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import event_of_piece
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.events import MemoryFormed
from schemas.messages.inbox import CandidatesExtracted
from schemas.messages.observations import TurnRecorded
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX, LEDGER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemas.identity import Owner
    from schemas.log import Record


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the ledger says of the workload; the first three must be 0."""

    missing: int
    """Observations that were acknowledged, and from which nothing was remembered."""
    twice: int
    """Memories beyond the first with the same id, from the same observation, or of the same words."""
    out_of_order: int
    """Memories of a user that were formed after one of a later observation, and of items out of order."""
    void: int
    """Decisions that do not count; what is no decision is none."""
    dead_letters: int
    """Records that were put aside, each once, however many letters there are about it."""
    memories: int
    misplaced: tuple[str, ...]
    """What was formed out of order, each with where the log has it."""


def verdict(records: Mapping[tuple[str, int], Sequence[Record]], acknowledged: Sequence[str]) -> Verdict:
    """Judge the log against what the publisher was told. Raises AssertionError for a memory of other words."""
    chains = counted(records)
    formed: defaultdict[str, list[MemoryFormed]] = defaultdict(list)
    out_of_order, misplaced = 0, list[str]()
    for owner, chain in chains.items():
        if not is_of_workload(owner):
            continue
        events = [codec.decode(event) for decision in chain for event in decision.events]
        formed[owner.user_id] += [event for event in events if isinstance(event, MemoryFormed)]
        offsets = [decision.item_offset for decision in chain]
        facts = [place_of(event.source_ids[0])[1] for event in formed[owner.user_id]]
        for order in (offsets, facts):
            out_of_order += sum(after <= before for before, after in pairwise(order))
        if facts != sorted(facts):
            known = places_of(records, owner.user_id)
            misplaced.append(f"{owner.user_id}: {facts}, the log has {known}, decided {offsets}")
    memories = [event for events in formed.values() for event in events]
    for memory in memories:
        assert memory.content.data.decode() == text(*place_of(memory.source_ids[0])), memory
    sources = Counter(source for memory in memories for source in memory.source_ids)
    ids, words = Counter(m.memory_id for m in memories), Counter(m.content.data for m in memories)
    ledger = sum(1 for (topic, _), some in records.items() if topic == LEDGER.name for _ in decisions(some))
    return Verdict(
        missing=len({i for i in acknowledged if not i.endswith("-end")} - sources.keys()),
        twice=max(sum(times - 1 for times in found.values()) for found in (sources, ids, words)),
        out_of_order=out_of_order,
        void=ledger - sum(map(len, chains.values())),
        dead_letters=len(put_aside(records)),
        memories=len(memories),
        misplaced=tuple(misplaced),
    )


def put_aside(records: Mapping[tuple[str, int], Sequence[Record]]) -> set[tuple[str, int, int]]:
    """Return where the records are that dead letters are about."""
    found = set()
    for record in (record for (topic, _), some in records.items() if topic == DEAD_LETTERS.name for record in some):
        with suppress(codec.Undecodable):
            letter = codec.decode(record.value)
            if isinstance(letter, DeadLetter):
                found.add((letter.topic, letter.partition, letter.offset))
    return found


def digest_of_workload(found: Mapping[str, str], records: Mapping[tuple[str, int], Sequence[Record]]) -> str:
    """Return the workers' digest without the rows of users of whom a row itself told something.

    Digests of rows add up: theirs, as we fold them from the log, are taken away.
    """
    others = []
    for owner, chain in counted(records).items():
        if not is_of_workload(owner):
            state = UserState(owner=owner)
            for decision in chain:
                state = evolve(state, decision, events_of(decision), link_of(decision, codec.encode(decision)))
            others.append(state)
    theirs = digests(others)
    taken_away = {name: f"{(1 << 256) - int(theirs[name], 16):x}" for name in PROJECTIONS}
    return combined([found, taken_away])["total"]


def is_of_workload(owner: Owner) -> bool:
    """Tell whether what a user says is part of the undisturbed run too."""
    return owner.user_id.startswith("user-")


def places_of(records: Mapping[tuple[str, int], Sequence[Record]], user: str) -> list[str]:
    """Return what the log holds of a user's turns and items, in order: numbers of facts, each with its offset."""
    found = []
    for (topic, _), some in records.items():
        for record in some:
            with suppress(codec.Undecodable):
                message = codec.decode(record.value)
                if message.envelope.user_id != user:
                    continue
                if topic == CONVERSATIONS.name and isinstance(message, TurnRecorded):
                    fact = place_of(message.envelope.event_id)[1]
                    found.append(f"{fact}@{record.position.offset}")
                elif topic == INBOX.name and isinstance(message, CandidatesExtracted):
                    covered = [place_of(event_of_piece(piece.piece_id))[1] for piece in message.covered]
                    found.append(f"item {covered}@{record.position.offset} {record.recorded_at:%H:%M:%S.%f}")
    return found
