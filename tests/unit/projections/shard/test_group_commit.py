"""Writes to a shard's file that share a transaction: whole, in order, and made again where SQLite takes them back."""

from __future__ import annotations

import asyncio
import shutil
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.examples import XIAOMING, envelope, remember
from support.failing_disk import failing_disk
from support.workbench import Workbench

from projections.encrypted_files import open_database
from projections.partitions.catch_up import CatchUp
from projections.shard import group_commit
from projections.shard.errors import ShardUnavailable
from projections.shard.group_commit import MOST_BYTES, MOST_WRITES, GroupCommit
from projections.shard.tables import connect
from projections.shard.turn_vectors import TurnVector
from projections.shard.wal import Checkpoints
from schemas.codec import UnknownSchema
from schemas.identity import Owner
from schemas.messages.erasure import Cut, EraseUser
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX, INPUTS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from projections.shard.shard import Shard

    Failing = Callable[["Rig"], Any]


class Rig:
    """A shard's file, and group commit over it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = connect(path)
        self.checkpoints = Checkpoints(path)
        self.forgotten = 0
        self.writes = GroupCommit(self.connection, self.checkpoints, self._forget)

    def _forget(self) -> None:
        self.forgotten += 1

    def put(self, topic: str, offset: int = 1, size: int | None = 1) -> None:
        """Write a row."""
        self.writes.write(lambda: self.insert(topic, offset), size)

    def insert(self, topic: str, offset: int) -> None:
        self.connection.execute("insert or replace into offsets values(?,?,x'00')", (topic, offset))

    def fill(self) -> None:
        """Commit some hundred pages, of which a small cache holds few."""
        rows = [(f"{number:05}{'x' * 3000}", 1) for number in range(300)]
        self.connection.executemany("insert into letters values(?,?)", rows)

    @property
    def own(self) -> dict[str, int]:
        """What the shard's own connection reads."""
        return dict(self.connection.execute("select topic, next from offsets").fetchall())

    @property
    def committed(self) -> dict[str, int]:
        """What another connection reads."""
        return committed(self.path)

    def close(self) -> None:
        self.writes.close()
        self.checkpoints.close()
        self.connection.close()


def committed(path: Path) -> dict[str, int]:
    with closing(open_database(path)) as other:
        return dict(other.execute("select topic, next from offsets").fetchall())


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "0.sqlite")
    yield rig
    rig.close()


@pytest.fixture
def shard(bench: Workbench) -> Shard:
    return bench.shards.at(0)


@contextmanager
def full_file(rig: Rig) -> Iterator[None]:
    """Let the file get no page more, and the next write need some."""
    run = rig.connection.cursor().execute
    [pages] = run("pragma page_count").fetchone()
    run(f"pragma max_page_count={pages}")
    yield
    run(f"pragma max_page_count={pages + 1000}")


@contextmanager
def read_only(rig: Rig) -> Iterator[None]:
    run = rig.connection.cursor().execute
    run("pragma query_only=on")
    yield
    run("pragma query_only=off")


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not is_so():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


# -- what waits, and until when


async def test_writes_are_read_at_once_by_their_connection_and_by_others_a_moment_later(rig: Rig):
    rig.put("a")
    rig.put("b")
    assert (rig.own, rig.committed) == ({"a": 1, "b": 1}, {})
    await until(lambda: rig.committed == {"a": 1, "b": 1})
    assert not rig.connection.in_transaction


async def test_who_needs_the_file_has_it_committed(rig: Rig):
    rig.put("a")
    rig.writes.commit()
    assert rig.committed == {"a": 1}
    rig.writes.commit()  # there is nothing to commit


async def test_a_write_that_may_not_wait_takes_those_before_it_along(rig: Rig):
    rig.put("a")
    rig.put("b", size=None)
    assert rig.committed == {"a": 1, "b": 1}
    assert not rig.connection.in_transaction


def test_where_no_event_loop_runs_nothing_waits(rig: Rig):
    rig.put("a")
    assert rig.committed == {"a": 1}


async def test_no_more_than_so_many_writes_wait(rig: Rig):
    for number in range(MOST_WRITES - 1):
        rig.put(f"{number}")
    assert rig.committed == {}
    rig.put("last")
    assert len(rig.committed) == MOST_WRITES


async def test_no_more_than_so_many_bytes_wait(rig: Rig):
    rig.put("a", size=MOST_BYTES)
    assert rig.committed == {}
    rig.put("b", size=1)
    assert rig.committed == {"a": 1, "b": 1}
    rig.put("c", size=MOST_BYTES + 1)
    assert rig.committed == {"a": 1, "b": 1, "c": 1}


async def test_closing_commits_and_leaves_nothing_that_waits(rig: Rig):
    rig.put("a")
    rig.writes.close()
    assert rig.committed == {"a": 1}
    assert due(rig) == 0


