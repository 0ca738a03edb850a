"""A rebuild, compared with reading and decoding the same log into typed events.

    python bench/rebuild.py [MEMORIES]

(a) A worker has remembered MEMORIES turns (20,000 by default) of at most 2,000 users word for word, with ready vectors.
All of `mnemolog rebuild` over its data folder, with inputs, inbox, ledger and both digests, is compared with reading
and decoding the same records on one core, before it and after it. The ratio by processor time is the best that two
otherwise idle cores could reach; it is meaningful on a shared machine too.

(b) One ledger of 20,000 decisions of 200 users, each with a vector of 512 dimensions, is folded as the worker does, by
`Shard.catch_up_in_thread` into an empty file. It is compared with `Log.read`, `codec.decode` and `events_of` over the
same records.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.chain import ledger, record_of
from bench.pipeline import BATCH, ReadyVectors, texts, turns
from bench.rounds import Rounds, processor_seconds
from mnemolog.server import tune_process
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from projections.partitions.catch_up import CatchUp
from projections.shard.shard import BULK_RECORDS, Shard
from projections.state.evolve import events_of
from schemas import codec
from schemas.messages.decision import Decision
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, LEDGER, TOPICS
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from schemas.log import Log

DECISIONS = 20_000
ROUNDS = 3
FOLDER_MEMORIES = 20_000
FOLDER_ROUNDS = 2
FOLDER_USERS = 2_000
CORES = 2
AT_ONCE = 5_000
"""How many turns are published before they are remembered."""
VERBATIM = {"MNEMOLOG_EXTRACTOR": "verbatim"}


async def decoding(log: SqliteLog) -> float:
    """Return how many decisions per second are read and decoded, with their events."""
    began, start = time.perf_counter(), 0
    while records := await log.read(LEDGER.name, 0, start, BULK_RECORDS):
        for record in records:
            events_of(codec.decode(record.value))
        start = records[-1].position.offset + 1
    assert start == DECISIONS
    return DECISIONS / (time.perf_counter() - began)


async def rebuilding(log: SqliteLog, path: Path) -> float:
    """Return how many decisions per second are folded into a new shard."""
    shard = Shard(path, log, 0, lambda _owner, _ids: None)
    began = time.perf_counter()
    await CatchUp(shard, lambda _: None).run_in_thread()
    seconds = time.perf_counter() - began
    assert shard.ledger.count() == DECISIONS
    shard.close()
    return DECISIONS / seconds


async def fill(folder: Path, memories: int) -> None:
    """Let a worker remember `memories` turns in a data folder."""
    said = texts(memories)
    worker = Worker(from_environment(VERBATIM, data_dir=folder), embedder=ReadyVectors(said))
    await worker.start()
    try:
        messages = turns(said, min(FOLDER_USERS, memories))
        for start in range(0, memories, AT_ONCE):
            for first in range(start, min(memories, start + AT_ONCE), BATCH):
                await worker.publisher.publish(messages[first : first + BATCH])
            await worker.drain.run_local(600.0)
    finally:
        await worker.stop()


async def decoding_all(log: Log) -> float:
    """Return the seconds in which every record of the log is read and decoded, with the events of its decisions."""
    began = time.perf_counter()
    for topic in TOPICS:
        for partition in range(await log.partitions(topic.name)):
            start = 0
            while records := await log.read(topic.name, partition, start, BULK_RECORDS):
                for record in records:
                    message = codec.decode(record.value)
                    if isinstance(message, Decision):
                        events_of(message)
                start = records[-1].position.offset + 1
    return time.perf_counter() - began


async def rebuilding_all(memories: int) -> dict[str, object]:
    """Measure the rebuild of a whole data folder."""
    rounds = Rounds("rebuild of a data folder, against reading and decoding all of it", 0.5)
    by_processor = Rounds("the same by processor time, at most", 0.5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await fill(folder, memories)
        worker = Worker(from_environment(VERBATIM, data_dir=folder), embedder=ReadyVectors(["nothing"]))
        await worker.start()  # it has nothing of the published turns in memory
        try:
            for _ in range(FOLDER_ROUNDS):
                began_at = processor_seconds()
                before = await decoding_all(worker.log)
                decoded_in = processor_seconds() - began_at
                began, began_at = time.perf_counter(), processor_seconds()
                rebuilt = await worker.rebuild.run("all")
                seconds, rebuilt_in = time.perf_counter() - began, processor_seconds() - began_at
                assert rebuilt["equal"], rebuilt
                assert rebuilt["decisions"] >= memories, rebuilt
                rounds.add(memories / seconds, 2 * memories / (before + await decoding_all(worker.log)))
                by_processor.add(CORES * memories / rebuilt_in, memories / decoded_in)
        finally:
            await worker.stop()
    return rounds.result() | {"memories": memories, "by_processor_time": by_processor.result()}


async def main(memories: int = FOLDER_MEMORIES) -> dict[str, object]:
    """Measure (b), then (a)."""
    tune_process()
    return {"ledger": await folding_here(), "folder": await rebuilding_all(memories)}


async def folding_here() -> dict[str, object]:
    """Measure one ledger in alternating rounds."""
    rounds = Rounds("rebuild, against reading and decoding", 0.15)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = SqliteLog.open(folder / "log")
        for topic in (*INPUTS, INBOX, LEDGER, DEAD_LETTERS):
            await log.create_topic(topic.name, 1)
        records = [record_of(*one) for one in ledger(DECISIONS)]
        for start in range(0, DECISIONS, 500):
            await log.append(records[start : start + 500])
        for number in range(ROUNDS):
            before = await decoding(log)
            measured = await rebuilding(log, folder / f"{number}.sqlite")
            rounds.add(measured, (before + await decoding(log)) / 2)
        log.close()
    return rounds.result()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memories", type=int, nargs="?", default=FOLDER_MEMORIES, help="in the data folder")
    asyncio.run(main(parser.parse_args().memories))
