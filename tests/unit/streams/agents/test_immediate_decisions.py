"""Immediate decisions: what a command leaves in the log is what its delivery would have left, and none is overtaken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.examples import XIAOMING, envelope, forget, later, recalled, remember, said, tick
from support.memory_log import MemoryLog
from support.workbench import Workbench

from schemas import codec
from schemas.identity import Owner
from schemas.log import LogMoved, LogUnavailable, NewRecord, RecordTooLarge
from schemas.messages.decision import MAX_CHANGES, Decision
from schemas.messages.erasure import Cut, EraseMemory, EraseUser
from schemas.topics import CONVERSATIONS, INBOX, LEDGER
from streams.agents.immediate_decisions import (
    FOLD_SECONDS,
    MOST_TOGETHER,
    PATIENCE_SECONDS,
    Decided,
    ImmediateDecisions,
)
from streams.delivery.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from projections.partitions.held import Held
    from projections.shard.ledger import Batch
    from schemas.log import Appended, Record
    from streams.agents.remember import Remember

COFFEE = "用户喜欢喝咖啡"
RUNNING = "用户喜欢跑步"
CAT = "用户有一只猫"
VOID = Decision(
    envelope=remember(COFFEE, "late").envelope,
    item_id="late",
    item_type="RememberFact",
    item_partition=0,
    item_offset=0,
    version=0,
    covered=[],
    outcomes=[],
    events=[],
)
NOISE = NewRecord(topic=LEDGER.name, partition=0, key=XIAOMING.key, value=codec.encode(VOID))


class PacedLog(MemoryLog):
    """Lets a test come between the decision and the append."""

    def __init__(self, partitions: int = 1) -> None:
        """Begin without anybody who comes between."""
        super().__init__(partitions)
        self.settled: list[int] = []
        """How many records each transaction had."""
        self.places: list[Sequence[Appended]] = []
        """The places wanted for each."""
        self.between: Callable[[], Any] | None = None
        self.error: Exception | None = None
        self.is_heard = True
        self.read_error: Exception | None = None

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """Read; raise `read_error` where there is one."""
        if self.read_error is not None:
            raise self.read_error
        return await super().read(topic, partition, start, limit)

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """Append after what comes between; raise `error`, before it is appended or, unheard, after it."""
        self.places.append(places)
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
    async def decide(*asked: Any) -> Decided | None:
        return await answering.decide(*asked)

    bench = Workbench(tmp_path / "one", PacedLog(), is_only_writer=True, decide=decide)
    answering = deciding(bench)
    yield bench
    bench.close()
    assert bench.failures == []


@pytest.fixture
def log(bench: Workbench) -> PacedLog:
    assert isinstance(bench.log, PacedLog)
    return bench.log


class TickingLog(PacedLog):
    """A log whose clock goes on each time that it is looked at."""

    def next_place(self, topic: str, partition: int) -> Appended:
        """Return where the next record will stand, a moment later than asked before."""
        self.now += timedelta(milliseconds=1)
        return super().next_place(topic, partition)


class GatedIndex:
    """An index that is written when the test lets it."""

    is_behind = True

    def __init__(self) -> None:
        """Begin closed."""
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()

    async def try_flush(self) -> None:
        """Wait for the gate."""
        self.asked.set()
        await self.gate.wait()


class BrokenIndex:
    """An index that fails as nobody expects."""

    is_behind = True

    async def try_flush(self) -> None:
        """Fail."""
        raise RuntimeError("the index is broken")


class Puzzled:
    """An agent with a defect: it meets an error that nothing expects when it decides one command."""

    def __init__(self, remember: Remember, command: str) -> None:
        """Do otherwise as the agent."""
        self._remember = remember
        self._command = command

    def __getattr__(self, name: str) -> Any:
        """Be the agent."""
        return getattr(self._remember, name)

    def decision(self, held: Held, item: Any, *rest: Any) -> Decision:
        """Decide, or fail."""
        if item.envelope.event_id == self._command:
            raise RuntimeError("odd")
        return self._remember.decision(held, item, *rest)


def deciding(
    bench: Workbench,
    index_sync: Any = None,
    *,
    remember: Any = None,
    counted: Callable[[str, str], None] = lambda _step, _outcome: None,
    patience_seconds: float = PATIENCE_SECONDS,
    fold_seconds: float = FOLD_SECONDS,
) -> ImmediateDecisions:
    """Return what decides at once for a workbench, perhaps with another index and other times."""
    return ImmediateDecisions(
        log=bench.log,
        remember=remember or bench.remember,
        counted=counted,
        shards=bench.shards,
        index_sync=index_sync or bench.index_sync,
        pool=bench.deciding_pool,
        failed=bench.failures.append,
        patience_seconds=patience_seconds,
        fold_seconds=fold_seconds,
    )


@pytest.fixture
def immediate(bench: Workbench) -> ImmediateDecisions:
    return deciding(bench)


def recorded(item: Any, partition: int = 0) -> NewRecord:
    """Return an item as a record of an inbox."""
    return NewRecord(topic=INBOX.name, partition=partition, key=item.envelope.owner.key, value=codec.encode(item))


async def given(immediate: ImmediateDecisions, *items: Any) -> list[Decided | None]:
    """Give commands at the same time."""

    async def give(item: Any) -> Decided | None:
        return await immediate.decide(item, recorded(item))

    return list(await asyncio.gather(*map(give, items)))


def _command(command: str) -> tuple[Any, NewRecord]:
    item = remember(CAT, command)
    return item, recorded(item)


async def _turns() -> None:
    """Let tasks come to where they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


