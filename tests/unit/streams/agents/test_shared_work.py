"""What waits for one user is embedded, appended and folded together, and comes out as if each had come alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.examples import envelope, forget, happened, later, remember, said
from support.memory_log import MemoryLog
from support.workbench import CharacterEmbedder, Workbench

from projections.embedding.embedder import EmbedderRefused
from schemas import codec
from schemas.log import RecordTooLarge
from schemas.messages.erasure import EraseMemory
from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
from schemas.topics import INBOX, LEDGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from projections.embedding.embedder import Vectors
    from schemas.log import Appended, NewRecord, Record

COFFEE = "用户喜欢喝咖啡"
RUNNING = "用户喜欢跑步"
WIDE = 4_000


class CountingLog(MemoryLog):
    """Notes how many records of a topic come at once, and takes none of the ledger that has more than WIDE bytes."""

    def __init__(self) -> None:
        """Begin with nothing noted."""
        super().__init__()
        self.appends: list[tuple[str, int]] = []

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """Append all, or none when one is too large."""
        if any(record.topic == LEDGER.name and len(record.value) > WIDE for record in records):
            raise RecordTooLarge("it is too wide")
        self.appends.append((records[0].topic, len(records)))
        return await super().append(records)

    def of(self, topic: str) -> list[int]:
        """Return how many records each append to a topic had."""
        return [count for name, count in self.appends if name == topic]


class NotingEmbedder(CharacterEmbedder):
    """Notes how many texts it is asked for at once, and refuses those that say poison."""

    def __init__(self) -> None:
        """Begin without having been asked."""
        self.asked: list[int] = []

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return a row for each text."""
        self.asked.append(len(texts))
        if any("poison" in text for text in texts):
            raise EmbedderRefused("poison")
        return await super().embed(texts, urgent=urgent)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one", CountingLog(), is_only_writer=True)
    yield bench
    bench.close()
    assert bench.failures == []


def appends(bench: Workbench, topic: str) -> list[int]:
    assert isinstance(bench.log, CountingLog)
    return bench.log.of(topic)


async def queued(bench: Workbench, *items: Any) -> list[Record]:
    return [await bench.publish(INBOX.name, codec.encode(item), item.envelope.owner.key) for item in items]


async def test_what_waits_for_a_user_is_decided_as_if_each_had_come_alone(bench: Workbench, tmp_path: Path):
    first = await bench.decides(said(COFFEE, "t-0"))
    known = next(iter(bench.state().memories))
    items = [
        remember(COFFEE, "c-1", later(hours=1)),
        said("用户住在上海", "t-2", later(hours=2), attribute="city", value="上海"),
        said("用户住在北京", "t-3", later(hours=3), attribute="city", value="北京"),
        happened("送花", "t-4", later(hours=4)),
        happened("送花", "t-5", later(hours=5)),
        said("用户喜欢喝 咖啡", "t-6", later(hours=6)),
        forget(known, "f-7", later(hours=7)),
        remember(RUNNING, "c-8", later(hours=8)),
        remember(RUNNING, "c-8", later(hours=8)),
        remember(RUNNING, "c-9", later(hours=9)),
        remember(RUNNING, "c-9", later(hours=9)),
        remember(COFFEE, "c-10", later(hours=10)),
    ]
    records = await queued(bench, *items)
    await bench.remembers(*records)
    assert appends(bench, LEDGER.name) == [1, 10]
    alone = Workbench(tmp_path / "alone", MemoryLog())
    for record in (first, *records):
        await alone.publish(INBOX.name, record.value, record.key)
        await alone.remembers(record)
    assert await bench.ledger() == await alone.ledger()
    assert bench.state() == alone.state()
    assert bench.acked == alone.acked
    alone.close()


async def test_an_item_that_no_rule_can_decide_takes_none_of_its_neighbours_with_it(bench: Workbench):
    items = [remember(COFFEE, "c-1"), said("用户有一只猫", "t-2", occurred_on="not a date"), remember(RUNNING, "c-3")]
    await bench.remembers(*await queued(bench, *items))
    assert {m.content for m in bench.state().memories.values()} == {COFFEE, RUNNING}
    assert ([letter.reason for letter in await bench.dead()], len(bench.acked)) == (["failed"], 3)


async def test_a_decision_that_is_too_large_takes_none_of_its_neighbours_with_it(bench: Workbench):
    items = [remember(COFFEE, "c-1"), remember("很长。" * 500, "c-2"), remember(RUNNING, "c-3")]
    await bench.remembers(*await queued(bench, *items))
    assert {m.content for m in bench.state().memories.values()} == {COFFEE, RUNNING}
    assert (len(await bench.dead()), len(bench.acked)) == (1, 3)


async def test_an_erasure_is_decided_by_itself(bench: Workbench):
    await bench.decides(said(COFFEE, "t-0"))
    known = next(iter(bench.state().memories))
    erase = EraseMemory(envelope=envelope("e-2", later(hours=2)), memory_id=known, event_ids=["t-0"], letters=[])
    items = [remember("用户有一只猫", "c-1"), erase, remember(RUNNING, "c-3", later(hours=3))]
    await bench.remembers(*await queued(bench, *items))
    assert appends(bench, LEDGER.name) == [1, 1, 1, 1]
    assert {m.content for m in bench.state().memories.values()} == {"用户有一只猫", RUNNING}


async def test_where_others_write_too_each_decision_is_made_of_what_is_folded(bench: Workbench, tmp_path: Path):
    shared = Workbench(tmp_path / "shared", bench.log)
    await shared.remembers(*await queued(bench, *(remember(f"{RUNNING}{n}", f"c-{n}") for n in range(5))))
    assert appends(bench, LEDGER.name) == [1] * 5
    shared.close()


async def test_turns_kept_word_for_word_are_embedded_and_appended_together(bench: Workbench):
    embedder = bench.extractions._service.embedder = NotingEmbedder()
    turns = [await bench.says(f"t-{n}", f"门禁密码 {n}", infer=False) for n in range(9)]
    await bench.observes(*turns)
    answers = await bench.answers()
    assert [c.content.text for a in answers if isinstance(a, CandidatesExtracted) for c in a.candidates] == [
        f"门禁密码 {n}" for n in range(9)
    ]
    assert sum(embedder.asked) == 9
    assert max(embedder.asked) == max(appends(bench, INBOX.name)) > 1
    assert sorted(bench.acked) == sorted(str(turn.position) for turn in turns)


async def test_a_text_that_the_embedder_refuses_is_rejected_by_itself(bench: Workbench):
    bench.extractions._service.embedder = NotingEmbedder()
    await bench.observes(
        *[await bench.says(f"t-{n}", "poison" if n == 4 else f"门禁密码 {n}", infer=False) for n in range(9)]
    )
    answers = await bench.answers()
    assert [type(answer) for answer in answers].count(ExtractionRejected) == 1
    assert [a.covered[0].piece_id for a in answers if isinstance(a, ExtractionRejected)] == ["t-4#0"]
    assert [answer.covered[0].piece_id for answer in answers] == [f"t-{n}#0" for n in range(9)]
    assert len(bench.acked) == 9
