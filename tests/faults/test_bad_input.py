"""Bad input, over HTTP and in every topic: a clear refusal or a dead letter; nothing lost, nobody stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import FrontDoor, front_door, turn
from examples import candidate, piece, remember
from faults.sample_worker import DRAIN_SECONDS, START, records, running, settled

from mnemolog import dead_letters
from mnemolog.draining import drain
from schemas import codec
from schemas.decision import Decision
from schemas.envelope import Envelope, Sealed
from schemas.events import MemoryExpired
from schemas.identity import Owner
from schemas.inbox import CandidatesExtracted, DecayDue, RememberFact
from schemas.log import NewRecord
from schemas.observations import TurnRecorded
from schemas.topics import ARTICLES, CONVERSATIONS, DEAD_LETTERS, GLOBALS, INBOX, INPUTS, LEDGER, TOPICS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mnemolog.composition import Worker

ANNA, BEN = Owner("default", "anna"), Owner("default", "ben")
UNKNOWN_SCHEMA = codec.MARKER + b"\x01\x02\x03\x04\x05\x06\x07\x08" + b"what only a newer version can read"
GARBAGE = (b"", b"\x00", b"\xff\xfe garbage \xff", codec.MARKER, codec.MARKER + b"\x01\x02", b"\xc3\x02" + bytes(40))


def said(owner: Owner, event_id: str, content: str = "I live in Berlin.") -> TurnRecorded:
    return TurnRecorded(
        envelope=Envelope(event_id=event_id, tenant=owner.tenant, user_id=owner.user_id, occurred_at=START),
        session_id="s1",
        role="user",
        content=content,
    )


def spelt(owner: Owner, event_id: str, **more: Any) -> bytes:
    """Return a turn as a foreign producer spells it."""
    return orjson.dumps(turn(event_id, "I live in Berlin.", user_id=owner.user_id) | more)


def truncated(message: Any) -> bytes:
    return codec.encode(message)[:-3]


async def put(worker: Worker, topic: str, owner: Owner, value: bytes, **more: Any) -> NewRecord:
    """Append bytes to the owner's partition of a topic, under the owner's key unless `more` says otherwise."""
    partition = 0 if topic == GLOBALS.name else worker.shards.partition(owner)
    given: dict[str, Any] = {"topic": topic, "partition": partition, "key": owner.key, "value": value} | more
    record = NewRecord(**given)
    await worker.log.append([record])
    return record


async def set_aside(worker: Worker) -> list[tuple[str, bytes | None, bytes]]:
    """Return topic, key and bytes of the dead letters."""
    return sorted(
        ((x.topic, x.key, x.value) for x in await dead_letters.letters(worker.log)), key=lambda x: (x[0], x[2])
    )


def as_set_aside(records: Sequence[NewRecord]) -> list[tuple[str, bytes | None, bytes]]:
    return sorted(((r.topic, r.key, r.value) for r in records), key=lambda x: (x[0], x[2]))


def cities(worker: Worker, owner: Owner) -> list[str]:
    return sorted(m.value or "" for m in worker.shards.state(owner).memories.values() if m.attribute == "city")


BAD_BODIES: list[tuple[str, bytes, int]] = [
    ("/v1/events", b"", 422),
    ("/v1/events", b"\xff\xfe\x00", 422),
    ("/v1/events", b"[" * 100_000, 422),
    ("/v1/events", b"7", 422),
    ("/v1/events", b'{"type":"TurnRecorded"}', 422),
    ("/v1/events", orjson.dumps(turn("bad", "x") | {"type": "TurnRecorder"}), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", occurred_at="yesterday")), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", user_id=["u1"])), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", user_id="*")), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", session_id=None)), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", mood="happy")), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", context={"weather": "rain"})), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x" * 65_537)), 422),
    ("/v1/events", orjson.dumps(turn("good", "x")) + b"\n{not json}\n" + orjson.dumps(turn("good-2", "x")), 422),
    ("/v1/events", orjson.dumps([turn(f"many-{n}", "x") for n in range(1001)]), 413),
    ("/v1/events", b" " * (8 * 1024 * 1024 + 1), 413),
    ("/v1/conversations", b'{"user_id":"u1","messages":"hello"}', 422),
    ("/v1/conversations", b'{"user_id":"u1","messages":[{"role":"user"}]}', 422),
    ("/v1/conversations", b'{"user_id":"u1","messages":[{"role":"user","content":["x"]}]}', 422),
    ("/v1/memories", b'{"user_id":"u1"}', 422),
    ("/v1/memories", b'{"user_id":"u1","content":"x","importance":2}', 422),
    ("/v1/memories", b'{"user_id":"u1","content":"x","kind":"dream"}', 422),
    ("/v1/memories", b'{"user_id":"u1","content":"x","colour":"red"}', 422),
    ("/v1/search", b'{"user_id":"u1","query":5}', 422),
    ("/v1/admin/ticks", b'{"as_of":"soon"}', 422),
    ("/v1/admin/rebuild", b'{"what":"everything"}', 422),
]


async def ends(door: FrontDoor) -> list[int]:
    log = door.worker.log
    return [await log.end(t.name, p) for t in TOPICS for p in range(await log.partitions(t.name))]


async def test_a_bad_request_is_refused_with_what_is_wrong_and_leaves_no_trace(tmp_path: Path):
    async with front_door(tmp_path, decay_policy="off") as door:
        empty = await ends(door)
        for path, body, status in BAD_BODIES:
            headers = {"Content-Type": "application/json"}
            response = await door.http.post(path, content=body, headers=headers)
            assert response.status_code == status, (path, body[:80], response.text)
            assert response.headers["content-type"] == "application/problem+json"
            assert response.json()["detail"], (path, body[:80])
            assert await ends(door) == empty, (path, body[:80])
        accepted = await door.http.post("/v1/events?wait=20", json=turn("fine", "I live in Berlin."))
        assert accepted.json()["accepted"][0]["state"] == "remembered"


POISON_FOR_INPUTS: list[tuple[bytes, dict[str, Any]]] = [
    *((value, {}) for value in GARBAGE),
    (UNKNOWN_SCHEMA, {}),
    (b"[" * 100_000, {}),
    (b"[]", {}),
    (b'"text"', {}),
    (b'{"type":"TurnRecorded"', {}),
    (spelt(ANNA, "p-1", type="TurnRecorder"), {}),
    (spelt(ANNA, "p-2", content=7), {}),
    (spelt(ANNA, "p-3", mood="happy"), {}),
    (spelt(ANNA, "p-4", content="x" * 65_537), {}),
    (truncated(said(ANNA, "p-5")), {}),
    (codec.encode(said(ANNA, "p-6")) + b"more", {}),
    (codec.encode(said(ANNA, "")), {}),
    (codec.encode(remember("I live in Rome.", "command")), {}),
    (codec.encode(said(ANNA, "p-7")), {"key": BEN.key}),
    (spelt(ANNA, "p-8"), {"key": BEN.key}),
    (spelt(ANNA, "p-9"), {"key": b"\xff\xff"}),
    (spelt(ANNA, "p-10"), {"key": b"anna"}),
    (spelt(ANNA, "p-11"), {"key": b"*/0"}),
    (spelt(ANNA, "p-12"), {"key": b"default/*"}),
]


async def test_poison_on_the_input_topics_becomes_dead_letters_and_stops_nobody(tmp_path: Path):
    """Whatever lies before and after it, of the same user and of others, is remembered, also from foreign producers."""
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        bad = [
            await put(worker, topic.name, ANNA, value, **more) for topic in INPUTS for value, more in POISON_FOR_INPUTS
        ]
        wrong = 1 - worker.shards.partition(BEN)
        await put(worker, CONVERSATIONS.name, BEN, spelt(BEN, "b-1", content="I live in Oslo."), partition=wrong)
        await put(worker, CONVERSATIONS.name, BEN, spelt(BEN, "b-2", content="I like tea."), key=None, partition=wrong)
        conflict = await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1", content="I live in Rome."))
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-2", content="I moved to Paris.", session_id="s2"))
        await drain(worker, DRAIN_SECONDS)
        assert await set_aside(worker) == as_set_aside([*bad, conflict])
        assert cities(worker, ANNA) == ["Berlin", "Paris"]
        assert cities(worker, BEN) == ["Oslo"]
        assert [m.content for m in worker.shards.state(BEN).memories.values() if m.attribute == "likes"]
        assert (await worker.rebuilding.rebuild())["equal"]
        assert worker.failure is not None
        assert not worker.failure.done()


async def test_a_dead_letter_that_is_sent_back_comes_again_as_it_was_until_it_can_be_read(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        bad = [await put(worker, CONVERSATIONS.name, ANNA, value) for value in (b"garbage", UNKNOWN_SCHEMA)]
        await drain(worker, DRAIN_SECONDS)
        first = await dead_letters.letters(worker.log)
        assert sorted(await dead_letters.retry(worker.log)) == sorted(x.envelope.event_id for x in first)
        await drain(worker, DRAIN_SECONDS)
        again = await dead_letters.letters(worker.log)
        assert await set_aside(worker) == as_set_aside(bad)
        assert {x.envelope.event_id for x in again}.isdisjoint(x.envelope.event_id for x in first)
        [of_garbage] = [x.envelope.event_id for x in again if x.value == b"garbage"]
        assert await dead_letters.retry(worker.log, [of_garbage]) == [of_garbage]
        await drain(worker, DRAIN_SECONDS)
        assert await set_aside(worker) == as_set_aside(bad)


def poison_for_the_inbox() -> list[tuple[bytes, dict[str, Any]]]:
    item = replace(remember("I live in Rome.", "command"), envelope=said(ANNA, "i-1").envelope)
    extracted = CandidatesExtracted(
        envelope=said(ANNA, "i-2").envelope,
        source_type="chat",
        source_ref="s1",
        model="m",
        prompt_hash="p",
        embedding_model="m",
        dropped=[],
        covered=[piece("z-1")],
        candidates=[replace(candidate("x", "z-1"), content=Sealed.clear(b"\xff\xfe"))],
    )
    tick = DecayDue(envelope=said(ANNA, "i-3").envelope, policy="ladder", as_of=START)
    no_vector = replace(item, vector=Sealed.clear(b"\x00\x00\x80\x3f\x00"))
    not_a_number = replace(item, vector=Sealed.clear(b"\x00\x00\xc0\x7f"))
    return [
        *((value, {}) for value in GARBAGE),
        (truncated(item), {}),
        (codec.encode(said(ANNA, "i-4")), {}),
        (codec.encode(item), {"key": None}),
        (codec.encode(item), {"key": BEN.key}),
        (codec.encode(item), {"key": b"*/0"}),
        (codec.encode(tick), {}),
        (codec.encode(extracted), {}),
        (codec.encode(no_vector), {}),
        (codec.encode(not_a_number), {}),
    ]


async def test_poison_in_the_inbox_becomes_dead_letters_and_stops_nobody(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        bad = [await put(worker, INBOX.name, ANNA, value, **more) for value, more in poison_for_the_inbox()]
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await put(worker, CONVERSATIONS.name, BEN, spelt(BEN, "b-1", content="I live in Oslo."))
        await drain(worker, DRAIN_SECONDS)
        assert await set_aside(worker) == as_set_aside(bad)
        assert (cities(worker, ANNA), cities(worker, BEN)) == (["Berlin"], ["Oslo"])
        assert (await worker.rebuilding.rebuild())["equal"]


async def poison_for_the_ledger(worker: Worker) -> list[NewRecord]:
    """Append to Anna's ledger what is no decision, what cannot be made of her state, and decisions of others."""
    version = worker.shards.state(ANNA).version
    mine = [r for r in await records(worker) if r.position.topic == LEDGER.name]
    [newest] = [d for r in mine if (d := codec.decode_as(r.value, Decision)).envelope.owner == ANNA and d.version == 1]
    forged = replace(newest, item_id="forged", item_offset=1_000, version=version + 1, outcomes=[])
    unknown = MemoryExpired(envelope=newest.envelope, memory_id="nobody", policy="x", tick_id="x", reason="weak")
    values = [
        *GARBAGE,
        truncated(newest),
        codec.encode(said(ANNA, "l-1")),
        codec.encode(replace(forged, events=[b"garbage"])),
        codec.encode(replace(forged, events=[codec.encode(said(ANNA, "l-2"))])),
        codec.encode(replace(forged, events=[codec.encode(unknown)])),
    ]
    put_there = [await put(worker, LEDGER.name, ANNA, value) for value in values]
    elsewhere = [r for r in mine if codec.decode_as(r.value, Decision).envelope.owner == ANNA]
    for record in elsewhere:
        wrong = 1 - record.position.partition
        put_there.append(await put(worker, LEDGER.name, ANNA, record.value, partition=wrong))
        put_there.append(await put(worker, GLOBALS.name, ANNA, record.value))
    return put_there + [await put(worker, GLOBALS.name, ANNA, value) for value in GARBAGE]


