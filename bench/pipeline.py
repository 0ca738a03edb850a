"""Verbatim mode from published to searchable: against the embedder alone, and against agents that only forward bytes.

    python bench/pipeline.py

(a) With the built-in embedder, turns are published in batches of 500 and drained; compared is the same embedder, which
gets all of the same texts at once. (b) With ready vectors; compared are two chained Faust agents on the same transport.
The first forwards the bytes of the same turns to a topic, and the second from there to another. They forward three
times as many turns, before and after each round, so that both sides are measured over the same seconds.

    python bench/pipeline.py least

It prints the least processor time of a turn, without agents, rules, encryption, an embedder and HTTP: its three
messages are encoded, appended 500 at a time, and folded by its shard. The pipeline's time for the same turns is printed
with it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import faust
import numpy as np

from bench.rounds import Rounds
from mnemolog.server import tune_process
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from projections.embedding.builtin import BuiltinEmbedder
from projections.partitions.generation import Generation
from schemas import codec
from schemas.inputs.input_events import parse_event
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, GLOBALS, INBOX, INPUTS, LEDGER, partition_of
from streams.transports.kafka.clients import BATCH_BYTES
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from projections.embedding.embedder import Embedder, Vectors
    from schemas.messages.observations import Observation

BATCH = 500
PARTITIONS = 8
ROUNDS = 5
TURNS_READY, TURNS_EMBEDDED = 5_000, 1_500
USERS = 250
DIMENSIONS = 512
SUBJECTS = ("the harbour", "my sister", "Thursday's choir", "the old bakery", "a blue bicycle", "the night train")


class ReadyVectors:
    """An embedder that answers from a dict, so that only the pipeline's own cost is measured."""

    model = "ready"

    def __init__(self, texts: Sequence[str]) -> None:
        """Make one random unit vector for each text."""
        vectors = np.random.default_rng(0).standard_normal((len(texts), DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self._vectors = dict(zip(texts, vectors, strict=True))

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        """Return the vectors of texts, which must be those from the start."""
        return np.stack([self._vectors[text] for text in texts])


def texts(count: int) -> list[str]:
    """Return `count` different texts of one sentence each."""
    return [
        f"Note {n}: about {SUBJECTS[n % len(SUBJECTS)]} I told her {n * 7919 % 99_991} things" for n in range(count)
    ]


def turns(said: Sequence[str], users: int = USERS) -> list[Observation]:
    """Return a turn to be remembered verbatim for each text, of users in turn."""
    now = datetime.now(UTC)
    return [
        parse_event(
            {
                "type": "TurnRecorded",
                "event_id": f"t-{n}",
                "user_id": f"u{n % users}",
                "session_id": "s",
                "role": "user",
                "content": text,
                "infer": False,
            },
            tenant="default",
            accepted_at=now,
            event_id=f"t-{n}",
        )
        for n, text in enumerate(said)
    ]


async def pipeline(said: Sequence[str], embedder: Embedder, **settings_of: object) -> float:
    """Return how many turns per second go from published to searchable, in a new worker."""
    messages = turns(said)
    with tempfile.TemporaryDirectory() as folder:
        settings = from_environment({"MNEMOLOG_EXTRACTOR": "verbatim"}, data_dir=Path(folder), **settings_of)
        worker = Worker(settings, embedder=embedder)
        await worker.start()
        try:
            began = time.perf_counter()
            for start in range(0, len(messages), BATCH):
                await worker.publisher.publish(messages[start : start + BATCH])
            counts = await worker.drain.run_local(600.0)
            seconds = time.perf_counter() - began
        finally:
            await worker.stop()
    assert counts["memories"] == len(said), counts
    return len(said) / seconds


async def embedding(said: Sequence[str], embedder: Embedder) -> float:
    """Return how many of the texts per second the embedder alone embeds, if it gets all at once."""
    began = time.perf_counter()
    await embedder.embed(said)
    return len(said) / (time.perf_counter() - began)


def to_forward(said: Sequence[str]) -> list[NewRecord]:
    """Return the turns as records of the topic that the first agent reads."""
    return [
        NewRecord(
            topic="first",
            partition=partition_of(message.envelope.owner.key, PARTITIONS),
            key=message.envelope.owner.key,
            value=codec.encode(message),
        )
        for message in turns(said)
    ]


async def forwarding(said: Sequence[str]) -> float:
    """Return how many turns per second two chained agents forward, without decoding and without waiting for sends."""
    records = to_forward(said)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = SqliteLog.open(folder / "log")
        for topic in ("first", "second", "third"):
            await log.create_topic(topic, PARTITIONS)
        app = forwarder(f"sqlite://{log.directory}", folder / "faust")
        await app.start()
        try:
            began = time.perf_counter()
            for start in range(0, len(records), BATCH):
                await log.append(records[start : start + BATCH])
            while sum(log.end_now("third", p) for p in range(PARTITIONS)) < len(records):  # noqa: ASYNC110 - as drain does
                await asyncio.sleep(0.02)
            seconds = time.perf_counter() - began
        finally:
            await app.stop()
            log.close()
    return len(said) / seconds


def forwarder(
    broker: str, folder: Path, work: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType({})
) -> faust.App:
    """Return an app of two agents, set up like a worker's; `work` has, by topic, the work of an agent on each value."""
    app = faust.App(
        "forwarding",
        broker=broker,
        datadir=str(folder),
        topic_partitions=PARTITIONS,
        web_enabled=False,
        stream_wait_empty=False,
        stream_buffer_maxsize=4096,
        broker_commit_interval=0.5,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
        producer_max_batch_size=BATCH_BYTES,
    )

    def channel(name: str) -> Any:  # noqa: ANN401 - Faust's topics are untyped
        return app.topic(name, key_serializer="raw", value_serializer="raw", key_type=bytes, value_type=bytes)

    for source, target in (("first", "second"), ("second", "third")):

        async def run(
            stream: Any,  # noqa: ANN401
            to: Any = channel(target),  # noqa: ANN401, B008 - bound for each agent
            done: Callable[[bytes], bytes] = work.get(source, bytes),  # noqa: B008
        ) -> None:
            async for event in stream.noack().events():
                await to.send(key=event.key, value=done(event.value))
                event.ack()

        app.agent(channel(source), name=f"to-{target}")(run)
    return app


async def least(said: Sequence[str], embedder: Embedder) -> tuple[float, float]:
    """Return the processor seconds of a turn in the pipeline, and those of the least that its messages need."""
    messages = turns(said, users=1)
    owner = messages[0].envelope.owner
    partition, topics = partition_of(owner.key, PARTITIONS), (CONVERSATIONS.name, INBOX.name, LEDGER.name)
    with tempfile.TemporaryDirectory() as folder:
        clear = {"MNEMOLOG_EXTRACTOR": "verbatim", "MNEMOLOG_ENCRYPTION": "off"}
        worker = Worker(from_environment(clear, data_dir=Path(folder, "one")), embedder=embedder)
        await worker.start()
        try:
            began = time.process_time()
            for start in range(0, len(messages), BATCH):
                await worker.publisher.publish(messages[start : start + BATCH])
            await worker.drain.run_local(600.0)
            took = time.process_time() - began
            found = {topic: await worker.log.read(topic, partition, 0, 2 * len(said)) for topic in topics}
        finally:
            await worker.stop()
        log = SqliteLog.open(Path(folder, "log"))
        for topic in (*(topic.name for topic in INPUTS), INBOX.name, LEDGER.name, DEAD_LETTERS.name, GLOBALS.name):
            await log.create_topic(topic, 1 if topic == GLOBALS.name else PARTITIONS)
        shard = Generation(Path(folder), log, PARTITIONS).open(partition)
        made = {topic: [codec.decode(record.value) for record in records] for topic, records in found.items()}
        assert min(map(len, made.values())) >= len(said), {topic: len(each) for topic, each in made.items()}
        began = time.process_time()
        for start in range(0, len(said), BATCH):
            for topic, each in made.items():
                values = [codec.encode_cached(message) for message in each[start : start + BATCH]]
                records = [NewRecord(topic=topic, partition=partition, key=owner.key, value=value) for value in values]
                await shard.up_to(topic, (await log.append(records))[-1].position.offset + 1)
        needed = time.process_time() - began
        shard.close()
        log.close()
    return took / len(said), needed / len(said)


async def show_least() -> None:
    """Measure the least processor time of a turn, in rounds."""
    said = texts(3 * BATCH)
    rounds = [await least(said, ReadyVectors(said)) for _ in range(ROUNDS)]
    for pipeline_took, needed in rounds:
        print(f"  a turn of one user: {1000 * pipeline_took:.3f} ms in the pipeline, at least {1000 * needed:.3f} ms")


async def main() -> dict[str, object]:
    """Measure (b), then (a), in a process that is set up as a worker's."""
    tune_process()
    said = texts(TURNS_READY)
    ready = Rounds("ready vectors, against two forwarding agents", 0.3)
    more = texts(3 * TURNS_READY)
    for _ in range(ROUNDS):
        before = await forwarding(more)
        ours = await pipeline(said, ReadyVectors(said))
        ready.add(ours, (before + await forwarding(more)) / 2)
    said = texts(TURNS_EMBEDDED)
    embedder = BuiltinEmbedder(cached_texts=0)
    await embedder.embed(["loads the model"])
    embedded = Rounds("built-in embedder, against it alone", 0.5)
    for _ in range(ROUNDS):
        compared = await embedding(said, embedder)
        embedded.add(await pipeline(said, embedder), compared)
    await embedder.close()
    return {"ready_vectors": ready.result(), "builtin_embedder": embedded.result()}


if __name__ == "__main__":
    asyncio.run(show_least() if sys.argv[1:] == ["least"] else main())
