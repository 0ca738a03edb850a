"""A record that the log will never take stops nothing: it becomes a letter, a rejection, a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.examples import envelope, later, remember, tick
from support.memory_log import MemoryLog
from support.workbench import EchoExtractor, Workbench

from mnemolog.operations.dead_letters import DeadLetters
from schemas import codec
from schemas.identity import Owner
from schemas.log import RecordTooLarge
from schemas.messages.inbox import ExtractionRejected
from schemas.messages.observations import TurnRecorded
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX, LEDGER
from streams.extraction.protocol import Rejected
from streams.extraction.request import rejection, too_large
from streams.extraction.window import pieces_of, window_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from schemas.log import Appended, NewRecord

WORDS = "我喜欢喝咖啡。" * 100
MANY = 100


class NarrowLog(MemoryLog):
    """Takes records of so many bytes on some topics, as Kafka does; what stands in them may have come compressed."""

    def __init__(self, partitions: int = 2) -> None:
        """Take everything at first."""
        super().__init__(partitions)
        self.most: dict[str, int] = {}
        self.refused = 0

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """Append all, or none when one is too large."""
        for record in records:
            assert self.refused < MANY
            if len(record.value) > self.most.get(record.topic, len(record.value)):
                self.refused += 1
                raise RecordTooLarge(f"a record of {record.topic} would have {len(record.value)} bytes")
        return await super().append(records)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one", NarrowLog(), partitions=2)
    yield bench
    bench.close()
    assert bench.failures == []


def narrow(bench: Workbench, topic: str, most: int) -> None:
    assert isinstance(bench.log, NarrowLog)
    bench.log.most[topic] = most


async def letters(bench: Workbench) -> list[tuple[str, int]]:
    return [(letter.reason, len(letter.value)) for letter in await DeadLetters(bench.log).waiting()]


@pytest.mark.parametrize("partition", [0, 1])
async def test_an_event_that_cannot_be_appended_to_its_own_partition_is_put_aside(bench: Workbench, partition: int):
    body = {"type": "TurnRecorded", "user_id": "xiaoming", "session_id": "s1", "role": "user", "content": WORDS}
    record = await bench.publish(CONVERSATIONS.name, body, None, partition)
    narrow(bench, CONVERSATIONS.name, 1_000)
    await bench.observes(record)
    elsewhere = bench.shards.partition(bench.state().owner) != partition
    assert await letters(bench) == ([("too_large", len(record.value))] if elsewhere else [])
    assert (str(record.position) in bench.acked) == elsewhere
    assert bench.counts == [("observe", "dead" if elsewhere else "taken")]
    assert await DeadLetters(bench.log).retry() == []


async def test_a_record_that_no_letter_holds_leaves_its_beginning_in_one_that_is_not_sent_back(bench: Workbench):
    record = await bench.publish(CONVERSATIONS.name, b"no event " * 20_000)
    narrow(bench, DEAD_LETTERS.name, 100_000)
    await bench.observes(record)
    [letter] = await DeadLetters(bench.log).waiting()
    assert (letter.reason, letter.value) == ("too_large", record.value[: 64 * 1024])
    assert "decode, and its 180000 bytes do not fit" in letter.detail
    assert await DeadLetters(bench.log).retry() == []


async def test_a_letter_whose_bytes_the_log_does_not_take_keeps_no_other_from_being_sent_back(bench: Workbench):
    large = await bench.publish(CONVERSATIONS.name, b"no event " * 1_000)
    small = await bench.publish(CONVERSATIONS.name, b"no event")
    await bench.observes(large, small)
    narrow(bench, CONVERSATIONS.name, 1_000)
    assert len(await DeadLetters(bench.log).retry()) == 1
    assert await letters(bench) == [("decode", len(large.value))]


async def test_an_answer_that_the_inbox_does_not_take_is_a_rejected_one(bench: Workbench):
    partition = bench.shards.partition(bench.state().owner)
    said = {"type": "TurnRecorded", "event_id": "t-1", "user_id": "xiaoming", "session_id": "s1", "role": "user"}
    record = await bench.publish(CONVERSATIONS.name, said | {"content": WORDS, "infer": False}, partition=partition)
    narrow(bench, INBOX.name, 1_000)
    await bench.observes(record)
    [item] = await bench.inbox(partition)
    assert isinstance(item, ExtractionRejected)
    assert "too large" in item.reason
    assert bench.acked == [str(record.position)]


async def test_a_rejection_that_the_inbox_does_not_take_either_is_a_failure_and_no_circle(bench: Workbench):
    partition = bench.shards.partition(bench.state().owner)
    said = {"type": "TurnRecorded", "event_id": "t-1", "user_id": "xiaoming", "session_id": "s1", "role": "user"}
    record = await bench.publish(CONVERSATIONS.name, said | {"content": WORDS, "infer": False}, partition=partition)
    narrow(bench, INBOX.name, 10)
    await bench.observes(record)
    [failure] = bench.failures
    assert isinstance(failure, RecordTooLarge)
    assert bench.acked == []
    bench.failures.clear()


def test_an_answer_that_is_too_large_still_says_what_it_cost():
    message = TurnRecorded(envelope=envelope("t-1"), session_id="s1", role="user", content=WORDS)
    window = window_of(message, tuple(pieces_of(message, later())))
    paid = rejection(window, EchoExtractor(), Rejected("broken", WORDS, tokens_in=700, tokens_out=90))
    item = too_large(window, EchoExtractor(), paid, RecordTooLarge("no"))
    assert (item.tokens_in, item.tokens_out, item.answer) == (700, 90, None)


async def test_an_item_whose_decision_the_ledger_does_not_take_is_put_aside(bench: Workbench):
    narrow(bench, LEDGER.name, 1_000)
    record = await bench.decides(remember(WORDS, "c-1"))
    assert await letters(bench) == [("failed", len(record.value))]
    assert bench.acked == [str(record.position)]


async def test_a_user_whose_part_of_a_tick_the_ledger_does_not_take_keeps_the_tick_from_nobody(bench: Workbench):
    names = (Owner("default", f"{n}{more}") for more in ("", "n" * 240) for n in range(16))
    known = [owner for owner in names if bench.shards.partition(owner) == 0]
    short, long = known[0], known[-1]
    for owner in (long, short):
        await bench.decides(replace(remember("likes tea", "c-1"), envelope=envelope("c-1", owner=owner)))
    narrow(bench, LEDGER.name, 700)
    record = await bench.decides(tick(later(days=8)))
    assert [reason for reason, _ in await letters(bench)] == ["failed"]
    assert str(record.position) in bench.acked
    faded = [[memory.importance < 0.5 for memory in bench.state(owner).memories.values()] for owner in (short, long)]
    assert faded == [[True], [False]]


async def test_an_item_that_cannot_be_appended_to_its_own_partition_is_put_aside(bench: Workbench):
    item = remember(WORDS, "c-1")
    wrong = 1 - bench.shards.partition(item.envelope.owner)
    record = await bench.publish(INBOX.name, codec.encode(item), item.envelope.owner.key, wrong)
    narrow(bench, INBOX.name, 100)
    await bench.remembers(record)
    assert await letters(bench) == [("too_large", len(record.value))]
    assert bench.acked == [str(record.position)]
    assert bench.counts == [("remember", "dead")]
