"""What must hold when a run is over, told from the log alone and compared with what the workers hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from random import Random
from typing import TYPE_CHECKING

from immutables import Map
from simulation.erasures import commands_repeated, pieces_of, reminders_due
from simulation.memory_erasures import erased_events, pieces_gone
from simulation.reminders import check_wakes
from simulation.scripted_extractor import vector
from support.counting import counted
from support.workbench import hold_all

from projections.index.protocol import IndexQuery
from projections.partitions.shards import Shards
from projections.state.digest import digests
from projections.state.evolve import ERASE
from projections.state.memory import ACTIVE, UserState
from schemas import codec
from schemas.identity import event_of_piece
from schemas.log import LogUnavailable
from schemas.messages.chain import hash_of
from schemas.messages.decision import Decision
from schemas.messages.events import MemoryFormed, MemoryImported
from schemas.messages.inbox import INBOX_ITEMS, CandidatesExtracted, Tick
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX, LEDGER
from streams.delivery.retry import retry

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from pathlib import Path

    from simulation.erasures import AfterErasure, Records
    from simulation.simulated_log import SimulatedLog
    from simulation.simulated_worker import SimulatedWorker
    from simulation.workload import Workload

    from projections.shard.shard import Shard
    from schemas.identity import Owner
    from schemas.log import Log, Record
    from schemas.messages.erasure import MemoryErased
    from schemas.messages.observations import SessionEnded, TurnRecorded
    from streams.agents.immediate_decisions import Decided


def check_log(records: Records, workload: Workload, after: AfterErasure | None = None) -> None:
    """Check that everything was decided, once, in order, and nothing else; of who was erased, all that came after."""
    chains, gone = counted(records), erased_events(records)
    expected_pieces = _expected_pieces(workload, chains, gone, after)
    for owner, chain in chains.items():
        first = 1 if after is None or owner != after.owner else chain[0].version
        assert [d.version for d in chain] == list(range(first, first + len(chain)))
        offsets = [d.item_offset for d in chain]
        assert offsets == sorted(set(offsets)), f"{owner}: decided out of order: {offsets}"
        formed = Counter(m for d in chain for m in _formed(d))
        assert not [m for m, times in formed.items() if times > 1], f"{owner}: formed twice: {formed}"
    for owner, pieces in expected_pieces.items():
        covered = Counter(piece for d in chains.get(owner, ()) for piece in d.covered)
        assert covered == Counter(pieces), f"{owner}: not covered exactly once: {_difference(covered, pieces)}"
    assert {o for o, chain in chains.items() for d in chain if d.covered} <= {*expected_pieces, workload.without}
    check_windows(records, after)
    known = commands_repeated(workload) | {decision.item_id for chain in chains.values() for decision in chain}
    for owner, item_id in _asked(records, after):
        assert item_id in known, f"{owner}: {item_id} was never decided"
    if workload.comparable:
        for owner, expected in workload.memories.items():
            if owner == workload.without or (after is not None and owner == after.owner):
                continue
            if owner in gone and owner in workload.apart:
                continue
            formed = Counter(m for d in chains.get(owner, ()) for m in _formed(d))
            assert formed == Counter(expected), f"{owner}: formed {_difference(formed, expected)}"
    check_wakes(chains, reminders_due(workload, after))
    letters = [codec.decode(r.value) for (topic, _), rs in records.items() if topic == DEAD_LETTERS.name for r in rs]
    unreadable = {(letter.topic, letter.partition, letter.offset) for letter in letters if letter.reason == "decode"}
    assert all(letter.reason == "decode" for letter in letters), [letter.detail for letter in letters]
    if workload.without is None and after is None:
        assert bool(unreadable) == bool(workload.garbage), "what cannot be read is put aside, and nothing else"


def check_told(told: Iterable[tuple[Owner, Decided]], records: Records, after: AfterErasure | None) -> None:
    """Check that whoever was told of a decision on a command was told of the one that counts."""
    chains, gone = counted(records), erased_events(records)
    for owner, answer in told:
        said, place = answer.decision, answer.appended.position
        if after is not None and owner == after.owner and place.offset < after.offset:
            continue
        assert (said.item_partition, said.item_offset) == (place.partition, place.offset), f"{said} is not of {place}"
        found = next((one for one in chains.get(owner, ()) if one.item_id == said.item_id), None)
        assert found is not None, f"{owner}: {said.item_id} was decided at once, and is not"
        assert (found.version, found.item_offset) == (said.version, said.item_offset), f"{owner}: not as told: {said}"
        assert owner in gone or found == said, f"{owner}: not as told: {said}, but {found}"


def _expected_pieces(
    workload: Workload,
    chains: Mapping[Owner, Sequence[Decision]],
    gone: Mapping[Owner, Sequence[MemoryErased]],
    after: AfterErasure | None,
) -> dict[Owner, set[str]]:
    """Return the pieces of each user that must be covered, once."""
    expected = dict(workload.pieces)
    if workload.without is not None:
        expected.pop(workload.without, None)
    if after is not None:
        new, repeats = after.observations()
        expected[after.owner] = pieces_of(new) | (pieces_of(repeats) & _covered(chains[after.owner]))
    for owner, events in gone.items():  # with an observation goes what was not yet extracted of it
        pieces = expected.get(owner, set())
        expected[owner] = pieces - (pieces_gone(events, pieces) - _covered(chains[owner]))
    return expected


def _covered(chain: Iterable[Decision]) -> set[str]:
    return {piece for decision in chain for piece in decision.covered}


def check_windows(opened: Records, after: AfterErasure | None = None) -> None:
    """Check that what is extracted together stands in the order of the log, whoever cut the window."""
    first: dict[tuple[int, str], int] = {}
    gone = {one for events in erased_events(opened).values() for event in events for one in event.event_ids}
    for (topic, partition), records in opened.items():
        if topic == CONVERSATIONS.name:
            for record in records:
                if record.value.startswith(codec.MARKER):
                    message: TurnRecorded | SessionEnded = codec.decode(record.value)
                    if after is not None and after.is_before(record.position, message.envelope.owner):
                        continue
                    first.setdefault((partition, message.envelope.event_id), record.position.offset)
    for (topic, partition), records in opened.items():
        items = (codec.decode(record.value) for record in records if topic == INBOX.name)
        for item in items:
            if isinstance(item, CandidatesExtracted) and item.source_type == "chat":
                events = [(partition, event_of_piece(c.piece_id)) for c in item.covered]
                if after is not None and item.envelope.owner == after.owner and not set(events) <= set(first):
                    continue  # of erased words, by a worker that did not know yet
                places = [first[event] for event in events if event[1] not in gone]
                assert places == sorted(places), f"a window out of order: {places}"


def check_folds(
    log: SimulatedLog, opened: Records, workers: dict[int, SimulatedWorker], folder: Path
) -> list[UserState]:
    """Check that live fold = rebuilt fold = fold with repeated and void decisions; return the users' states."""
    partitions = max(workers) + 1
    rebuilt = hold_all(Shards(folder / "rebuilt", log, partitions))
    doubled = hold_all(Shards(folder / "doubled", log, partitions))
    chains = counted(opened)
    try:
        for shard in rebuilt.all():
            if records := with_erased(opened, log, (shard.ledger_topic, shard.partition)):
                shard.fold(shard.ledger_topic, records)
        for shard in doubled.all():
            records = with_erased(opened, log, (shard.ledger_topic, shard.partition))
            _fold_with_noise(shard.ledger_topic, records, chains, shard)
        told = [
            one
            for shards in (rebuilt, doubled, *(w.shards for w in workers.values()))
            for one in shards.users.damages()
        ]
        assert not told, f"nobody has edited the log, and a fold says: {told[0]}"
        for owner, chain in chains.items():
            expected = rebuilt.state(owner)
            last = chain[-1].version
            assert expected.version == last, f"{owner}: rebuilt is at version {expected.version}, not {last}"
            assert doubled.state(owner) == expected, f"{owner}: repeated and void decisions changed the fold"
            if owner.is_global:
                continue
            holder = workers[rebuilt.partition(owner)].shards
            _check_equal(owner, holder.state(owner), expected)
            reopened = holder.of(owner).ledger.states.read(owner)
            _check_equal(owner, reopened, expected)
        return [rebuilt.state(owner) for owner in rebuilt.users.owners()]
    finally:
        rebuilt.close()
        doubled.close()


