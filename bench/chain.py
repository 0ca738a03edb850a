"""What links and heads cost: decisions appended and folded with them and without, and verified, in alternating rounds.

    python bench/chain.py [DECISIONS]

It makes DECISIONS decisions (10,000 by default) of 200 users as the worker does, each with one fact and its vector of
512 dimensions. `append and fold`: through the sealed embedded log, 32 at a time, into the file of a shard, encrypted
and in clear. Without the chain nothing is linked, and no head is moved when records are appended, read or folded.
Seconds are processor time of all threads of the process. `bytes a decision`: the size of the encoding, compared with
the same without its link, and the sizes of log and shard as files. `verify`: all that `mnemolog verify` does, compared
with reading and decoding the same records with their events.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import statistics
import tempfile
import time
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from bench.rounds import Rounds
from mnemolog.log.connection import create_topics, opened_log
from mnemolog.log.sealing import seal_log
from mnemolog.operations.integrity.verification import Verification
from mnemolog.server import tune_process
from mnemolog.settings import from_environment
from projections.embedding.stored_vector import vector_bytes
from projections.shard.shard import Shard
from projections.state.evolve import events_of
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.decision import Decision
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import RememberFact
from schemas.topics import LEDGER
from streams.agents.remember import state_after
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from schemas.log import Log

DECISIONS, USERS, ROUNDS, AT_ONCE, READ_AT_ONCE = 10_000, 200, 7, 32, 500
MOST_TIME, MOST_BYTES, LEAST_RATE = 1.03, 40, 0.5
START = datetime(2026, 1, 1, tzinfo=UTC)


def ledger(decisions: int) -> Iterator[tuple[Owner, Decision]]:
    """Make decisions as remember does, one for each fact, each linked to its user's last."""
    chance, parameters = np.random.default_rng(1), Parameters()
    states: dict[Owner, UserState] = {}
    for number in range(decisions):
        owner = Owner("default", f"u{number % USERS}")
        at = START + timedelta(minutes=number)
        item = RememberFact(
            envelope=Envelope(event_id=f"c{number}", tenant="default", user_id=owner.user_id, occurred_at=at),
            content=Sealed.clear(f"fact {number} about {hashlib.sha256(str(number).encode()).hexdigest()[:8]}"),
            vector=Sealed.clear(vector_bytes(chance.standard_normal(512))),
            embedding_model="bench",
        )
        state = states.get(owner) or UserState(owner=owner)
        decision = decide(state, item, ItemPosition(0, number, at), {}, parameters)
        states[owner] = state_after(state, decision, codec.encode(decision), {})
        yield owner, decision


def record_of(owner: Owner, decision: Decision) -> NewRecord:
    """Return the record of a decision."""
    return NewRecord(topic=LEDGER.name, partition=0, key=owner.key, value=codec.encode(decision))


@contextmanager
def unchained() -> Iterator[None]:
    """Move no heads inside the block, and compute no hashes for them."""
    with ExitStack() as patches:
        for name, instead in {
            "streams.transports.sqlite.rows.hash_of": lambda _: b"none",
            "streams.transports.sqlite.rows._move_heads": lambda *_: None,
            "projections.shard.shard.head_after": lambda head, _: head,
            "projections.shard.shard.first_gap": lambda *_: None,
        }.items():
            patches.enter_context(patch(name, instead))
        yield


class Side:
    """A new folder with a log, and an empty shard of its ledger."""

    def __init__(self, log: Log, folder: Path) -> None:
        self.log = log
        self.folder = folder
        self.shard = Shard(folder / "0.sqlite", log, 0, lambda _owner, _ids: None)

    async def remember(self, records: list[NewRecord]) -> float:
        """Append and fold; return the seconds of processor time."""
        began = time.process_time()
        await self.log.append(records)
        await self.shard.catch_up()
        return time.process_time() - began


@asynccontextmanager
async def opened(folder: Path, encryption: str) -> AsyncIterator[Side]:
    """Open a side, and close it at the end."""
    settings = from_environment({}, data_dir=folder, partitions=1, encryption=encryption)
    async with opened_log(settings) as inner:
        await create_topics(inner, settings)
        side = Side((await seal_log(settings, inner, lambda _: None)).log, folder)
        yield side
        side.shard.close()


