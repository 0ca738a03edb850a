"""Immediate decisions: what a command leaves in the log is what its delivery would have left, and none is overtaken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.examples import XIAOMING, envelope, forget, later, remember, said, tick
from support.memory_log import MemoryLog
from support.workbench import Workbench

from schemas import codec
from schemas.identity import Owner
from schemas.log import LogMoved, LogUnavailable, NewRecord, RecordTooLarge
from schemas.messages.erasure import EraseMemory
from schemas.topics import CONVERSATIONS, INBOX, LEDGER
from streams.agents.immediate_decisions import Decided, ImmediateDecisions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from schemas.log import Appended

COFFEE = "用户喜欢喝咖啡"
RUNNING = "用户喜欢跑步"
CAT = "用户有一只猫"


class PacedLog(MemoryLog):
    """Lets a test come between the decision and the append."""

    def __init__(self) -> None:
        """Begin without anybody who comes between."""
        super().__init__()
        self.settled: list[int] = []
        """How many records each transaction had."""
        self.between: Callable[[], Any] | None = None
        self.error: Exception | None = None
        self.is_heard = True

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """Append after what comes between; raise `error`, before it is appended or, unheard, after it."""
        await asyncio.sleep(0)
        if self.between is not None:
            between, self.between = self.between, None
            await between()
        if self.error is not None and self.is_heard:
            raise self.error
        self.settled.append(len(records))
        appended = await super().append_settled(records, places)
        if self.error is not None:
            raise self.error
        return appended


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one", PacedLog(), is_only_writer=True)
    yield bench
    bench.close()
    assert bench.failures == []


@pytest.fixture
def log(bench: Workbench) -> PacedLog:
    assert isinstance(bench.log, PacedLog)
    return bench.log


@pytest.fixture
def immediate(bench: Workbench) -> ImmediateDecisions:
    return ImmediateDecisions(
        log=bench.log,
        remember=bench.remember,
        shards=bench.shards,
        index_sync=bench.index_sync,
        pool=bench.deciding_pool,
        failed=bench.failures.append,
    )


async def given(immediate: ImmediateDecisions, *items: Any) -> list[Decided | None]:
    """Give commands at the same time."""

    async def give(item: Any) -> Decided | None:
        owner = item.envelope.owner
        record = NewRecord(topic=INBOX.name, partition=0, key=owner.key, value=codec.encode(item))
        return next(iter(await immediate.decide([item], [record])), None)

    return list(await asyncio.gather(*map(give, items)))


async def _turns() -> None:
    """Let tasks come to where they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


def owned(item: Any, user_id: str) -> Any:
    return replace(item, envelope=replace(item.envelope, user_id=user_id))


def contents(bench: Workbench, owner: Owner = XIAOMING) -> set[str]:
    return {memory.content for memory in bench.state(owner).memories.values()}


async def test_the_log_holds_what_delivering_would_have_left(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions, tmp_path: Path
):
    first = await bench.decides(said(COFFEE, "t-0"))
    known = next(iter(bench.state().memories))
    items: list[Any] = [
        remember(RUNNING, "c-1", later(hours=1)),
        forget(known, "f-2", later(hours=2)),
        remember(COFFEE, "c-3"),
    ]
    for item in items:
        log.now = item.envelope.occurred_at
        [decided] = await given(immediate, item)
        assert decided is not None
        assert decided.is_folded
        assert decided.decision == (await bench.ledger())[-1]
    assert log.settled == [2, 2, 2]
    alone = Workbench(tmp_path / "alone", MemoryLog())
    for record in await log.read(INBOX.name, 0, 0):
        alone.log.now = record.recorded_at
        await alone.publish(INBOX.name, record.value, record.key)
        await alone.remembers((await alone.log.read(INBOX.name, 0, record.position.offset))[0])
    assert first.position.offset == 0
    assert await bench.ledger() == await alone.ledger()
    assert bench.state() == alone.state()
    alone.close()