async def test_poison_in_the_ledger_is_void_for_every_reader_and_stops_nobody(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await drain(worker, DRAIN_SECONDS)
        before = worker.queries.digest()
        put_there = await poison_for_the_ledger(worker)
        await settled(worker)
        assert worker.queries.digest() == before
        assert sum(s.ledger.void_decisions for s in worker.shards.all()) == len(put_there)
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-2", content="I moved to Paris.", session_id="s2"))
        await put(worker, CONVERSATIONS.name, BEN, spelt(BEN, "b-1", content="I live in Oslo."))
        await drain(worker, DRAIN_SECONDS)
        assert (cities(worker, ANNA), cities(worker, BEN)) == (["Berlin", "Paris"], ["Oslo"])
        assert (await worker.rebuilding.rebuild())["equal"]
        digest = worker.queries.digest()
    async with running(tmp_path, partitions=2) as worker:
        assert worker.queries.digest() == digest


@pytest.mark.parametrize("topic", [LEDGER.name, GLOBALS.name, INBOX.name])
async def test_what_only_a_newer_version_can_read_stops_the_worker_which_says_upgrade(tmp_path: Path, topic: str):
    """To skip it would be to decide without what it says; the log keeps it until the upgrade."""
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await drain(worker, DRAIN_SECONDS)
        before = worker.queries.digest()
        await put(worker, topic, ANNA, UNKNOWN_SCHEMA)
        assert worker.failure is not None
        with pytest.raises(codec.UnknownSchema, match="upgrade mnemolog"):
            await worker.failure
        assert worker.queries.digest() == before
        assert await set_aside(worker) == []
    with pytest.raises(codec.UnknownSchema, match="upgrade mnemolog"):
        async with running(tmp_path, partitions=2):
            pytest.fail("the worker started without knowing what it must decide on")


async def test_what_is_no_letter_among_the_dead_letters_is_listed_and_stays(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, DEAD_LETTERS.name, ANNA, b"no letter")
        await put(worker, ARTICLES.name, ANNA, b"garbage")
        await drain(worker, DRAIN_SECONDS)
        listed = await dead_letters.letters(worker.log)
        assert {(x.topic, x.value) for x in listed} == {(DEAD_LETTERS.name, b"no letter"), (ARTICLES.name, b"garbage")}
        assert len(await dead_letters.retry(worker.log)) == 1
        await drain(worker, DRAIN_SECONDS)
        assert {x.value for x in await dead_letters.letters(worker.log)} == {b"no letter", b"garbage"}


async def test_a_fact_in_the_inbox_from_elsewhere_is_remembered_whatever_the_length_of_its_vector(tmp_path: Path):
    """Another embedder's vectors stand beside ours, and each search compares like with like."""
    async with running(tmp_path, partitions=2) as worker:
        item: RememberFact = replace(remember("Anna plays chess", "command"), envelope=said(ANNA, "i-1").envelope)
        await put(worker, INBOX.name, ANNA, codec.encode(replace(item, vector=Sealed.clear(b""))))
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await drain(worker, DRAIN_SECONDS)
        assert {m.content for m in worker.shards.state(ANNA).memories.values()} >= {"Anna plays chess"}
        assert (await worker.rebuilding.rebuild())["equal"]
