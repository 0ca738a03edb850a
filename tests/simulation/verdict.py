"""What must hold when a run is over, told from the log alone and compared with what the workers hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from immutables import Map
from simulation.reminders import check_wakes
from simulation.scripted_extractor import vector
from support.counting import counted
from support.workbench import hold_all

from projections.index.protocol import IndexQuery
from projections.partitions.shards import Shards
from projections.state.digest import digests
from projections.state.memory import ACTIVE, UserState
from schemas import codec
from schemas.identity import event_of_piece
from schemas.messages.decision import Decision
from schemas.messages.events import MemoryFormed, MemoryImported
from schemas.messages.inbox import INBOX_ITEMS, CandidatesExtracted, Tick
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from simulation.simulated_log import SimulatedLog
    from simulation.simulated_worker import SimulatedWorker
    from simulation.workload import Workload

    from projections.shard.shard import Shard
    from schemas.identity import Owner
    from schemas.log import Record
    from schemas.messages.observations import SessionEnded, TurnRecorded


def check_log(log: SimulatedLog, workload: Workload) -> None:
    """Check that everything was decided, once, in order, and nothing else."""
    chains = counted(log.records)
    for owner, chain in chains.items():
        assert [d.version for d in chain] == list(range(1, len(chain) + 1))
        offsets = [d.item_offset for d in chain]
        assert offsets == sorted(set(offsets)), f"{owner}: decided out of order: {offsets}"
        formed = Counter(m for d in chain for m in _formed(d))
        assert not [m for m, times in formed.items() if times > 1], f"{owner}: formed twice: {formed}"
    for owner, pieces in workload.pieces.items():
        covered = Counter(piece for d in chains.get(owner, ()) for piece in d.covered)
        assert covered == Counter(pieces), f"{owner}: not covered exactly once: {_difference(covered, pieces)}"
    assert {o for o, chain in chains.items() for d in chain if d.covered} <= set(workload.pieces)
    check_windows(log)
    for owner, item_id in _asked(log):
        assert any(d.item_id == item_id for d in chains.get(owner, ())), f"{owner}: {item_id} was never decided"
    if workload.comparable:
        for owner, expected in workload.memories.items():
            formed = Counter(m for d in chains.get(owner, ()) for m in _formed(d))
            assert formed == Counter(expected), f"{owner}: formed {_difference(formed, expected)}"
    check_wakes(chains, workload.reminders)
    letters = [
        codec.decode(r.value) for (topic, _), rs in log.records.items() if topic == DEAD_LETTERS.name for r in rs
    ]
    unreadable = {(letter.topic, letter.partition, letter.offset) for letter in letters if letter.reason == "decode"}
    assert all(letter.reason == "decode" for letter in letters), [letter.detail for letter in letters]
    assert bool(unreadable) == bool(workload.garbage), "what cannot be read is put aside, and nothing else"


def check_windows(log: SimulatedLog) -> None:
    """Check that what is extracted together stands in the order of the log, whoever cut the window."""
    first: dict[tuple[int, str], int] = {}
    for (topic, partition), records in log.records.items():
        if topic == CONVERSATIONS.name:
            for record in records:
                if record.value.startswith(codec.MARKER):
                    message: TurnRecorded | SessionEnded = codec.decode(record.value)
                    first.setdefault((partition, message.envelope.event_id), record.position.offset)
    for (topic, partition), records in log.records.items():
        items = (codec.decode(record.value) for record in records if topic == INBOX.name)
        for item in items:
            if isinstance(item, CandidatesExtracted) and item.source_type == "chat":
                places = [first[partition, event_of_piece(c.piece_id)] for c in item.covered]
                assert places == sorted(places), f"a window out of order: {places}"


def check_folds(log: SimulatedLog, workers: dict[int, SimulatedWorker], folder: Path) -> list[UserState]:
    """Check that live fold = rebuilt fold = fold with repeated and void decisions; return the users' states."""
    partitions = max(workers) + 1
    rebuilt = hold_all(Shards(folder / "rebuilt", log, partitions))
    doubled = hold_all(Shards(folder / "doubled", log, partitions))
    chains = counted(log.records)
    try:
        for shard in rebuilt.all():
            if records := log.records[shard.ledger_topic, shard.partition]:
                shard.fold(shard.ledger_topic, records)
        for shard in doubled.all():
            _fold_with_noise(shard.ledger_topic, log.records[shard.ledger_topic, shard.partition], chains, shard)
        for owner, chain in chains.items():
            expected = rebuilt.state(owner)
            assert expected.version == len(chain), f"{owner}: rebuilt counts {expected.version} of {len(chain)}"
            assert doubled.state(owner) == expected, f"{owner}: repeated and void decisions changed the fold"
            if owner.is_global:
                continue
            holder = workers[rebuilt.partition(owner)].shards
            _check_equal(owner, holder.state(owner), expected)
            reopened = holder.of(owner).ledger.states.read(owner)
            _check_equal(owner, reopened, expected)
        return [rebuilt.state(owner) for owner in rebuilt.owners()]
    finally:
        rebuilt.close()
        doubled.close()


