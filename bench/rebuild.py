"""A rebuild against reading and decoding the same log into typed events.

    python bench/rebuild.py

A ledger of 20,000 decisions of 200 users, each with a vector of 512 dimensions, is written once. Measured is
`Shard.catch_up_in_thread` into an empty file, as a rebuild folds it; compared are `Log.read`, `codec.decode` and
`events_of` over the same records.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from bench.rounds import Rounds
from projections.shard.shard import BULK_RECORDS, Shard
from projections.state.evolve import events_of, evolve
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import RememberFact
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, LEDGER
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters
from streams.transports.sqlite.log import SqliteLog

DECISIONS = 20_000
USERS = 200
ROUNDS = 3
START = datetime(2026, 1, 1, tzinfo=UTC)


def ledger() -> list[NewRecord]:
    """Return decisions as remember makes them, one for each fact."""
    chance, parameters = np.random.default_rng(1), Parameters()
    states: dict[Owner, UserState] = {}
    records = []
    for number in range(DECISIONS):
        owner = Owner("default", f"u{number % USERS}")
        at = START + timedelta(minutes=number)
        item = RememberFact(
            envelope=Envelope(event_id=f"c{number}", tenant="default", user_id=owner.user_id, occurred_at=at),
            content=Sealed.clear(f"fact {number} about {hashlib.sha256(str(number).encode()).hexdigest()[:8]}"),
            vector=Sealed.clear(chance.standard_normal(512).astype("<f4").tobytes()),
            embedding_model="bench",
        )
        state = states.get(owner) or UserState(owner=owner)
        decision = decide(state, item, ItemPosition(0, number, at), {}, parameters)
        states[owner] = evolve(state, decision, events_of(decision))
        records.append(NewRecord(topic=LEDGER.name, partition=0, key=owner.key, value=codec.encode(decision)))
    return records


async def decoding(log: SqliteLog) -> float:
    """Return how many decisions a second are read and decoded, with their events."""
    began, start = time.perf_counter(), 0
    while records := await log.read(LEDGER.name, 0, start, BULK_RECORDS):
        for record in records:
            events_of(codec.decode(record.value))
        start = records[-1].position.offset + 1
    assert start == DECISIONS
    return DECISIONS / (time.perf_counter() - began)


async def rebuilding(log: SqliteLog, path: Path) -> float:
    """Return how many decisions a second are folded into a new shard."""
    shard = Shard(path, log, 0, lambda _owner, _ids: None)
    began = time.perf_counter()
    await shard.catch_up_in_thread(lambda _: None)
    seconds = time.perf_counter() - began
    assert shard.ledger.count() == DECISIONS
    shard.close()
    return DECISIONS / seconds


async def main() -> dict[str, object]:
    """Measure in alternating rounds."""
    rounds = Rounds("rebuild, against reading and decoding", 0.15)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = SqliteLog.open(folder / "log")
        for topic in (*INPUTS, INBOX, LEDGER, DEAD_LETTERS):
            await log.create_topic(topic.name, 1)
        records = ledger()
        for start in range(0, DECISIONS, 500):
            await log.append(records[start : start + 500])
        for number in range(ROUNDS):
            before = await decoding(log)
            measured = await rebuilding(log, folder / f"{number}.sqlite")
            rounds.add(measured, (before + await decoding(log)) / 2)
        log.close()
    return rounds.result()


if __name__ == "__main__":
    asyncio.run(main())