def owned(item: Any, user_id: str) -> Any:
    return replace(item, envelope=replace(item.envelope, user_id=user_id))


def of_partitions(bench: Workbench) -> list[str]:
    """Return a user of each partition, in their order."""
    users = {bench.shards.partition(Owner("default", f"u{n}")): f"u{n}" for n in range(20)}
    return [users[partition] for partition in sorted(users)]


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


async def test_what_was_decided_here_is_folded_without_reading_it_again(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    log.read_error = RuntimeError("nothing is read again")
    [decided] = await given(immediate, remember(RUNNING, "c-1"))
    assert decided is not None
    assert decided.is_folded
    assert contents(bench) == {COFFEE, RUNNING}
    assert bench.shards.has_folded(LEDGER.name, 0, await log.end(LEDGER.name, 0))


async def test_what_comes_behind_something_that_is_not_folded_is_read_with_it(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    await log.append([NOISE])
    [decided] = await given(immediate, remember(RUNNING, "c-1"))
    assert decided is not None
    assert decided.is_folded
    assert contents(bench) == {COFFEE, RUNNING}


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


async def test_a_command_waits_a_moment_for_what_is_about_to_be_delivered(bench: Workbench):
    immediate = deciding(bench, patience_seconds=60)
    await bench.decides(remember(COFFEE, "c-0"))
    waiting = await bench.asks(remember(RUNNING, "c-1"))
    giving = asyncio.create_task(given(immediate, remember(CAT, "c-2")))
    await _turns()
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


async def test_a_command_that_waits_for_a_transaction_does_not_overtake_what_was_appended_meanwhile(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    overtaken: list[asyncio.Task[Any]] = []

    async def append() -> None:
        overtaken.append(asyncio.create_task(given(immediate, remember(CAT, "c-3"))))
        await _turns()
        await bench.asks(remember(RUNNING, "c-2"))

    log.between = append
    assert await given(immediate, remember("用户住在上海", "c-1")) == [None]  # its place was taken
    assert await overtaken[0] == [None]
    await bench.remembers(*await log.read(INBOX.name, 0, 1))
    assert contents(bench) == {COFFEE, RUNNING}
    assert await bench.dead() == []


@pytest.mark.parametrize("other", ["xiaoming", "a"])
async def test_a_command_that_a_tick_comes_before_waits_for_no_transaction_and_takes_no_turn(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions, other: str
):
    await bench.decides(remember(COFFEE, "c-0"))

    async def deliver() -> None:
        await bench.asks(tick(later(days=60)))
        async with asyncio.timeout(60):
            assert await given(immediate, owned(remember(CAT, "c-2"), other)) == [None]

    log.between = deliver
    assert await given(immediate, remember(RUNNING, "c-1")) == [None]  # its place was taken


async def test_a_command_of_whom_something_waits_for_the_turn_waits_for_no_transaction(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))

    async def deliver() -> None:
        await bench.remember.handle(bench._delivery(await bench.asks(remember(RUNNING, "c-2"))))
        async with asyncio.timeout(60):
            assert await given(immediate, remember(CAT, "c-3")) == [None]

    log.between = deliver
    assert await given(immediate, remember("用户住在上海", "c-1")) == [None]  # its place was taken
    await bench.deciding_pool.settle()
    assert contents(bench) == {COFFEE, RUNNING}


async def test_a_decision_knows_of_one_that_is_still_to_be_folded_when_an_earlier_one_is(
    bench: Workbench, log: PacedLog
):
    index = GatedIndex()
    immediate = deciding(bench, index)
    await bench.decides(remember(COFFEE, "c-0"))
    first = asyncio.create_task(given(immediate, remember(RUNNING, "c-1")))
    await index.asked.wait()
    async with bench.shards.at(0).folding:
        rest = [asyncio.create_task(given(immediate, remember(CAT, "c-2")))]
        while len(log.settled) < 2:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
        index.gate.set()
        await first
        rest.append(asyncio.create_task(given(immediate, remember("用户住在上海", "c-3"))))
        while len(log.settled) < 3:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
    await asyncio.gather(*rest)
    assert [d.version for d in await bench.ledger()] == [1, 2, 3, 4]


async def test_what_was_dropped_before_it_was_decided_is_not_overtaken_when_deliveries_begin_anew(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    assert bench.deciding_pool.hold(0, Owner("default", "a")) is not None  # somebody is at this user
    await bench.remember.handle(bench._delivery(await bench.asks(owned(remember(RUNNING, "d-1"), "a"))))

    async def revoke() -> None:
        bench.remember.revoke(0)

    log.between = revoke
    assert await given(immediate, remember(CAT, "c-2")) != [None]
    assert await given(immediate, owned(remember(CAT, "d-3"), "a")) == [None]
    await bench.remembers(*await log.read(INBOX.name, 0, 0))
    assert contents(bench, Owner("default", "a")) == {RUNNING}
    assert await bench.dead() == []


async def test_all_commands_of_a_transaction_are_decided_as_of_one_moment(tmp_path: Path):
    log = TickingLog(2)
    bench = Workbench(tmp_path, log, partitions=2, is_only_writer=True)
    users = of_partitions(bench)
    immediate = deciding(bench)
    for n, user in enumerate(users):
        await bench.decides(owned(remember(COFFEE, f"c-{n}"), user))
    items = [owned(remember(CAT, f"d-{n}"), user) for n, user in enumerate(users)]
    await asyncio.gather(*(immediate.decide(item, recorded(item, n)) for n, item in enumerate(items)))
    [places] = log.places
    assert sorted(place.position.partition for place in places) == [0, 1]
    assert len({place.recorded_at for place in places}) == 1
    bench.close()


async def test_whoever_waits_for_a_command_is_told_of_its_decision(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    waiting = asyncio.create_task(bench.remember.decided(XIAOMING, "c-1"))
    await _turns()
    await given(immediate, remember(CAT, "c-1"))
    await asyncio.wait_for(waiting, 60)


async def test_what_takes_several_decisions_is_delivered(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    shown = recalled(*(f"m-{n}" for n in range(MAX_CHANGES + 1)), command="r-1")
    assert await given(immediate, shown) == [None]
    assert len(await bench.ledger()) == 1


async def test_a_transaction_has_no_more_commands_than_one_may(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    rest: list[asyncio.Task[Any]] = []

    async def crowd() -> None:
        items = [remember(CAT, f"d-{n}") for n in range(MOST_TOGETHER + 1)]
        rest.append(asyncio.create_task(given(immediate, *items)))
        await _turns()

    log.between = crowd
    await given(immediate, remember(RUNNING, "c-1"))
    await rest[0]
    assert log.settled == [2, 2 * MOST_TOGETHER, 2]


async def test_a_caller_is_answered_after_a_while_although_the_decision_is_not_folded_yet(
    bench: Workbench,
):
    immediate = deciding(bench, fold_seconds=0)
    await bench.decides(remember(COFFEE, "c-0"))
    async with bench.shards.at(0).folding:
        [decided] = await given(immediate, remember(CAT, "c-1"))
        assert decided is not None
        assert not decided.is_folded
    await bench.deciding_pool.settle()
    assert contents(bench) == {COFFEE, CAT}


@pytest.mark.parametrize("value", [b"unreadable", codec.encode(remember(RUNNING, "c-1"))])
async def test_what_an_earlier_assignment_delivered_does_not_count_as_handled(
    bench: Workbench, immediate: ImmediateDecisions, value: bytes
):
    await bench.decides(remember(COFFEE, "c-0"))
    record = await bench.publish(INBOX.name, value)
    await bench.remember.handle(Delivery(record, lambda: None, lambda: False))
    assert await given(immediate, remember(CAT, "c-2")) == [None]


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


async def test_after_deliveries_have_begun_anew_no_command_is_decided_beside_what_is_delivered(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    async with bench.shards.at(0).folding:  # so that the turn lasts
        first = asyncio.create_task(given(immediate, remember(RUNNING, "c-1")))
        while not log.settled:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
        bench.remember.revoke(0)
        again = await log.read(INBOX.name, 0, 0)
        for record in (*again, await bench.asks(remember(CAT, "x-2"))):
            await bench.remember.handle(bench._delivery(record))
        assert await given(immediate, remember("用户住在上海", "c-3")) == [None]
    assert await first != [None]
    await bench.deciding_pool.settle()
    assert contents(bench) == {COFFEE, RUNNING, CAT}
    assert await bench.dead() == []


async def test_a_shard_that_cannot_be_folded_holds_up_no_other(tmp_path: Path):
    bench = Workbench(tmp_path, MemoryLog(2), partitions=2, is_only_writer=True)
    users = of_partitions(bench)
    immediate = deciding(bench)
    for n, user in enumerate(users):
        await bench.decides(owned(remember(COFFEE, f"c-{n}"), user))
    async with bench.shards.at(0).folding:
        items = [owned(remember(CAT, f"d-{n}"), user) for n, user in enumerate(users)]
        both = [asyncio.create_task(immediate.decide(item, recorded(item, n))) for n, item in enumerate(items)]
        other = await both[1]
        assert other is not None
        assert other.is_folded
        await bench.deciding_pool.settle(1)
    assert await both[0] is not None
    bench.close()


async def test_a_caller_is_answered_although_nobody_can_fold_any_more(bench: Workbench, log: PacedLog):
    immediate = deciding(bench, index_sync=BrokenIndex())
    await bench.decides(remember(COFFEE, "c-0"))
    [decided] = await given(immediate, remember(CAT, "c-1"))
    assert decided is not None
    assert not decided.is_folded
    assert [str(error) for error in bench.failures] == ["the index is broken"]
    bench.failures.clear()
    assert log.settled == [2]


async def test_whoever_loses_the_partition_meanwhile_leaves_the_fold_to_the_next_one(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    async with bench.shards.at(0).folding:
        giving = asyncio.create_task(given(immediate, remember(RUNNING, "c-1"), remember(CAT, "c-2")))
        while not log.settled:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
        bench.revoke()
        bench.shards.assignment.release(0)
        bench.shards.assignment.unassign()
    assert [decided is not None and decided.is_folded for decided in await giving] == [False, False]
    assert not bench.deciding_pool.is_busy(0, XIAOMING)


@pytest.mark.parametrize("error", [None, LogUnavailable("away")], ids=["written", "not known"])
async def test_a_worker_that_stops_leaves_what_is_not_folded_to_the_next_one(
    bench: Workbench, log: PacedLog, error: Exception | None
):
    immediate = deciding(bench, fold_seconds=0)
    await bench.decides(remember(COFFEE, "c-0"))
    log.error, log.is_heard = error, False
    async with bench.shards.at(0).folding:
        await asyncio.gather(given(immediate, remember(CAT, "c-1")), return_exceptions=True)
        await immediate.stop()
        bench.close()
    await _turns()
    assert bench.failures == []
    assert [d.version for d in await bench.ledger()] == [1, 2]


async def test_when_a_worker_stops_nobody_is_left_waiting(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    never = asyncio.Event()
    log.between = never.wait  # the disk takes its time
    being_written = asyncio.create_task(immediate.decide(*_command("c-3")))
    await _turns()
    behind = asyncio.create_task(immediate.decide(*_command("c-4")))
    await _turns()
    await immediate.stop()
    async with asyncio.timeout(60):
        answers = await asyncio.gather(being_written, behind, return_exceptions=True)
    assert [type(answer) for answer in answers] == [LogUnavailable, LogUnavailable]
    assert await given(immediate, remember(CAT, "c-5")) == [None]


async def test_a_worker_that_stops_answers_whose_decision_is_written_and_not_folded(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    giving = asyncio.create_task(immediate.decide(*_command("c-1")))
    async with bench.shards.at(0).folding:  # so that it cannot be folded here
        while not log.settled:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
        await immediate.stop()
    async with asyncio.timeout(60):
        [answer] = await asyncio.gather(giving, return_exceptions=True)
    assert isinstance(answer, LogUnavailable)
    assert [d.version for d in await bench.ledger()] == [1, 2]


async def test_a_command_that_still_waits_for_its_turn_when_the_worker_stops_takes_none(bench: Workbench):
    immediate = deciding(bench, patience_seconds=60)
    await bench.decides(remember(COFFEE, "c-0"))
    waiting = await bench.asks(remember(RUNNING, "c-1"))
    giving = asyncio.create_task(given(immediate, remember(CAT, "c-2")))
    await _turns()
    await immediate.stop()
    await bench.remembers(waiting)
    assert await giving == [None]
    assert not bench.deciding_pool.is_busy(0, XIAOMING)


async def test_tenants_have_turns_and_a_users_commands_stay_in_order(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    rest: list[asyncio.Task[Any]] = []

    async def crowd() -> None:
        items = [remember(f"用户喜欢第{n}首歌", f"d-{n}") for n in range(2 * MOST_TOGETHER)]
        alone = replace(remember(CAT, "e-1"), envelope=replace(remember(CAT, "e-1").envelope, tenant="another"))
        rest.append(asyncio.create_task(given(immediate, *items, alone)))
        await _turns()

    log.between = crowd
    await given(immediate, remember(RUNNING, "c-1"))
    await rest[0]
    items = [codec.decode(record.value) for record in await log.read(INBOX.name, 0, 2)]
    assert [item.envelope.tenant for item in items].index("another") == 1
    own = [item.envelope.event_id for item in items if item.envelope.tenant != "another"]
    assert own == [f"d-{n}" for n in range(2 * MOST_TOGETHER)]


async def test_the_answer_to_a_window_and_the_decision_on_it_are_one_transaction(
    bench: Workbench, log: PacedLog, tmp_path: Path
):
    await bench.decides(remember(COFFEE, "c-0"))
    turn = await bench.says("t-0")
    await bench.observes(turn, await bench.ends("e-1"))
    assert log.settled == [2]
    [answer] = await bench.answers()
    assert [d.item_id for d in await bench.ledger()] == ["c-0", answer.envelope.event_id]
    assert (sorted(bench.state().covered), len(bench.state().memories)) == (["t-0#0"], 2)
    assert str(turn.position) in bench.acked
    alone = Workbench(tmp_path / "alone", MemoryLog())
    for record in await log.read(INBOX.name, 0, 0):
        alone.log.now = record.recorded_at
        await alone.remembers(await alone.publish(INBOX.name, record.value, record.key))
    assert await bench.ledger() == await alone.ledger()
    alone.close()


async def test_who_is_told_of_the_decision_on_an_answer_finds_both_folded(bench: Workbench, log: PacedLog):
    await bench.decides(remember(COFFEE, "c-0"))
    index = GatedIndex()
    giving = asyncio.create_task(given(deciding(bench, index), said(RUNNING, "t-0")))
    await index.asked.wait()
    assert bench.shards.has_folded(INBOX.name, 0, await log.end(INBOX.name, 0))
    assert bench.shards.has_folded(LEDGER.name, 0, await log.end(LEDGER.name, 0))
    index.gate.set()
    assert await giving != [None]


async def test_an_answer_is_delivered_where_a_decision_before_it_is_not_folded_yet(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))
    async with bench.shards.at(0).folding:
        first = asyncio.create_task(given(immediate, remember(RUNNING, "c-1")))
        while not log.settled:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
        assert await given(immediate, said(RUNNING, "t-0")) == [None]
    assert await first != [None]
    await bench.decides(said(RUNNING, "t-0"))
    assert [d.outcomes[0].action for d in await bench.ledger()] == ["formed", "formed", "reinforced"]


async def test_an_answer_to_words_that_are_being_erased_is_not_appended(bench: Workbench, log: PacedLog):
    await bench.decides(remember(COFFEE, "c-0"))
    turn, end = await bench.says("t-0"), await bench.ends("e-1")
    async with bench.extractions.gate.erasing(XIAOMING):
        observing = asyncio.create_task(bench.observes(turn, end))
        while not bench.extractor.windows:  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0)
        for _ in range(20):
            await _turns()
        assert await bench.answers() == []
        cut = [Cut(topic=CONVERSATIONS.name, before=turn.position.offset + 1)]
        await bench.decides(EraseUser(envelope=envelope("e", later(days=1)), cut=cut, key_ids=[], observations=0))
    await observing
    assert (await bench.answers(), log.settled) == ([], [])
    assert str(turn.position) in bench.acked


@pytest.mark.parametrize("is_heard", [True, False])
async def test_an_answer_of_which_it_is_not_known_whether_the_log_has_it_is_appended_again_and_counts_once(
    bench: Workbench, log: PacedLog, *, is_heard: bool
):
    await bench.decides(remember(COFFEE, "c-0"))
    turn, end = await bench.says("t-0"), await bench.ends("e-1")
    log.error, log.is_heard = LogUnavailable("the disk is away"), is_heard
    await bench.observes(turn, end)
    log.error = None
    await bench.remembers(*await log.read(INBOX.name, 0, 1))
    assert len(await bench.answers()) == (1 if is_heard else 2)
    assert [d.version for d in await bench.ledger()] == [1, 2]
    assert len(bench.state().memories) == 2


async def test_turns_that_are_kept_word_for_word_are_delivered(bench: Workbench, log: PacedLog):
    await bench.decides(remember(COFFEE, "c-0"))
    await bench.observes(await bench.says("t-0", infer=False))
    assert (len(await bench.answers()), log.settled) == (1, [])
    await bench.remembers(*await log.read(INBOX.name, 0, 1))
    assert sorted(bench.state().covered) == ["t-0#0"]


async def test_an_answer_whose_user_cannot_be_read_now_is_delivered(bench: Workbench, immediate: ImmediateDecisions):
    await bench.decides(remember(COFFEE, "c-0"))
    answer = said(RUNNING, "t-0")
    bench.shards.assignment.release(0)
    assert await given(immediate, answer) == [None]


async def test_a_partition_that_is_lost_before_the_fold_of_an_answer_ends_nothing_else(
    bench: Workbench, log: PacedLog, immediate: ImmediateDecisions
):
    await bench.decides(remember(COFFEE, "c-0"))

    async def lose() -> None:
        bench.shards.assignment.release(0)

    log.between = lose
    [decided] = await given(immediate, said(RUNNING, "t-0"))
    await _turns()
    assert decided is not None
    assert not decided.is_folded
    assert not bench.deciding_pool.is_busy(0, XIAOMING)
    assert bench.failures == []


async def test_an_error_that_nothing_expects_while_a_command_is_decided_is_its_callers_alone(
    bench: Workbench, log: PacedLog
):
    await bench.decides(remember(COFFEE, "c-0"))
    immediate = deciding(bench, remember=Puzzled(bench.remember, "c-2"))
    giving = [immediate.decide(*_command(command)) for command in ("c-1", "c-2", "c-3")]
    async with asyncio.timeout(60):
        first, odd, last = await asyncio.gather(*giving, return_exceptions=True)
    assert isinstance(odd, RuntimeError)
    assert isinstance(first, Decided)
    assert isinstance(last, Decided)
    assert (await log.end(INBOX.name, 0), [d.version for d in await bench.ledger()]) == (3, [1, 2, 3])
    assert await given(immediate, remember(RUNNING, "c-4")) != [None]
    assert not bench.deciding_pool.is_busy(0, XIAOMING)


@pytest.mark.parametrize("is_heard", [True, False])
async def test_after_a_write_that_failed_as_nothing_expects_nobody_waits_and_what_the_log_has_is_decided_once(
    bench: Workbench, log: PacedLog, *, is_heard: bool
):
    await bench.decides(remember(COFFEE, "c-0"))
    immediate = deciding(bench)
    behind: list[asyncio.Task[Any]] = []

    async def another() -> None:
        behind.append(asyncio.create_task(given(immediate, remember(RUNNING, "c-2"), owned(remember(CAT, "d"), "a"))))
        await _turns()

    log.error, log.is_heard, log.between = RuntimeError("odd"), is_heard, another
    async with asyncio.timeout(60):
        with pytest.raises(LogUnavailable, match="send it again"):
            await given(immediate, remember(CAT, "c-1"))
        log.error = None
        assert await behind[0] == [None, None]  # they are delivered
        await bench.deciding_pool.settle()
    assert [str(error) for error in bench.failures] == ["odd"]
    bench.failures.clear()
    assert await given(immediate, remember(CAT, "c-1")) == [None]
    await bench.decides(remember(CAT, "c-1"))
    await bench.decides(remember(RUNNING, "c-2"))
    assert [d.item_id for d in await bench.ledger()] == ["c-0", "c-1", "c-2"]
    assert contents(bench) == {COFFEE, CAT, RUNNING}


async def test_after_a_fold_that_failed_as_nothing_expects_no_decision_is_made_without_it(
    bench: Workbench, log: PacedLog
):
    await bench.decides(remember(COFFEE, "c-0"))
    immediate = deciding(bench)
    rest: list[asyncio.Task[Any]] = []

    async def another() -> None:
        await log.append([NOISE])  # so that the ledger is to be read
        log.read_error = RuntimeError("odd")
        rest.append(asyncio.create_task(given(immediate, remember(CAT, "c-2"))))
        await _turns()

    log.between = another
    [decided] = await given(immediate, remember(RUNNING, "c-1"))
    assert decided is not None
    assert not decided.is_folded
    await rest[0]
    log.read_error = None
    assert await given(immediate, remember("用户住在上海", "c-3")) == [None]
    assert [str(error) for error in {*bench.failures}] == ["odd"]
    bench.failures.clear()
    await bench.decides(remember("用户住在上海", "c-3"))
    assert contents(bench) == {COFFEE, RUNNING, CAT, "用户住在上海"}
    assert bench.state().version == 4


async def test_after_a_fold_of_what_was_known_that_failed_as_nothing_expects_no_decision_is_made_without_it(
    bench: Workbench, immediate: ImmediateDecisions, monkeypatch: pytest.MonkeyPatch
):
    await bench.decides(remember(COFFEE, "c-0"))

    def keep(_batch: Batch) -> None:
        raise RuntimeError("odd")

    with monkeypatch.context() as patched:
        patched.setattr(bench.shards.at(0).ledger, "keep", keep)
        [decided] = await given(immediate, remember(RUNNING, "c-1"))
    assert decided is not None
    assert not decided.is_folded
    assert [str(error) for error in bench.failures] == ["odd"]
    bench.failures.clear()
    assert await given(immediate, remember(CAT, "c-2")) == [None]


async def test_what_the_log_has_is_folded_though_it_cannot_be_counted(bench: Workbench):
    def counted(_step: str, _outcome: str) -> None:
        raise RuntimeError("odd")

    await bench.decides(remember(COFFEE, "c-0"))
    async with asyncio.timeout(60):
        [decided] = await given(deciding(bench, counted=counted), remember(CAT, "c-1"))
    assert decided is not None
    assert decided.is_folded
    assert [str(error) for error in bench.failures] == ["odd"]
    bench.failures.clear()
    assert contents(bench) == {COFFEE, CAT}
