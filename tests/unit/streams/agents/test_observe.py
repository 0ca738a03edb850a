"""observe: windows, repeats, foreign and broken records, and what is acknowledged when."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING
from support.memory_log import MemoryLog
from support.workbench import Workbench

from schemas import codec
from schemas.identity import Owner, derived_id
from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
from schemas.topics import ARTICLES, CONVERSATIONS, SCREENSHOTS, partition_of
from streams.delivery.delivery import Delivery
from streams.extraction.protocol import Rejected
from streams.extraction.window import WindowLimits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one")
    yield bench
    bench.close()
    assert bench.failures == []


async def test_a_session_is_extracted_when_it_ends_and_acknowledged_then(bench: Workbench):
    turns = [await bench.says(f"t-{n}") for n in range(3)]
    await bench.observes(*turns)
    assert (bench.extractor.asked, bench.acked) == ([], [])
    await bench.observes(await bench.ends("e-1"))
    assert bench.extractor.asked == [["t-0#0", "t-1#0", "t-2#0"]]
    assert {str(t.position) for t in turns} <= set(bench.acked)
    [answer] = await bench.answers()
    assert isinstance(answer, CandidatesExtracted)
    assert [c.content.text for c in answer.candidates] == ["我喜欢喝咖啡"] * 3
    assert [c.piece_id for c in answer.covered] == ["t-0#0", "t-1#0", "t-2#0"]


async def test_everything_delivered_twice_is_extracted_once(bench: Workbench):
    records = [await bench.says("t-1"), await bench.says("t-2"), await bench.ends("e-1")]
    await bench.observes(*records, *records)
    await bench.observes(*records)
    assert len(await bench.answers()) == 1
    assert all(bench.acked.count(str(r.position)) == 3 for r in records)


async def test_the_next_worker_does_not_extract_again_what_is_in_the_inbox(bench: Workbench, tmp_path: Path):
    records = [await bench.says("t-1"), await bench.ends("e-1")]
    await bench.observes(*records)
    after = Workbench(tmp_path / "two", bench.log)
    await after.observes(*records)
    assert (after.extractor.asked, len(after.acked)) == ([], 2)
    after.close()


async def test_the_next_worker_cuts_the_same_windows(bench: Workbench, tmp_path: Path):
    records = [await bench.says(f"t-{n}") for n in range(12)]
    await bench.observes(*records)
    bench.revoke()
    after = Workbench(tmp_path / "two", MemoryLog())
    await after.observes(*[await after.says(f"t-{n}") for n in range(12)])
    again = Workbench(tmp_path / "three", bench.log)
    await again.observes(*records)
    assert bench.extractor.asked + again.extractor.asked == bench.extractor.asked
    assert bench.extractor.asked == after.extractor.asked == [[f"t-{n}#0" for n in w] for w in (range(5), range(5, 10))]
    after.close()
    again.close()


async def test_an_end_that_names_no_agent_ends_the_session_with_every_agent(bench: Workbench):
    turns = [await bench.says("t-1"), await bench.says("t-2", agent_id="nova")]
    await bench.observes(*turns, await bench.ends("e-1", agent_id=None))
    assert bench.extractor.asked == [["t-1#0"], ["t-2#0"]]


async def test_the_end_of_another_session_agent_or_user_ends_nothing(bench: Workbench):
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1", session_id="s2"))
    await bench.observes(await bench.ends("e-2", agent_id="nova"))
    assert bench.extractor.asked == []


async def test_a_session_may_go_on_after_its_end(bench: Workbench):
    await bench.observes(
        await bench.says("t-1"), await bench.ends("e-1"), await bench.says("t-2"), await bench.ends("e-2")
    )
    assert bench.extractor.asked == [["t-1#0"], ["t-2#0"]]


async def test_thirty_seconds_between_two_turns_in_the_log_cut_the_window(bench: Workbench):
    first = await bench.says("t-1", occurred_at="2026-01-05T08:00:00Z")
    bench.log.now += timedelta(seconds=30)
    await bench.observes(first, await bench.says("t-2", occurred_at="2026-01-05T08:00:00Z"))
    assert bench.extractor.asked == [["t-1#0"]]


async def test_an_idle_window_closes_only_when_nothing_of_its_partition_is_on_its_way(tmp_path: Path):
    bench = Workbench(tmp_path, limits=WindowLimits(idle=timedelta(0)))
    first = await bench.says("t-1")
    await bench.observes(first)
    second = await bench.says("t-2", session_id="s2")
    await bench.observe.windows.close_idle()
    assert bench.extractor.asked == []
    await bench.observes(second)
    await bench.observe.windows.close_idle()
    await bench.asking_pool.settle()
    assert bench.extractor.asked == [["t-1#0"], ["t-2#0"]]
    bench.close()


async def test_a_screenshot_and_an_article_are_windows_of_their_own(bench: Workbench):
    screen = {"type": "ScreenshotAnalysed", "event_id": "p-1", "user_id": "xiaoming", "text": "会议"}
    article = {"type": "ArticleInferred", "event_id": "a-1", "user_id": "xiaoming", "content": "咖啡"}
    await bench.observes(await bench.says("t-1"))
    await bench.observes(await bench.publish(SCREENSHOTS.name, screen), await bench.publish(ARTICLES.name, article))
    assert bench.extractor.asked == [["p-1#0"], ["a-1#0"]]


async def test_a_turn_to_be_remembered_verbatim_asks_no_model(bench: Workbench):
    await bench.observes(await bench.says("t-1", "记住：门禁密码 1234", infer=False))
    [answer] = await bench.answers()
    assert isinstance(answer, CandidatesExtracted)
    assert (bench.extractor.asked, answer.model) == ([], "verbatim")
    assert [c.content.text for c in answer.candidates] == ["记住：门禁密码 1234"]


async def test_what_is_not_extracted_is_acknowledged_at_once(bench: Workbench):
    await bench.observes(await bench.says("t-1", role="system"), await bench.says("t-2", " "), await bench.ends("e-1"))
    assert (bench.extractor.asked, len(bench.acked)) == ([], 3)


async def test_without_memorizing_nothing_is_extracted(tmp_path: Path):
    bench = Workbench(tmp_path, memorizes=False)
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"))
    assert (bench.extractor.asked, len(bench.acked)) == ([], 2)
    bench.close()


async def test_the_same_event_appended_twice_is_once_and_with_another_body_a_dead_letter(bench: Workbench):
    first, again = await bench.says("t-1"), await bench.says("t-1")
    other = await bench.says("t-1", "我喜欢喝茶")
    await bench.observes(first, again, other, await bench.ends("e-1"))
    assert bench.extractor.asked == [["t-1#0"]]
    [letter] = await bench.dead()
    assert (letter.reason, letter.offset, letter.value) == ("body_differs", 2, other.value)
    assert str(first.position) in letter.detail


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        (b"not json", XIAOMING.key, "decode"),
        (b'{"type":"TurnRecorded"}', XIAOMING.key, "decode"),
        (b"\xc3\x01 nothing", XIAOMING.key, "decode"),
        (b'{"type":"SessionEnded","session_id":"s","user_id":"u2"}', XIAOMING.key, "key"),
        (b'{"type":"SessionEnded","session_id":"s","user_id":"0"}', b"*/0", "key"),
        (b'{"type":"SessionEnded","session_id":"s","occurred_at":"0001-01-01T00:00:00+09:00"}', None, "decode"),
    ],
)
async def test_what_cannot_be_read_is_put_aside_with_its_bytes_and_stops_nothing(
    bench: Workbench, value: bytes, key: bytes | None, reason: str
):
    bad = await bench.publish(CONVERSATIONS.name, value, key)
    await bench.observes(bad, await bench.says("t-1"), await bench.ends("e-1"))
    [letter] = await bench.dead()
    assert (letter.reason, letter.value, letter.key) == (reason, value, key)
    assert bench.extractor.asked == [["t-1#0"]]
    assert len(bench.acked) == 3


async def test_a_record_on_the_wrong_partition_is_appended_again_to_the_right_one(tmp_path: Path):
    bench = Workbench(tmp_path, partitions=8)
    right = partition_of(XIAOMING.key, 8)
    wrong = (right + 1) % 8
    body = {"type": "TurnRecorded", "user_id": "xiaoming", "session_id": "s1", "role": "user"}
    record = await bench.publish(CONVERSATIONS.name, body | {"content": "我喜欢喝咖啡"}, XIAOMING.key, wrong)
    await bench.observes(record, record)
    moved, again = await bench.log.read(CONVERSATIONS.name, right, 0)
    assert (moved.key, again.value, len(bench.acked)) == (record.key, moved.value, 2)
    message = codec.decode(moved.value)
    assert (message.content, message.envelope.event_id) == ("我喜欢喝咖啡", derived_id("record", record.position))
    bench.close()


async def test_a_rejected_answer_is_in_the_inbox_with_its_raw_text_and_is_not_asked_again(bench: Workbench):
    bench.extractor.errors.append(Rejected("not JSON", "raw text", 7, 9))
    records = [await bench.says("t-1"), await bench.ends("e-1")]
    await bench.observes(*records, *records)
    [answer] = await bench.answers()
    assert isinstance(answer, ExtractionRejected)
    assert (answer.reason, answer.answer and answer.answer.text) == ("not JSON", "raw text")
    assert (answer.tokens_in, answer.tokens_out, len(bench.extractor.asked)) == (7, 9, 1)
    assert codec.decode(codec.encode(answer)) == answer


async def test_a_revoked_partition_forgets_its_windows_and_asks_again_when_it_comes_back(bench: Workbench):
    record = await bench.says("t-1")
    await bench.observes(record)
    bench.revoke()
    await bench.observes(await bench.ends("e-1"))
    assert bench.extractor.asked == []
    await bench.observes(record, await bench.ends("e-2"))
    assert bench.extractor.asked == [["t-1#0"]]


async def test_open_sessions_tell_the_ends_that_would_close_them(bench: Workbench):
    await bench.observes(await bench.says("t-1"))
    [end] = bench.observe.windows.ends()
    [same] = bench.observe.windows.ends()
    assert (end, end.session_id, end.envelope.owner) == (same, "s1", Owner("default", "xiaoming"))
    await bench.observes(await bench.publish(CONVERSATIONS.name, codec.encode(end)))
    assert (bench.extractor.asked, bench.observe.windows.ends()) == ([["t-1#0"]], [])


async def test_an_event_whose_record_cannot_be_used_is_known_as_dead(tmp_path: Path):
    """The sender asks by the id that it gave."""
    bench = Workbench(tmp_path)
    broken = {"type": "TurnRecorded", "event_id": "t-9", "user_id": XIAOMING.user_id, "session_id": "s", "role": 5}
    record = await bench.publish(CONVERSATIONS.name, broken)
    await bench.observes(record, record)
    await bench.shards.up_to(CONVERSATIONS.name, 0, record.position.offset + 1)
    turns = bench.shards.of(XIAOMING).observations
    assert "$.role" in (turns.dead(XIAOMING, "t-9") or "")
    assert turns.dead(XIAOMING, "t-8") is None
    bench.close()


async def test_a_record_that_waited_over_a_rebalance_is_left_to_come_again_in_its_order(bench: Workbench):
    current = True
    record = await bench.says("t-1", "I like tea")
    bench.shards.assignment.release(0)
    bench.shards.assignment.unassign()
    late = asyncio.create_task(bench.observe.handle(Delivery(record, lambda: None, lambda: current)))
    await asyncio.sleep(0.01)
    current = False
    bench.shards.takeover.assign([0])
    await bench.shards.takeover.hold(0)
    await late
    assert bench.observe.windows.ends() == []


@pytest.mark.parametrize("is_decided", [True, False])
async def test_a_users_next_window_waits_for_the_decision_on_the_one_before_but_not_for_ever(
    tmp_path: Path,
    is_decided: bool,  # noqa: FBT001 - a table
):
    asked: list[tuple[str, int]] = []
    decision = asyncio.Event()

    async def decided(owner: Owner, item_id: str) -> None:
        assert owner == XIAOMING
        asked.append((item_id, len(one.extractor.asked)))
        if len(asked) == 1:
            asyncio.get_running_loop().call_later(0.02, decision.set)
        await (decision.wait() if is_decided else asyncio.Event().wait())

    one = Workbench(tmp_path / "one", decided=decided, decision_seconds=5.0 if is_decided else 0.01)
    await one.observes(await one.says("t-1"), await one.ends("e-1"), await one.says("t-2"), await one.ends("e-2"))
    assert asked == [(answer.envelope.event_id, n) for n, answer in enumerate(await one.answers(), 1)]
    assert len(asked) == 2
    one.close()
    assert one.failures == []