def with_erased(opened: Records, log: SimulatedLog, place: tuple[str, int]) -> list[Record]:
    """Return the records of a partition as a worker reads them: those whose key was destroyed hold their places."""
    readable = {record.position.offset: record for record in opened[place]}
    return [
        readable.get(offset) or replace(record, key=None, value=b"", is_erased=True, stored_hash=hash_of(record.value))
        for offset, record in enumerate(log.records[place])
    ]


def check_edits(log: SimulatedLog, opened: Records, folder: Path, seed: int) -> Counter[str]:
    """Check that a fold tells of each edit of the ledger, and of whom; return how often each was tried."""
    tried: Counter[str] = Counter()
    chance = Random(seed)  # noqa: S311 - repeatable on purpose
    partitions = sum(topic == LEDGER.name for topic, _ in log.records)
    for partition in range(partitions):
        records = with_erased(opened, log, (LEDGER.name, partition))
        decided = {n: codec.decode_as(r.value, Decision) for n, r in enumerate(records) if not r.is_erased}
        newest = {decision.envelope.owner: decision.version for decision in decided.values()}
        erased = {d.envelope.owner for d in decided.values() if d.item_type == ERASE}
        inner = [
            n
            for n, d in decided.items()
            if d.version < newest[d.envelope.owner]
            and d.replaced is None
            and d.envelope.owner not in erased
            and _is_counted(n, decided)
        ]
        if not inner:
            continue
        number = chance.choice(inner)
        victim, owner = records[number], decided[number].envelope.owner
        edits = {
            "deleted": [*records[:number], *records[number + 1 :]],
            "emptied": [*records[:number], replace(victim, value=b"?"), *records[number + 1 :]],
            "changed": [
                *records[:number],
                replace(victim, value=codec.encode(replace(decided[number], item_type="Another"))),
                *records[number + 1 :],
            ],
        }
        for name, edited in edits.items():
            shards = hold_all(Shards(folder / f"{name} {partition}", log, partitions))
            try:
                shards.at(partition).fold(LEDGER.name, edited)
                told = {one.user for one in shards.users.damages()}
                assert f"{owner.tenant}/{owner.user_id}" in told, f"{owner}: {name}, and a fold tells of {told}"
            finally:
                shards.close()
            tried[name] += 1
    return tried


