"""Poison in the topics that agents read: a dead letter with its bytes; nothing lost, nobody stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faults.poison import (
    ANNA,
    BEN,
    GARBAGE,
    UNKNOWN_SCHEMA,
    as_set_aside,
    cities,
    put,
    said,
    set_aside,
    spelt,
    truncated,
)
from faults.sample_worker import DRAIN_SECONDS, START, running
from support.examples import candidate, piece, remember

from schemas import codec
from schemas.messages.envelope import Sealed
from schemas.messages.inbox import CandidatesExtracted, DecayDue, RememberFact
from schemas.topics import ARTICLES, CONVERSATIONS, DEAD_LETTERS, INBOX, INPUTS

if TYPE_CHECKING:
    from pathlib import Path


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
        await worker.drain.run_local(DRAIN_SECONDS)
        assert await set_aside(worker) == as_set_aside([*bad, conflict])
        assert cities(worker, ANNA) == ["Berlin", "Paris"]
        assert cities(worker, BEN) == ["Oslo"]
        assert [m.content for m in worker.shards.state(BEN).memories.values() if m.attribute == "likes"]
        assert (await worker.rebuild.run("all"))["equal"]
        assert worker.failure is not None
        assert not worker.failure.done()


async def test_a_dead_letter_that_is_sent_back_comes_again_as_it_was_until_it_can_be_read(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        bad = [await put(worker, CONVERSATIONS.name, ANNA, value) for value in (b"garbage", UNKNOWN_SCHEMA)]
        await worker.drain.run_local(DRAIN_SECONDS)
        first = await worker.dead_letters.waiting()
        assert sorted(await worker.dead_letters.retry()) == sorted(x.envelope.event_id for x in first)
        await worker.drain.run_local(DRAIN_SECONDS)
        again = await worker.dead_letters.waiting()
        assert await set_aside(worker) == as_set_aside(bad)
        assert {x.envelope.event_id for x in again}.isdisjoint(x.envelope.event_id for x in first)
        [of_garbage] = [x.envelope.event_id for x in again if x.value == b"garbage"]
        assert await worker.dead_letters.retry([of_garbage]) == [of_garbage]
        await worker.drain.run_local(DRAIN_SECONDS)
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


def decoded(value: bytes) -> object:
    try:
        return codec.decode(value)
    except codec.Undecodable:
        return None


async def test_poison_in_the_inbox_becomes_dead_letters_and_stops_nobody(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        bad = [await put(worker, INBOX.name, ANNA, value, **more) for value, more in poison_for_the_inbox()]
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await put(worker, CONVERSATIONS.name, BEN, spelt(BEN, "b-1", content="I live in Oslo."))
        await worker.drain.run_local(DRAIN_SECONDS)
        assert await set_aside(worker) == as_set_aside(bad)
        assert (cities(worker, ANNA), cities(worker, BEN)) == (["Berlin"], ["Oslo"])
        assert (await worker.rebuild.run("all"))["equal"]


async def test_a_drain_ends_and_counts_an_observation_whose_answer_is_poison_as_dead(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        poison = next(v for v, _ in poison_for_the_inbox() if isinstance(decoded(v), CandidatesExtracted))
        await put(worker, INBOX.name, ANNA, poison)
        await worker.shards.of(ANNA).catch_up()  # as a worker does that is given the partition now
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "z-1"))
        counts = await worker.drain.run_local(DRAIN_SECONDS)
        assert (counts["observations"], counts["dead"], counts["remembered"]) == (1, 1, 0)
        assert (await worker.event_states.of(ANNA, ["z-1"]))["z-1"]["state"] == "dead"


async def test_what_is_no_letter_among_the_dead_letters_is_listed_and_stays(tmp_path: Path):
    async with running(tmp_path, partitions=2, idle_seconds=0.2) as worker:
        await put(worker, DEAD_LETTERS.name, ANNA, b"no letter")
        await put(worker, ARTICLES.name, ANNA, b"garbage")
        await worker.drain.run_local(DRAIN_SECONDS)
        listed = await worker.dead_letters.waiting()
        assert {(x.topic, x.value) for x in listed} == {(DEAD_LETTERS.name, b"no letter"), (ARTICLES.name, b"garbage")}
        assert len(await worker.dead_letters.retry()) == 1
        await worker.drain.run_local(DRAIN_SECONDS)
        assert {x.value for x in await worker.dead_letters.waiting()} == {b"no letter", b"garbage"}


async def test_a_fact_in_the_inbox_from_elsewhere_is_remembered_whatever_the_length_of_its_vector(tmp_path: Path):
    """Another embedder's vectors stand beside ours, and each search compares like with like."""
    async with running(tmp_path, partitions=2) as worker:
        item: RememberFact = replace(remember("Anna plays chess", "command"), envelope=said(ANNA, "i-1").envelope)
        await put(worker, INBOX.name, ANNA, codec.encode(replace(item, vector=Sealed.clear(b""))))
        await put(worker, CONVERSATIONS.name, ANNA, spelt(ANNA, "a-1"))
        await worker.drain.run_local(DRAIN_SECONDS)
        assert {m.content for m in worker.shards.state(ANNA).memories.values()} >= {"Anna plays chess"}
        assert (await worker.rebuild.run("all"))["equal"]