async def test_what_is_discarded_is_gone_and_what_is_written_then_is_alone(rig: Rig):
    rig.put("a")
    rig.writes.discard()
    assert (rig.own, due(rig)) == ({}, 0)
    rig.put("b")
    rig.writes.commit()
    assert rig.committed == {"b": 1}


# -- writes and commits that fail


@pytest.mark.parametrize("failing", [full_file, read_only])
async def test_a_write_that_fails_takes_nothing_of_those_before_it(rig: Rig, failing: Failing):
    rig.put("a", 1)
    rig.put("a", 2)
    with failing(rig), pytest.raises(ShardUnavailable):
        rig.put("b" * 20_000)
    assert (rig.own, rig.committed, type(rig.writes.trouble)) == ({"a": 2}, {}, ShardUnavailable)
    await until(lambda: rig.committed == {"a": 2})
    assert rig.writes.trouble is None


async def test_a_write_that_fails_alone_leaves_its_reason_until_one_succeeds(rig: Rig):
    with read_only(rig), pytest.raises(ShardUnavailable):
        rig.put("a")
    assert (rig.own, type(rig.writes.trouble), rig.forgotten) == ({}, ShardUnavailable, 1)
    rig.put("b")
    rig.writes.commit()
    assert (rig.committed, rig.writes.trouble) == ({"b": 1}, None)