def _is_counted(number: int, decided: Mapping[int, Decision]) -> bool:
    """Return whether a decision is the only one of its user with that version, so that the next is linked to it."""
    one = decided[number]
    same = [d for d in decided.values() if (d.envelope.owner, d.version) == (one.envelope.owner, one.version)]
    return len(same) == 1


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


def _fold_with_noise(topic: str, records: Sequence[Record], chains: dict[Owner, list[Decision]], shard: Shard) -> None:
    """Fold each record twice or more, and before what counts a late one of the same version."""
    reached: Counter[Owner] = Counter()
    for record in records:
        if record.is_erased:
            shard.fold(topic, [record])
            continue
        decision = codec.decode_as(record.value, Decision)
        chain, version = chains.get(decision.envelope.owner, []), reached[decision.envelope.owner]
        if version == len(chain) or decision != chain[version]:
            shard.fold(topic, [record, record])
            continue
        reached[decision.envelope.owner] += 1
        stale = replace(decision, item_id=f"stale {decision.item_id}", item_offset=decision.item_offset + 1)
        shard.fold(topic, [record, record])
        shard.fold(topic, [replace(record, value=codec.encode(stale)), record])


def _check_equal(owner: Owner, live: UserState, rebuilt: UserState) -> None:
    assert live.version == rebuilt.version, f"{owner}: live has {live.version} decisions, rebuilt {rebuilt.version}"
    plain = (replace(live, by_digest=rebuilt.by_digest, by_attribute=rebuilt.by_attribute), rebuilt)
    assert plain[0] == plain[1], f"{owner}: the live fold is not the rebuilt one: {_first_difference(*plain)}"
    for way in ("by_digest", "by_attribute"):
        ways = [{key: set(ids) for key, ids in getattr(state, way).items()} for state in (live, rebuilt)]
        assert ways[0] == ways[1], f"{owner}: {way} differs"


async def check_rows(log: Log, workers: dict[int, SimulatedWorker], folder: Path, after: AfterErasure) -> None:
    """Check that shards hold an erased user's observations from the cut on, live and folded anew, and none before."""
    anew = hold_all(Shards(folder / "anew", log, max(workers) + 1))
    new, repeats = after.observations()
    try:
        for shards in (workers[anew.partition(after.owner)].shards, anew):
            shard = shards.of(after.owner)
            await retry(shard.catch_up, LogUnavailable)
            known = shard.observations.seen(after.owner, [*new, *repeats])
            assert new.keys() <= known.keys(), f"{after.owner}: not held: {new.keys() - known.keys()}"
            others = shard.observations.count_of(after.owner) - len(known)
            assert not others, f"{after.owner}: {others} observations of before the erasure are held"
        live, rebuilt = workers[anew.partition(after.owner)].shards.state(after.owner), anew.state(after.owner)
        _check_equal(after.owner, live, rebuilt)
    finally:
        anew.close()


def compare(faulty: list[UserState], calm: list[UserState], apart: Container[Owner] = ()) -> None:
    """Check that two runs remember the same: digests leave out log times, and how often was decided.

    `apart` are left out: something of theirs was erased while more was on its way.
    """
    faulty, calm = ([state for state in states if state.owner not in apart] for states in (faulty, calm))
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
    for name in ("version", "last_item", "last_offset", "last_part", "last_part_closed", "covered", "items", "cut"):
        if getattr(live, name) != getattr(rebuilt, name):
            return f"{name} {getattr(live, name)}, not {getattr(rebuilt, name)}"
    if live.wakes != rebuilt.wakes:
        return f"wakes {live.wakes}, not {rebuilt.wakes}"
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


def _asked(opened: Records, after: AfterErasure | None) -> Iterable[tuple[Owner, str]]:
    for (topic, _), records in opened.items():
        if topic == INBOX.name:
            for record in records:
                item = codec.decode_as(record.value, *INBOX_ITEMS)
                owner = item.envelope.owner
                if after is not None and owner == after.owner and not after.counts(record.position):
                    continue
                if not isinstance(item, Tick) or owner.is_partition:
                    yield owner, item.envelope.event_id


def _difference(found: Counter[str], expected: Iterable[str]) -> dict[str, int]:
    wanted = Counter(expected)
    return {key: found[key] - wanted[key] for key in sorted(found.keys() | wanted.keys()) if found[key] != wanted[key]}