async def test_what_comes_meanwhile_shares_the_next_transaction_and_a_users_decisions_follow_each_other(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    items = [remember(RUNNING, "c-1"), remember(CAT, "c-2"), remember(RUNNING, "c-3"), owned(remember(CAT, "d-1"), "a")]
    decided = await given(immediate, *items, owned(remember(CAT, "d-2"), "b"))
    assert all(one is not None for one in decided)
    assert sum(log.settled) == 10
    assert contents(bench) == {COFFEE, RUNNING, CAT}
    assert [d.version for d in await bench.ledger() if d.envelope.user_id == XIAOMING.user_id] == [1, 2, 3, 4]
    assert contents(bench, Owner("default", "a")) == contents(bench, Owner("default", "b")) == {CAT}


async def test_the_next_transaction_knows_what_is_not_folded_yet(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    later_ones: list[asyncio.Task[Any]] = []

    async def another() -> None:
        later_ones.append(asyncio.create_task(given(immediate, remember(CAT, "c-2"), remember(RUNNING, "c-3"))))
        await _turns()

    log.between = another
    async with bench.shards.at(0).folding:  # so that nothing is folded before the second one is written
        first = asyncio.create_task(given(immediate, remember(RUNNING, "c-1")))
        while len(log.settled) < 2:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
    assert await first + await later_ones[0] != [None] * 3
    assert (log.settled[0], sum(log.settled)) == (2, 6)
    assert [d.version for d in await bench.ledger()] == [1, 2, 3, 4]
    assert [d.outcomes[0].action for d in await bench.ledger()][1:] == ["formed", "formed", "reinforced"]


async def test_the_first_command_of_an_inbox_is_delivered(bench: Workbench, immediate: ImmediateDecisions):
    assert await given(immediate, remember(COFFEE, "c-1")) == [None]
    assert await bench.log.end(INBOX.name, 0) == 0


async def test_a_command_does_not_overtake_what_is_not_delivered_yet(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    waiting = await bench.asks(remember(RUNNING, "c-1"))
    assert await given(immediate, remember(CAT, "c-2")) == [None]
    await bench.remembers(waiting)
    [decided] = await given(immediate, remember(CAT, "c-2"))
    assert decided is not None
    assert decided.decision.version == 3


async def test_a_command_waits_a_moment_for_what_is_about_to_be_delivered(
    bench: Workbench, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    waiting = await bench.asks(remember(RUNNING, "c-1"))
    giving = asyncio.create_task(given(immediate, remember(CAT, "c-2")))
    await asyncio.sleep(0)
    await bench.remembers(waiting)
    [decided] = await giving
    assert decided is not None
    assert decided.decision.version == 3


async def test_what_is_delivered_meanwhile_is_decided_before_commands_that_are_not_written_yet(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    overtaken: list[asyncio.Task[Any]] = []

    async def deliver() -> None:
        overtaken.append(asyncio.create_task(given(immediate, remember(CAT, "c-3"))))
        await _turns()
        record = await bench.asks(remember(RUNNING, "c-2"))
        await bench.remember.handle(bench._delivery(record))

    log.between = deliver
    assert await given(immediate, remember("用户住在上海", "c-1")) == [None]  # its place was taken
    assert await overtaken[0] == [None]
    await bench.deciding_pool.settle()
    assert contents(bench) == {COFFEE, RUNNING}
    assert await bench.dead() == []


async def test_a_tick_is_met_by_every_user_before_a_later_command_is_decided(
    bench: Workbench, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    due = await bench.asks(tick(later(days=60)))
    assert await given(immediate, remember(CAT, "c-2")) == [None]
    await bench.remembers(due)
    [decided] = await given(immediate, remember(CAT, "c-2"))
    assert decided is not None
    assert decided.decision.version == bench.state().version > 2


async def test_a_repeated_command_and_an_erasure_are_delivered(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    known = next(iter(bench.state().memories))
    erase = EraseMemory(envelope=envelope("e-2", later(hours=2)), memory_id=known, event_ids=[], letters=[])
    assert await given(immediate, remember(COFFEE, "c-0"), erase) == [None, None]
    assert len(await bench.ledger()) == 1


@pytest.mark.parametrize("error", [LogMoved("moved"), RecordTooLarge("wide")])
async def test_what_cannot_be_written_there_is_delivered_and_meets_its_fate_alone(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions, error: Exception
):
    await bench.decides(remember(COFFEE, "c-0"))
    log.error = error
    assert await given(immediate, remember(CAT, "c-1"), owned(remember(CAT, "d-1"), "a")) == [None, None]
    assert await log.end(LEDGER.name, 0) == 1
    log.error = None
    assert await given(immediate, remember(CAT, "c-1")) != [None]


@pytest.mark.parametrize("is_heard", [True, False])
async def test_who_is_not_told_whether_it_was_written_gets_the_error_and_the_next_decision_knows_of_it(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions, *, is_heard: bool
):
    await bench.decides(remember(COFFEE, "c-0"))
    log.error, log.is_heard = LogUnavailable("away"), is_heard
    with pytest.raises(LogUnavailable, match="away"):
        await given(immediate, remember(CAT, "c-1"))
    log.error = None
    await bench.deciding_pool.settle()
    assert contents(bench) == ({COFFEE} if is_heard else {COFFEE, CAT})
    await bench.remembers(*await log.read(INBOX.name, 0, 1))
    [decided] = await given(immediate, remember(CAT, "c-2"))
    assert decided is not None
    assert decided.decision.outcomes[0].action == ("formed" if is_heard else "reinforced")
    assert await bench.dead() == []


async def test_a_caller_who_gives_up_takes_nothing_back(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    giving = asyncio.create_task(given(immediate, remember(CAT, "c-1")))
    await _turns()
    giving.cancel()
    await bench.deciding_pool.settle()
    assert contents(bench) == {COFFEE, CAT}


async def test_a_user_whose_callers_never_pause_lets_what_is_delivered_come_between(
    bench: Workbench, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    is_done = asyncio.Event()
    called = [0, 0, 0]

    async def call(who: int) -> None:
        while not is_done.is_set():
            called[who] += 1
            await given(immediate, remember(CAT, f"c-{who}-{called[who]}"))

    callers = [asyncio.create_task(call(who)) for who in range(3)]
    while min(called) < 3:  # noqa: ASYNC110 - it ends by itself
        await asyncio.sleep(0)
    record = await bench.asks(remember(RUNNING, "x-1"))
    await bench.remember.handle(bench._delivery(record))
    async with asyncio.timeout(10):
        await bench.remember.decided(XIAOMING, "x-1")
    is_done.set()
    await asyncio.gather(*callers)
    assert RUNNING in contents(bench)
    assert await bench.dead() == []


async def test_observations_do_not_stand_in_the_way(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    await bench.says("t-1")
    assert await bench.log.end(CONVERSATIONS.name, 0) == 1
    assert await given(immediate, remember(CAT, "c-1")) != [None]