async def reading(log: Log, decisions: int) -> float:
    """Return the seconds of processor time for reading and decoding all decisions, with their events."""
    began, start = time.process_time(), 0
    while records := await log.read(LEDGER.name, 0, start, READ_AT_ONCE):
        for record in records:
            events_of(codec.decode_as(record.value, Decision))
        start = records[-1].position.offset + 1
    assert start == decisions
    return time.process_time() - began


async def verifying(log: Log, decisions: int) -> float:
    """Return the seconds of processor time for a verification."""
    began = time.process_time()
    found = await Verification(log).run()
    assert (found.records, found.linked, found.damage) == (decisions, decisions, [])
    return time.process_time() - began


def size(folder: Path) -> int:
    """Return the total size of a folder's files, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def remembering(encryption: str, linked: list[NewRecord], bare: list[NewRecord]) -> tuple[float, float, float]:
    """Append and fold batches on two sides in turn; return the seconds of both, and the bytes that links add."""
    seconds, bytes_of = {True: 0.0, False: 0.0}, {}
    with tempfile.TemporaryDirectory() as name:
        folders = {chained: Path(name) / str(chained) for chained in (True, False)}
        async with opened(folders[True], encryption) as one, opened(folders[False], encryption) as other:
            for turn, start in enumerate(range(0, len(linked), AT_ONCE)):
                for chained in (True, False) if turn % 2 else (False, True):
                    records, side = (linked, one) if chained else (bare, other)
                    with nullcontext() if chained else unchained():
                        seconds[chained] += await side.remember(records[start : start + AT_ONCE])
            assert one.shard.ledger.count() == other.shard.ledger.count() == len(linked)
            assert not one.shard.ledger.damages.all()
        bytes_of = {chained: size(folder) for chained, folder in folders.items()}
    return seconds[True], seconds[False], bytes_of[True] - bytes_of[False]


async def compare(encryption: str, linked: list[NewRecord], bare: list[NewRecord]) -> dict[str, object]:
    """Measure one kind of log."""
    number, times, sizes = len(linked), list[float](), list[float]()
    for _ in range(ROUNDS):
        chained, plain, more = await remembering(encryption, linked, bare)
        times.append(chained / plain)
        sizes.append(more / number)
        each = f"{chained / number * 1e6:.1f} against {plain / number * 1e6:.1f} microseconds"
        print(f"  append and fold, encryption {encryption}: {each}: {times[-1]:.3f}, at most {MOST_TIME}", flush=True)
    verified = Rounds(f"verify, encryption {encryption}, against reading and decoding", LEAST_RATE)
    with tempfile.TemporaryDirectory() as name:
        async with opened(Path(name), encryption) as side:
            for start in range(0, number, READ_AT_ONCE):
                await side.log.append(linked[start : start + READ_AT_ONCE])
            for _ in range(ROUNDS):
                read = await reading(side.log, number)
                checked = await verifying(side.log, number)
                read = (read + await reading(side.log, number)) / 2
                verified.add(number / checked, number / read)
    time_taken = round(statistics.median(times), 3)
    print(f"append and fold, encryption {encryption}: {time_taken} of {ROUNDS} rounds, at most {MOST_TIME}", flush=True)
    more_on_disk = round(statistics.median(sizes), 1)
    print(f"bytes a decision on disk, log and shard, encryption {encryption}: {more_on_disk} more", flush=True)
    return {
        "time": time_taken,
        "times": [round(one, 3) for one in times],
        "most_time": MOST_TIME,
        "more_bytes_on_disk": more_on_disk,
        "verify": verified.result(),
    }


async def main(decisions: int = DECISIONS) -> dict[str, object]:
    """Measure everything."""
    tune_process()
    made = list(ledger(decisions))
    linked = [record_of(*one) for one in made]
    bare = [record_of(owner, replace(decision, previous=None)) for owner, decision in made]
    more = sum(len(one.value) - len(other.value) for one, other in zip(linked, bare, strict=True)) / decisions
    more += 2  # the two fields that are empty without links
    print(f"bytes a decision: {more:.1f} more in its encoding, at most {MOST_BYTES}", flush=True)
    encrypted, clear = await compare("on", linked, bare), await compare("off", linked, bare)
    return {"decisions": decisions, "more_bytes_encoded": more, "encrypted": encrypted, "in_clear": clear}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("decisions", type=int, nargs="?", default=DECISIONS)
    asyncio.run(main(parser.parse_args().decisions))