@pytest.mark.parametrize("failing", [read_only, lambda _: failing_disk()])
async def test_trouble_that_is_over_is_forgotten_although_nobody_writes(
    rig: Rig, failing: Failing, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(group_commit, "AGAIN_SECONDS", 0.01)
    with failing(rig):
        with pytest.raises(ShardUnavailable):
            rig.put("a", size=None)
        tried = rig.forgotten
        await until(lambda: rig.forgotten > tried)
    assert rig.writes.trouble is not None
    await until(lambda: rig.writes.trouble is None)
    assert (rig.committed, due(rig)) == ({}, 0)


async def test_an_error_of_the_write_itself_is_the_callers_and_no_trouble_of_the_file(rig: Rig):
    def write() -> None:
        rig.insert("half", 1)
        raise ValueError("not so")

    rig.put("a")
    with pytest.raises(ValueError, match="not so"):
        rig.writes.write(write, 1)
    assert (rig.own, rig.writes.trouble) == ({"a": 1}, None)
    await until(lambda: rig.committed == {"a": 1})


async def test_what_cannot_be_committed_is_made_again_in_order_and_committed_when_it_can(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(group_commit, "AGAIN_SECONDS", 0.01)
    rig.put("a", 1)
    rig.put("b", 1)
    rig.put("a", 2)
    with failing_disk():
        await until(lambda: rig.writes.trouble is not None)
        own, waiting = rig.own, rig.connection.in_transaction
    assert (own, waiting, type(rig.writes.trouble)) == ({"a": 2, "b": 1}, True, ShardUnavailable)
    await until(lambda: rig.committed == {"a": 2, "b": 1})
    assert (rig.writes.trouble, due(rig)) == (None, 0)
    assert rig.forgotten > 0, "what was cached of these rows"


async def test_a_disk_that_fails_for_long_is_tried_by_one_timer(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(group_commit, "AGAIN_SECONDS", 0.01)
    rig.put("a")
    with failing_disk():
        for _ in range(4):
            tried = rig.forgotten
            await until(lambda tried=tried: rig.forgotten > tried)  # type: ignore[misc]
        assert due(rig) == 1


async def test_while_commits_fail_no_more_is_taken(rig: Rig):
    rig.put("a")
    with failing_disk():
        for _ in range(2):
            with pytest.raises(ShardUnavailable):
                rig.writes.commit()
            with pytest.raises(ShardUnavailable):
                rig.put("b")
        own = rig.own
    assert own == {"a": 1}
    rig.put("b")
    assert rig.committed == {"a": 1}, "first what was before, then the next"
    rig.writes.commit()
    assert rig.committed == {"a": 1, "b": 1}


async def test_a_write_at_once_that_cannot_be_committed_takes_nothing_of_those_before_it(rig: Rig):
    rig.put("a")
    with failing_disk(), pytest.raises(ShardUnavailable):
        rig.put("b", size=None)
    assert (rig.own, rig.committed) == ({"a": 1}, {})
    await until(lambda: rig.committed == {"a": 1})


async def test_where_another_program_takes_the_file_meanwhile_the_writes_wait_for_it(rig: Rig):
    rig.connection.execute("pragma busy_timeout=1")
    rig.put("a")
    with closing(open_database(rig.path, isolation_level=None)) as other:
        with failing_disk(), pytest.raises(ShardUnavailable):
            rig.writes.commit()
        other.execute("begin immediate")
        for _ in range(2):
            with pytest.raises(ShardUnavailable, match="end the other program"):
                rig.connection.execute("select 1 from offsets")  # else it would read what is not so
        other.execute("rollback")
    assert rig.own == {"a": 1}
    await until(lambda: rig.committed == {"a": 1})


async def test_a_query_that_fails_takes_no_write_along(rig: Rig):
    rig.fill()
    rig.put("a")
    rig.writes.write(lambda: rig.connection.execute("update letters set pieces=2 where letter < '00010'"), 1)
    rig.connection.execute("pragma cache_size=2")
    with failing_disk(), pytest.raises(ShardUnavailable):  # it needs room for pages, and so writes others
        rig.connection.execute("select letter from letters").fetchall()
    assert not rig.connection.in_transaction, "SQLite has taken back all of it"
    rig.put("b")
    assert rig.own == {"a": 1, "b": 1}
    rig.writes.commit()
    assert rig.committed == {"a": 1, "b": 1}
    [changed] = rig.connection.execute("select count(*) from letters where pieces=2").fetchone()
    assert changed == 10


async def test_what_a_query_took_back_is_committed_although_nobody_comes(rig: Rig):
    rig.fill()
    rig.writes.write(lambda: rig.connection.execute("update letters set pieces=2 where letter < '00010'"), 1)
    rig.put("a")
    rig.connection.execute("pragma cache_size=2")
    with failing_disk(), pytest.raises(ShardUnavailable):
        rig.connection.execute("select letter from letters").fetchall()
    await until(lambda: rig.committed == {"a": 1})


async def test_closing_after_a_write_that_failed_leaves_nothing_to_try(rig: Rig):
    with failing_disk(), pytest.raises(ShardUnavailable):
        rig.put("a", size=None)
    assert due(rig) == 1
    rig.writes.close()
    assert due(rig) == 0


async def test_closing_on_a_full_disk_leaves_the_file_as_it_was_committed_last(rig: Rig):
    rig.put("a", size=None)
    rig.put("b")
    with failing_disk():
        rig.writes.close()
        taken, waiting = rig.connection.in_transaction, due(rig)
    assert (taken, waiting, rig.committed) == (False, 0, {"a": 1})
    rig.connection.close()
    rig.writes.commit()  # there is nothing left to commit, and no damage to be found in a file that is closed
    assert [each.name for each in rig.path.parent.glob("*damaged*")] == []


# -- with those who empty the write-ahead log


async def test_while_what_was_deleted_is_overwritten_no_transaction_stays_open(rig: Rig):
    with closing(open_database(rig.path)) as reader:
        rig.fill()
        reader.execute("begin")
        reader.execute("select 1 from offsets").fetchall()
        rig.put("a", size=None)
        rig.checkpoints.truncate()  # waits for the reader
        rig.put("b")
        assert rig.committed == {"a": 1, "b": 1}
    await until(lambda: not rig.checkpoints.want_the_file)
    rig.put("c")
    assert rig.committed == {"a": 1, "b": 1}


async def test_writes_that_follow_each_other_starve_no_clearing(rig: Rig):
    rig.fill()
    clearing = threading.Thread(target=rig.checkpoints.clear)
    rig.put("before")
    clearing.start()
    number = 0
    async with asyncio.timeout(300):
        while clearing.is_alive():
            number += 1
            rig.put(f"{number}")
            await asyncio.sleep(0)
    rig.writes.commit()
    assert len(rig.committed) == number + 1


# -- in a shard


async def decides(bench: Workbench, text: str, item: str, owner: Owner = XIAOMING) -> None:
    await bench.decides(replace(remember(text, item), envelope=envelope(item, owner=owner)))


async def erases(bench: Workbench) -> None:
    """Erase all that Xiaoming has said up to here."""
    cut = [Cut(topic=topic.name, before=await bench.log.end(topic.name, 0)) for topic in (*INPUTS, DEAD_LETTERS)]
    await bench.decides(EraseUser(envelope=envelope("erase"), cut=cut, key_ids=[], observations=0))


async def test_a_copy_of_the_files_at_any_moment_folds_again_to_the_same_state(bench: Workbench, tmp_path: Path):
    for number in range(5):
        await decides(bench, f"第{number}件事", f"c-{number}")
        folder = tmp_path / f"killed-{number}"
        shutil.copytree(tmp_path / "one", folder)
        again = Workbench(folder, bench.log)
        await again.shards.at(0).catch_up()
        assert again.state() == bench.state()
        assert await again.shards.users.digests() == await bench.shards.users.digests()
        again.close()


async def test_a_state_that_is_not_cached_is_never_older_than_what_was_folded(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    shard.committed_file()
    await decides(bench, "喜欢茶", "c-2")
    folded = bench.state()
    with failing_disk():
        with pytest.raises(ShardUnavailable):
            shard.committed_file()
        shard.ledger.states.forget()
        read = bench.state()
    assert (read, len(read.memories)) == (folded, 2)
    await until(lambda: shard.writes.trouble is None)
    assert bench.state() == folded


async def test_decisions_after_a_failure_count_on_the_states_before_it(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    shard.committed_file()
    await decides(bench, "喜欢茶", "c-2")
    with failing_disk(), pytest.raises(ShardUnavailable):
        shard.committed_file()
    shard.ledger.states.forget()
    await decides(bench, "喜欢水", "c-3")
    assert (len(bench.state().memories), bench.state().version) == (3, 3)
    shard.committed_file()
    shard.ledger.states.forget()
    assert (len(bench.state().memories), shard.ledger.void_decisions) == (3, 0)


async def test_an_erasing_fold_is_committed_at_once_with_those_before_it(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    await decides(bench, "喜欢茶", "c-2", Owner("default", "other"))
    assert committed(shard.path).get(LEDGER.name, 0) < 2
    await erases(bench)
    assert committed(shard.path)[LEDGER.name] == 3
    await shard.clear_deleted()
    kept = b"".join(each.read_bytes() for each in shard.path.parent.iterdir())
    assert "喜欢咖啡".encode() not in kept
    assert "喜欢茶".encode() in kept


async def test_starting_over_drops_what_waits_and_folds_anew(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    folded = bench.state()
    shard.start_over()
    assert (shard.offset(LEDGER.name), committed(shard.path), len(bench.state().memories)) == (0, {}, 0)
    await shard.catch_up()
    assert bench.state() == folded


async def test_starting_over_that_fails_leaves_the_shard_as_its_file_has_it(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    shard.committed_file()
    known = bench.state()
    await decides(bench, "喜欢茶", "c-2")
    folded = bench.state()
    with failing_disk(), pytest.raises(ShardUnavailable):
        shard.start_over()
    assert (bench.state(), shard.offset(LEDGER.name)) == (known, 1)
    assert committed(shard.path)[LEDGER.name] == 1
    await shard.catch_up()
    assert bench.state() == folded


async def test_reloading_keeps_what_waits(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    folded, offset = bench.state(), shard.offset(LEDGER.name)
    shard.reload()
    assert (bench.state(), shard.offset(LEDGER.name)) == (folded, offset)


async def test_vectors_of_turns_are_kept_at_once_beside_what_waits(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    vectors = [TurnVector("t-1", None, b"one")]
    shard.turn_vectors.put(XIAOMING, "m", vectors)
    assert committed(shard.path)[LEDGER.name] == 1
    with failing_disk():
        with pytest.raises(ShardUnavailable):
            shard.turn_vectors.put(XIAOMING, "m", [TurnVector("t-2", None, b"two")])
        assert shard.turn_vectors.of(XIAOMING, "m") == vectors
    shard.turn_vectors.put(XIAOMING, "m", vectors)
    assert shard.writes.trouble is None


async def test_how_far_an_index_is_waits_with_the_folds_before_it(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    shard.keep_indexed("one", 1)
    assert (shard.indexed("one"), committed(shard.path).get("index one")) == (1, None)
    assert committed(shard.committed_file())["index one"] == 1


async def test_how_far_an_index_is_stays_out_of_a_fold_that_goes_on(shard: Shard):
    async with shard.folding:  # perhaps in a thread or a process, which has a transaction open
        shard.keep_indexed("one", 1)
    assert (shard.indexed("one"), shard.path.exists()) == (0, True)
    shard.keep_indexed("one", 1)
    assert shard.indexed("one") == 1


async def test_a_fold_in_a_thread_comes_after_what_waits_and_leaves_nothing(bench: Workbench, shard: Shard):
    await bench.says("t-0")
    await shard.catch_up()
    assert committed(shard.path) == {}
    for number in range(1, 4):
        await bench.says(f"t-{number}")
    await CatchUp(shard, lambda _: None).run_in_thread()
    assert committed(shard.path)[CONVERSATIONS.name] == 4
    assert not shard.writes._connection.in_transaction


async def test_what_only_a_newer_version_knows_takes_nothing_of_the_folds_before_it(bench: Workbench, shard: Shard):
    await decides(bench, "喜欢咖啡", "c-1")
    folded = bench.state()
    await bench.publish(INBOX.name, b"\xc3\x01" + b"\x07" * 12)
    with pytest.raises(UnknownSchema):
        await shard.catch_up()
    shard.ledger.states.forget()
    assert bench.state() == folded


def due(rig: Rig) -> int:
    """Return how many commits the event loop will try."""
    scheduled = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    return sum(1 for one in scheduled if not one.cancelled() and one._callback == rig.writes._commit_now)
