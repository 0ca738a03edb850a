"""A cold worker takes over a partition: seconds to the first answer, compared with reading and decoding the same log.

    python bench/takeover.py [--copy PORT] [--partitions NUMBER] [DECISIONS...]

A ledger of DECISIONS decisions, 100 for each user and each with a vector of 512 dimensions, is written once to the
embedded log. The program measures `Shards.hold` of all partitions at once (four by default, one with `--copy`), which
is the time between an assignment and the answers for its last user. It is compared with `Log.read`, `codec.decode` and
`events_of` over the same records on one core, before and after. The ratio by processor time is the best that two
otherwise idle cores could reach; it is meaningful on a shared machine too. Resident memory is the worker's, and disk
that of the shards afterwards, with one memory for each decision. With `--copy`, a second worker takes the partition
over from the first, which is in a process of its own: its file comes over a socket of this machine, and `Shards.hold`
is measured again.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import uvicorn

from bench.rounds import processor_seconds
from mnemolog.cluster.peers import Peers
from mnemolog.cluster.shard_source import PeerShardSource
from mnemolog.http.app import make_http
from mnemolog.log.deadline import RequestDeadlines
from mnemolog.log.health import LogWatch
from mnemolog.settings import from_environment
from mnemolog.worker.metrics import Metrics
from projections.embedding.stored_vector import vector_bytes
from projections.partitions.receiver import ShardReceiver
from projections.partitions.shards import Shards
from projections.shard.shard import BULK_RECORDS
from projections.state.evolve import events_of
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import RememberFact
from schemas.topics import LEDGER, TOPICS, partition_of
from streams.agents.remember import state_after
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.worker.worker import Worker

SIZES = (100_000,)
PARTITIONS = 4
MEMORIES_OF_A_USER = 100
TARGET = 0.6
CORES = 2
START = datetime(2026, 1, 1, tzinfo=UTC)


def ledger(decisions: int, partitions: int = 1) -> Iterator[NewRecord]:
    """Yield decisions as remember makes them, one for each fact, user after user."""
    chance, parameters = np.random.default_rng(1), Parameters()
    state = UserState(owner=Owner("default", "nobody"))
    for number in range(decisions):
        owner = Owner("default", f"u{number // MEMORIES_OF_A_USER}")
        if state.owner != owner:
            state = UserState(owner=owner)
        at = START + timedelta(seconds=number)
        item = RememberFact(
            envelope=Envelope(event_id=f"c{number}", tenant="default", user_id=owner.user_id, occurred_at=at),
            content=Sealed.clear(f"shelf {number} holds the box {number}"),
            vector=Sealed.clear(vector_bytes(chance.standard_normal(512))),
            embedding_model="bench",
        )
        decision = decide(state, item, ItemPosition(0, number, at), {}, parameters)
        state = state_after(state, decision, value := codec.encode(decision), {})
        partition = partition_of(owner.key, partitions)
        yield NewRecord(topic=LEDGER.name, partition=partition, key=owner.key, value=value)


async def decoding(log: SqliteLog) -> float:
    """Return the seconds in which the ledger is read and decoded, with its events."""
    began = time.perf_counter()
    for partition in range(await log.partitions(LEDGER.name)):
        start = 0
        while records := await log.read(LEDGER.name, partition, start, BULK_RECORDS):
            for record in records:
                events_of(codec.decode(record.value))
            start = records[-1].position.offset + 1
    return time.perf_counter() - began


class Lender:
    """The part of a worker that its routes for other workers need; it has folded partition 0, and does not hold it."""

    def __init__(self, folder: Path) -> None:
        log = SqliteLog.open(folder / "lenders-log")  # the other one is locked
        self.shards = Shards(folder / "shards", log, 1)
        self.shards.takeover.assign([])
        self.settings = from_environment({}, data_dir=folder)
        self.metrics = Metrics()
        self.deadlines = RequestDeadlines()
        self.log_watch = LogWatch(self.deadlines)
        self.started = True
        self.failure = asyncio.get_running_loop().create_future()
        self.stopping = asyncio.Event()
        self.peers = self

    def knows(self, _url: str) -> bool:
        """Trust every caller."""
        return True

    def is_in_session(self) -> bool:
        """Return True: no other worker holds its partitions."""
        return True


def lend(folder: Path, port: int) -> None:
    """Answer other workers until ended, in a process of its own, like a worker."""

    async def answer() -> None:
        app = make_http(cast("Worker", Lender(folder)))
        config = uvicorn.Config(app, port=port, lifespan="off", log_config=None, access_log=False)
        await uvicorn.Server(config).serve()

    asyncio.run(answer())


async def copying(folder: Path, log: SqliteLog, port: int) -> float:
    """Return the seconds in which a worker without a shard takes the partition over by a copy."""
    url = f"http://127.0.0.1:{port}"
    process = get_context("spawn").Process(target=lend, args=(folder, port), daemon=True)
    process.start()
    shards = Shards(folder / "copied", log, 1)
    peers = Peers(shards, dict, lambda: [url], "http://taker.invalid")
    shards.takeover.receiver = ShardReceiver(log, PeerShardSource(peers, 60), worth=0)
    try:
        assert await PeerShardSource(peers, 60).offers(0)  # it is started
        began = time.perf_counter()
        await shards.takeover.hold(0)
        assert len(shards.state(Owner("default", "u0")).memories) == MEMORIES_OF_A_USER
        return time.perf_counter() - began
    finally:
        await peers.aclose()
        shards.close()
        process.terminate()


async def measure(
    decisions: int, folder: Path, copy_at: int | None = None, partitions: int = PARTITIONS
) -> dict[str, object]:
    """Write a ledger, and take its partitions over; then once more by a copy, if there is a port for the lender."""
    log = SqliteLog.open(folder / "log")
    for topic in TOPICS:
        await log.create_topic(topic.name, 1 if topic.single_partition else partitions)
    records: list[NewRecord] = []
    for record in ledger(decisions, partitions):
        records.append(record)
        if len(records) == BULK_RECORDS:
            await log.append(records)
            records.clear()
    await log.append(records) if records else None
    began_at = processor_seconds()
    before = await decoding(log)
    decoded_in = processor_seconds() - began_at
    shards = Shards(folder / "shards", log, partitions)
    began, began_at = time.perf_counter(), processor_seconds()
    await asyncio.gather(*map(shards.takeover.hold, range(partitions)))
    assert len(shards.state(Owner("default", "u0")).memories) == MEMORIES_OF_A_USER
    seconds, folded_in = time.perf_counter() - began, processor_seconds() - began_at
    at_best = CORES * decoded_in / folded_in
    compared = (before + await decoding(log)) / 2
    began = time.perf_counter()
    for partition in range(partitions):
        shards.assignment.release(partition)
    await asyncio.gather(*map(shards.takeover.hold, range(partitions)))
    again = time.perf_counter() - began
    shards.close()
    copied = None if copy_at is None else await copying(folder, log, copy_at)
    log.close()
    disk = sum(file.stat().st_size for file in (folder / "shards").iterdir())
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{decisions:,} decisions: first answer after {seconds:.1f} s, {decisions / seconds:,.0f}/s; "
        f"reading and decoding {decisions / compared:,.0f}/s: ratio {compared / seconds:.2f} (target {TARGET}); "
        f"by processor time {1e6 * folded_in / decisions:.0f} against {1e6 * decoded_in / decisions:.0f} microseconds: "
        f"at most {at_best:.2f}; "
        f"again after {again:.2f} s; {disk / decisions:,.0f} bytes of shard a memory; "
        f"{resident / 1e6:,.0f} MB resident at most",
        flush=True,
    )
    if copied is not None:
        print(
            f"{decisions:,} decisions: by a copy of {disk / 1e6:,.0f} MB after {copied:.1f} s, "
            f"{decisions / copied:,.0f}/s: {seconds / copied:.1f} times as fast as folding",
            flush=True,
        )
    return {
        "copy_seconds": copied and round(copied, 1),
        "seconds": round(seconds, 1),
        "again_seconds": round(again, 2),
        "ratio": round(compared / seconds, 3),
        "ratio_by_processor_time": round(at_best, 3),
        "target": TARGET,
        "shard_bytes_a_memory": round(disk / decisions),
        "resident_mb": round(resident / 1e6),
    }


async def main(
    sizes: tuple[int, ...] = SIZES, copy_at: int | None = None, partitions: int = PARTITIONS
) -> dict[str, object]:
    """Measure each size."""
    found: dict[str, object] = {}
    for decisions in sizes:
        with tempfile.TemporaryDirectory() as name:
            found[str(decisions)] = await measure(decisions, Path(name), copy_at, partitions)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("decisions", type=int, nargs="*", default=SIZES, help="how many (default: 100000)")
    parser.add_argument("--copy", type=int, metavar="PORT", help="also by a copy from a worker at this port")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help=f"default: {PARTITIONS}")
    asked = parser.parse_args()
    asyncio.run(main(tuple(asked.decisions), asked.copy, 1 if asked.copy else asked.partitions))
