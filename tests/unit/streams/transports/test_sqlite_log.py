"""What the embedded log does beyond every log: its clock, its topics, retention, compaction, following, sharing."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.garbage import garbage

from schemas.log import LogError, LogMoved, LogUnavailable, NewRecord
from streams.transports.batching import LONGEST_WAIT_SECONDS
from streams.transports.sqlite import writer
from streams.transports.sqlite.file import LOG_FILE, open_file
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rows import Ends, append_rows, spell
from streams.transports.sqlite.writer import Job, SqliteWriter

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator

    from streams.transports.sqlite.growth import Place

TOPIC = "mnemolog.inbox"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


class HandClock:
    """A wall clock that is set by hand."""

    def __init__(self, now: datetime) -> None:
        """Stand at `now`."""
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def record(value: bytes, key: bytes | None = b"default/xiaoming", partition: int = 0) -> NewRecord:
    return NewRecord(topic=TOPIC, partition=partition, key=key, value=value)


async def values(log: SqliteLog, partition: int = 0) -> list[bytes]:
    return [r.value for r in await log.read(TOPIC, partition, 0)]


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


@pytest.fixture
def log(tmp_path: Path, clock: HandClock) -> Iterator[SqliteLog]:
    log = SqliteLog.open(tmp_path, clock)
    yield log
    log.close()


@pytest.fixture
async def inbox(log: SqliteLog) -> SqliteLog:
    await log.create_topic(TOPIC, 2)
    return log


async def test_log_time_is_the_given_clock_in_whole_milliseconds(inbox: SqliteLog, clock: HandClock):
    clock.now = NOON + timedelta(microseconds=1999)
    [appended] = await inbox.append([record(b"x")])
    assert appended.recorded_at == NOON + timedelta(milliseconds=1)


async def test_log_time_stands_still_while_the_clock_is_behind(inbox: SqliteLog, clock: HandClock):
    await inbox.append([record(b"noon")])
    clock.now = NOON - timedelta(hours=1)
    [late] = await inbox.append([record(b"an hour earlier, says the clock")])
    [other] = await inbox.append([record(b"other", partition=1)])
    assert late.recorded_at == NOON
    assert other.recorded_at == NOON  # one time for all partitions: they are compared


async def test_log_time_does_not_go_back_over_a_restart_even_if_retention_took_the_records(tmp_path: Path):
    clock = HandClock(NOON)
    log = SqliteLog.open(tmp_path, clock)
    await log.create_topic(TOPIC, 1)
    await log.append([record(b"gone")])
    await log.drop_before(TOPIC, 0, 1)
    log.close()
    clock.now = NOON - timedelta(days=1)
    again = SqliteLog.open(tmp_path, clock)
    [appended] = await again.append([record(b"x")])
    again.close()
    assert (appended.position.offset, appended.recorded_at) == (1, NOON)


async def test_everything_is_there_after_closing_and_opening(tmp_path: Path):
    log = SqliteLog.open(tmp_path)
    await log.create_topic(TOPIC, 2, timedelta(days=30))
    await log.append([record(b"one"), record(b"two", partition=1)])
    await log.commit_offsets("observe", {(TOPIC, 0): 1})
    log.close()
    again = SqliteLog.open(tmp_path)
    assert (await values(again, 0), await values(again, 1)) == ([b"one"], [b"two"])
    assert (await again.end(TOPIC, 0), again.committed("observe", TOPIC, 0)) == (1, 1)
    assert again.topics()[TOPIC].retention_s == 30 * 86400
    again.close()


async def test_a_group_that_committed_nothing_has_no_offset_and_zero_is_an_offset(inbox: SqliteLog):
    assert inbox.committed("observe", TOPIC, 0) is None
    await inbox.commit_offsets("observe", {(TOPIC, 0): 0})
    assert inbox.committed("observe", TOPIC, 0) == 0
    assert inbox.committed("remember", TOPIC, 0) is None


async def test_what_is_dropped_is_gone_and_the_offsets_stay(inbox: SqliteLog):
    await inbox.append([record(b"old"), record(b"old too")])
    await inbox.append([record(b"new")])
    await inbox.drop_before(TOPIC, 0, 2)
    assert (await inbox.earliest(TOPIC, 0), await inbox.end(TOPIC, 0)) == (2, 3)
    assert [(r.position.offset, r.value) for r in await inbox.read(TOPIC, 0, 0)] == [(2, b"new")]


async def test_dropping_everything_leaves_an_empty_partition_at_its_end(inbox: SqliteLog):
    await inbox.append([record(b"%d" % n) for n in range(5)])
    await inbox.append([record(b"stays", partition=1)])
    await inbox.drop_before(TOPIC, 0, 5)
    await inbox.drop_before(TOPIC, 0, 9)
    assert (await inbox.earliest(TOPIC, 0), await inbox.end(TOPIC, 0), await values(inbox)) == (5, 5, [])
    assert await values(inbox, 1) == [b"stays"]


async def test_a_topics_retention_can_be_changed_its_partitions_cannot(inbox: SqliteLog):
    await inbox.create_topic(TOPIC, 2, timedelta(days=7))
    assert inbox.topics()[TOPIC].retention_s == 7 * 86400
    with pytest.raises(LogError, match="2 partitions, not 8"):
        await inbox.create_topic(TOPIC, 8)


async def test_compaction_keeps_each_keys_newest_and_its_tombstones(log: SqliteLog):
    await log.create_topic(TOPIC, 1, compact=True)
    pairs = [(b"a", b"1"), (b"b", b"1"), (None, b"x"), (b"a", b"2"), (b"b", b"")]
    await log.append([record(value, key) for key, value in pairs])
    assert await log.compact(TOPIC) == 2
    assert [(r.position.offset, r.key, r.value) for r in await log.read(TOPIC, 0, 0)] == [
        (2, None, b"x"),
        (3, b"a", b"2"),
        (4, b"b", b""),
    ]


async def test_only_a_topic_made_for_it_is_compacted(inbox: SqliteLog):
    with pytest.raises(LogError, match="history would be lost"):
        await inbox.compact(TOPIC)


async def test_a_follower_is_told_which_partitions_grew_once_their_records_are_durable(inbox: SqliteLog):
    told: asyncio.Queue[tuple[set[Place], bool]] = asyncio.Queue()
    inbox.growth.follow(lambda places, is_settled: told.put_nowait((set(places), is_settled)))
    await asyncio.gather(inbox.append([record(b"x", partition=1)]), inbox.append([record(b"y"), record(b"z")]))
    assert await asyncio.wait_for(told.get(), 120) == ({(TOPIC, 0), (TOPIC, 1)}, False)
    assert inbox.end_now(TOPIC, 0) == 2
    await inbox.append([record(b"x", partition=1)])
    assert await asyncio.wait_for(told.get(), 120) == ({(TOPIC, 1)}, False)
    await inbox.append_settled([record(b"z")], [inbox.next_place(TOPIC, 0)])
    assert await asyncio.wait_for(told.get(), 120) == ({(TOPIC, 0)}, True)


async def test_a_follower_is_told_nothing_of_what_appends_nothing_or_after_it_has_ended(inbox: SqliteLog):
    told: list[Collection[Place]] = []
    unfollow = inbox.growth.follow(lambda places, _: told.append(places))
    await inbox.commit_offsets("group", {(TOPIC, 0): 0})
    unfollow()
    await inbox.append([record(b"x")])
    await asyncio.sleep(0.05)
    assert told == []


async def test_a_write_that_fails_takes_no_offset_from_those_that_shared_its_transaction(inbox: SqliteLog):
    def fail(_partition_id: int, _connection: sqlite3.Connection) -> None:
        raise ValueError("not written")

    await inbox.append([record(b"a")])
    first, failed, second = await asyncio.gather(
        inbox.append([record(b"b")]),
        inbox.edit(TOPIC, 0, fail),
        inbox.append([record(b"c")]),
        return_exceptions=True,
    )
    assert isinstance(failed, LogError)
    assert not isinstance(first, BaseException)
    assert not isinstance(second, BaseException)
    assert [one.position.offset for one in (*first, *second)] == [1, 2]
    assert [r.value for r in await inbox.read(TOPIC, 0, 0)] == [b"a", b"b", b"c"]


async def test_a_bad_record_is_refused_before_anything_is_written(inbox: SqliteLog):
    with pytest.raises(TypeError, match="bytes"):
        await inbox.append([record(b"good"), record("not bytes")])  # type: ignore[arg-type] # what is meant by bad
    assert await values(inbox) == []


async def test_a_broken_clock_fails_its_call_and_not_the_log(inbox: SqliteLog, clock: HandClock):
    clock.now = None  # type: ignore[assignment] # what is meant by broken
    with pytest.raises(LogError, match="could not be written"):
        await inbox.append([record(b"x")])
    clock.now = NOON
    assert [a.position.offset for a in await inbox.append([record(b"y")])] == [0]


async def test_a_record_gets_the_place_that_was_foreseen(inbox: SqliteLog, clock: HandClock):
    await inbox.append([record(b"before")])
    clock.now = NOON + timedelta(seconds=1)
    place = inbox.next_place(TOPIC, 0)
    clock.now = NOON + timedelta(seconds=2)
    appended = await inbox.append_settled([record(b"x"), record(b"other", partition=1), record(b"y")], [place])
    assert appended[0] == place
    assert {one.recorded_at for one in appended} == {place.recorded_at}
    assert [r.is_settled for r in await inbox.read(TOPIC, 0, 0)] == [False, True, True]
    assert inbox.next_place(TOPIC, 0).position.offset == 3


@pytest.mark.parametrize("later_ms", [0, 1], ids=["offset", "time"])
async def test_nothing_is_appended_where_somebody_came_first_and_who_shares_the_transaction_is_not_disturbed(
    inbox: SqliteLog, clock: HandClock, later_ms: int
):
    await inbox.append([record(b"before")])
    place = inbox.next_place(TOPIC, 0)
    clock.now += timedelta(milliseconds=later_ms)
    await inbox.append([record(b"first", partition=later_ms)])
    beside = asyncio.create_task(inbox.append([record(b"beside")]))
    with pytest.raises(LogMoved, match="was wanted, and the log"):
        await inbox.append_settled([record(b"x"), record(b"y", partition=1)], [place])
    await beside
    assert b"x" not in await values(inbox)
    assert b"y" not in await values(inbox, 1)
    assert b"beside" in await values(inbox)


async def test_a_place_is_foreseen_no_earlier_than_what_the_log_has_though_the_clock_went_back_and_a_write_failed(
    inbox: SqliteLog, clock: HandClock
):
    def fail(_partition_id: int, _connection: sqlite3.Connection) -> None:
        raise ValueError("not written")

    clock.now = NOON + timedelta(hours=1)
    await inbox.append([record(b"x", partition=1)])
    clock.now = NOON
    with pytest.raises(LogError, match="not written"):
        await inbox.edit(TOPIC, 1, fail)
    place = inbox.next_place(TOPIC, 0)
    [appended] = await inbox.append_settled([record(b"y")], [place])
    assert appended.recorded_at == NOON + timedelta(hours=1)


async def test_the_time_of_a_place_that_was_foreseen_is_not_gone_behind_when_the_clock_goes_back(
    inbox: SqliteLog, clock: HandClock
):
    await inbox.append([record(b"before")])
    clock.now = NOON + timedelta(hours=1)
    place = inbox.next_place(TOPIC, 0)
    await inbox.append_settled([record(b"x")], [place])
    clock.now = NOON + timedelta(minutes=1)
    assert inbox.next_place(TOPIC, 1).recorded_at == place.recorded_at
    appended = await inbox.append([record(b"y"), record(b"z", partition=1)])
    assert {one.recorded_at for one in appended} == {place.recorded_at}


async def test_a_caller_that_gives_up_does_not_disturb_the_others(inbox: SqliteLog):
    first = asyncio.create_task(inbox.append([record(b"given up")]))
    second = asyncio.create_task(inbox.append([record(b"patient")]))
    await asyncio.sleep(0)
    first.cancel()
    assert [a.position.offset for a in await second] == [1]
    assert await values(inbox) == [b"given up", b"patient"]


async def test_the_process_shares_one_log_per_directory_until_the_last_close(tmp_path: Path):
    log = SqliteLog.open(tmp_path / "log")
    again = SqliteLog.open(tmp_path / "elsewhere" / ".." / "log")
    assert again is log
    assert SqliteLog.opened(tmp_path / "log") is log
    again.close()
    await log.create_topic(TOPIC, 1)
    log.close()
    with pytest.raises(LookupError, match="no log is open"):
        SqliteLog.opened(tmp_path / "log")
    with pytest.raises(LogUnavailable, match="closed"):
        await log.append([record(b"x")])


async def test_closing_writes_what_is_queued(tmp_path: Path):
    log = SqliteLog.open(tmp_path)
    await log.create_topic(TOPIC, 1)
    waiting = [asyncio.create_task(log.append([record(b"%d" % n)])) for n in range(20)]
    await asyncio.sleep(0)
    log.close()
    assert len(await asyncio.gather(*waiting)) == 20


async def test_two_event_loops_write_to_the_same_log(inbox: SqliteLog):
    def other_loop() -> int:
        [appended] = asyncio.run(inbox.append([record(b"from another thread")]))
        return appended.position.offset

    assert await asyncio.to_thread(other_loop) == 0
    assert await values(inbox) == [b"from another thread"]


async def test_appends_of_a_busy_loop_share_few_commits(tmp_path: Path):
    commits: list[None] = []
    connection, reader = open_file(tmp_path)
    writer = SqliteWriter(connection, tmp_path / LOG_FILE, lambda: commits.append(None))
    loop = asyncio.get_running_loop()
    began = loop.time()
    answers: list[asyncio.Future[int]] = []
    for number in range(30):
        answers.append(loop.create_future())
        writer.submit(Job(lambda _, number=number: number, lambda _: None, loop, answers[-1]))  # type: ignore[misc]
        time.sleep(0.001)  # noqa: ASYNC251 - this is what keeps the loop busy
        await asyncio.sleep(0)
    assert await asyncio.gather(*answers) == list(range(30))
    assert len(commits) < 6 + (loop.time() - began) / LONGEST_WAIT_SECONDS  # on a busy machine all takes long
    writer.close()
    reader.close()


async def test_a_write_ahead_log_is_emptied_when_nothing_is_written_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "REST_SECONDS", 0.05)
    log = SqliteLog.open(tmp_path)
    try:
        await log.create_topic(TOPIC, 1)
        for value in (b"1", b"2"):
            await log.append([record(value * writer.REST_BYTES)])
            await emptied(tmp_path / f"{LOG_FILE}-wal")
        await log.append([record(b"short")])
        assert [found[:1] for found in await values(log)] == [b"1", b"2", b"s"]
    finally:
        log.close()


async def test_a_commit_seldom_makes_the_write_ahead_log_longer_and_what_follows_its_end_is_read_as_nothing(
    tmp_path: Path,
):
    log = SqliteLog.open(tmp_path)
    file = tmp_path / f"{LOG_FILE}-wal"
    await log.create_topic(TOPIC, 1)
    assert file.read_bytes()[-writer.LEAST_ROOM_BYTES // 2 :].strip(b"\0") == b""
    lengths = set()
    for number in range(30):
        await log.append([record(b"%d" % number)])
        lengths.add(file.stat().st_size)
    assert len(lengths) <= 4, "a commit waits for the file system where it makes a file longer"
    for name in (LOG_FILE, f"{LOG_FILE}-wal"):  # as after a power cut
        (tmp_path / "after").mkdir(exist_ok=True)
        shutil.copy(tmp_path / name, tmp_path / "after" / name)
    log.close()
    again = SqliteLog.open(tmp_path / "after")
    await again.append([record(b"30")])
    assert await values(again) == [b"%d" % number for number in range(31)]
    again.close()


async def emptied(file: Path) -> None:
    async with asyncio.timeout(120):
        while os.path.getsize(file):  # noqa: ASYNC110, ASYNC240, PTH202 - a file's length is no event
            await asyncio.sleep(0.01)


async def test_appends_leave_nothing_to_the_collector_of_garbage(inbox: SqliteLog):
    """What is old is rarely collected in a worker (`COLLECT_AFTER`): what is garbage must go by itself."""
    await inbox.append([record(b"x")])
    taken = inbox.next_place(TOPIC, 0)
    with garbage() as found:
        for _ in range(10):
            await inbox.append([record(b"y")])
            with suppress(LogMoved):
                await inbox.append_settled([record(b"z")], [taken])
    assert found == []


async def test_what_is_appended_at_once_is_written_to_no_other_file(tmp_path: Path):
    log = SqliteLog.open(tmp_path)
    await log.create_topic(TOPIC, 32)
    spread = [record(bytes(3_000), partition=n % 32) for n in range(64)]
    await log.append(spread)
    log.close()
    writer_, reader = open_file(tmp_path)
    with closing(writer_), closing(reader):
        ids = dict(reader.execute("select partition, id from partitions where topic = ?", (TOPIC,)).fetchall())
        writer_.execute("begin immediate")
        places = [(TOPIC, one.partition) for one in spread]
        append_rows(writer_, Ends(), places, list(map(spell, spread)), {place: ids[place[1]] for place in places}, 0)
        opened = opened_files()
        writer_.execute("rollback")
    assert [name for name in opened if "etilqs" in name] == [], "SQLite has made a temporary file"


def opened_files() -> list[str]:
    """Return the names of the files that this process has open, as Linux lists them."""
    return [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