async def check_index(workers: dict[int, SimulatedWorker]) -> None:
    """Check that a worker's index holds exactly the active memories of its partitions, as they are now."""
    for partition, worker in workers.items():
        for owner in worker.shards.at(partition).ledger.owners():
            active = [m for m in worker.shards.state(owner).memories.values() if m.status == ACTIVE]
            query = IndexQuery(
                tenant=owner.tenant,
                user_id=owner.user_id,
                tokens=(),
                vector=vector("anything"),
                embedding_model="hash",
                limit=10_000,
            )
            legs = await worker.index_sync.search(owner, query)
            found = {hit.memory_id: hit.version for hit in legs.semantic}
            assert found == {m.memory_id: m.text_version for m in active}, f"{owner}: the index is not the shard"


def _fold_with_noise(topic: str, records: list[Record], chains: dict[Owner, list[Decision]], shard: Shard) -> None:
    """Fold each record twice or more, and around what counts what expects a later version and an older one."""
    reached: Counter[Owner] = Counter()
    for record in records:
        decision = codec.decode_as(record.value, Decision)
        chain, version = chains[decision.envelope.owner], reached[decision.envelope.owner]
        if version == len(chain) or decision != chain[version]:
            shard.fold(topic, [record, record])
            continue
        reached[decision.envelope.owner] += 1
        early = replace(decision, version=decision.version + 1, item_id=f"early {decision.item_id}")
        stale = replace(decision, item_id=f"stale {decision.item_id}", item_offset=decision.item_offset + 1)
        shard.fold(topic, [replace(record, value=codec.encode(early))])
        shard.fold(topic, [record, record])
        shard.fold(topic, [replace(record, value=codec.encode(stale)), record])


def _check_equal(owner: Owner, live: UserState, rebuilt: UserState) -> None:
    assert live.version == rebuilt.version, f"{owner}: live has {live.version} decisions, rebuilt {rebuilt.version}"
    plain = (replace(live, by_digest=rebuilt.by_digest, by_attribute=rebuilt.by_attribute), rebuilt)
    assert plain[0] == plain[1], f"{owner}: the live fold is not the rebuilt one: {_first_difference(*plain)}"
    for way in ("by_digest", "by_attribute"):
        ways = [{key: set(ids) for key, ids in getattr(state, way).items()} for state in (live, rebuilt)]
        assert ways[0] == ways[1], f"{owner}: {way} differs"


def compare(faulty: list[UserState], calm: list[UserState]) -> None:
    """Check that two runs remember the same: digests leave out log times, and how often was decided."""
    if digests(faulty)["total"] == digests(calm)["total"]:
        return
    others = {state.owner: state for state in calm}
    found = [
        f"{state.owner.user_id}: {_first_difference(_without_log(state), _without_log(others[state.owner]))}"
        for state in faulty
        if state.owner in others
    ]
    raise AssertionError(f"with faults and without: {found}")


def _without_log(state: UserState) -> UserState:
    memories = {i: replace(m, forgotten_at=None) for i, m in state.memories.items()}
    return UserState(owner=state.owner, memories=Map(memories))


def _first_difference(live: UserState, rebuilt: UserState) -> str:
    for name in ("version", "last_item", "last_offset", "last_part", "last_part_closed", "covered", "items"):
        if getattr(live, name) != getattr(rebuilt, name):
            return f"{name} {getattr(live, name)}, not {getattr(rebuilt, name)}"
    if set(live.memories) != set(rebuilt.memories):
        return f"memories {sorted(set(live.memories) ^ set(rebuilt.memories))}"
    pairs = ((live.memories[i], rebuilt.memories[i]) for i in sorted(live.memories))
    return "; ".join(
        f"{one.memory_id}.{field.name} {getattr(one, field.name)!r}, not {getattr(other, field.name)!r}"
        for one, other in pairs
        for field in fields(one)
        if getattr(one, field.name) != getattr(other, field.name)
    )


def _formed(decision: Decision) -> list[str]:
    events = [codec.decode(event) for event in decision.events]
    return [event.memory_id for event in events if isinstance(event, (MemoryFormed, MemoryImported))]


def _asked(log: SimulatedLog) -> Iterable[tuple[Owner, str]]:
    for (topic, _), records in log.records.items():
        if topic == INBOX.name:
            for record in records:
                item = codec.decode_as(record.value, *INBOX_ITEMS)
                owner = item.envelope.owner
                if not isinstance(item, Tick) or owner.is_partition:
                    yield owner, item.envelope.event_id


def _difference(found: Counter[str], expected: Iterable[str]) -> dict[str, int]:
    wanted = Counter(expected)
    return {key: found[key] - wanted[key] for key in sorted(found.keys() | wanted.keys()) if found[key] != wanted[key]}
