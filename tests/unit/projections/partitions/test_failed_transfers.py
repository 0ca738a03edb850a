"""Whatever goes wrong with a copy of a shard: it is dropped, and the partition folded."""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.copied_shards import FACTS, CountedLog, Neighbour, hold, is_a_fold, left_over, moves_away
from support.examples import XIAOMING, remember
from support.workbench import Workbench

from projections.encrypted_files import open_database
from projections.partitions.receiver import CHECKSUM_BYTES, NotCopied, copy_of
from projections.partitions.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def cut_off(neighbour: Neighbour) -> None:
    neighbour.spoil = lambda part: part if len(part) == CHECKSUM_BYTES else part[:-5000]


def without_its_end(neighbour: Neighbour) -> None:
    neighbour.spoil = lambda part: b"" if len(part) == CHECKSUM_BYTES else part


def changed_on_the_way(neighbour: Neighbour) -> None:
    neighbour.spoil = lambda part: part if len(part) == CHECKSUM_BYTES else part[:20_000] + b"?" + part[20_001:]


def longer_than_offered(neighbour: Neighbour) -> None:
    neighbour.spoil = lambda part: part + b"more"


def gone(neighbour: Neighbour) -> None:
    async def leave() -> None:
        raise NotCopied("the connection is gone")

    neighbour.meanwhile = leave


def too_large_for_the_disk(neighbour: Neighbour) -> None:
    neighbour.lies = {"size": 1 << 60}


def disk_full(neighbour: Neighbour) -> None:
    async def fill() -> None:
        raise OSError(28, "No space left on device")

    neighbour.meanwhile = fill


def shorter_than_offered(neighbour: Neighbour) -> None:
    neighbour.lies = {"offsets": {"mnemolog.memories": FACTS + 1, "mnemolog.inbox": FACTS + 1}}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (cut_off, "cut off, or changed"),
        (without_its_end, "cut off, or changed"),
        (changed_on_the_way, "cut off, or changed"),
        (longer_than_offered, "longer than what was offered"),
        (gone, "the connection is gone"),
        (too_large_for_the_disk, "free space"),
        (disk_full, "No space left"),
        (shorter_than_offered, "not the file that was offered"),
    ],
)
async def test_a_copy_that_fails_is_dropped_and_the_partition_folded(  # noqa: PLR0917 - fixtures
    fault: Callable[[Neighbour], None],
    says: str,
    giver: Workbench,
    taker: Shards,
    log: CountedLog,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
):
    neighbour = await moves_away(giver)
    fault(neighbour)
    with caplog.at_level(logging.WARNING):
        await hold(taker, log, neighbour)
    assert says in caplog.text
    assert (taker.held(), left_over(tmp_path)) == ([0], [])
    assert await is_a_fold(taker, log, tmp_path)


async def test_a_file_that_is_damaged_at_its_giver_is_not_used(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    neighbour = await moves_away(giver)
    with closing(open_database(tmp_path / "giver" / "0.sqlite")) as connection:
        (root,) = connection.execute("select rootpage from sqlite_master where name='decisions'").fetchone()
        (page,) = connection.execute("pragma page_size").fetchone()
    with (tmp_path / "giver" / "0.sqlite").open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\xff" * page)
    await hold(taker, log, neighbour)
    assert "it is damaged" in caplog.text
    assert await is_a_fold(taker, log, tmp_path)


async def test_a_fold_of_another_log_is_not_used(
    taker: Shards, log: CountedLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    ours = Workbench(tmp_path / "ours", log)
    await moves_away(ours)
    theirs = Workbench(tmp_path / "theirs")
    await theirs.decides(remember("用户不喜欢茶", "c-other"))
    neighbour = await moves_away(theirs, FACTS - 1)
    await hold(taker, log, neighbour)
    assert "no fold of this log" in caplog.text
    assert await is_a_fold(taker, log, tmp_path)
    ours.close()
    theirs.close()


async def test_tables_of_another_version_are_not_lent(giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path):
    neighbour = await moves_away(giver)
    with closing(open_database(tmp_path / "giver" / "0.sqlite")) as connection:
        connection.execute("pragma user_version=1")
    assert await neighbour.offers(0) == []
    await hold(taker, log, neighbour)
    assert len(taker.state(XIAOMING).memories) == FACTS


async def test_a_partition_that_is_taken_away_while_it_is_copied_is_not_held(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    neighbour = await moves_away(giver)

    async def take_away() -> None:
        taker.assignment.release(0)

    neighbour.meanwhile = take_away
    await hold(taker, log, neighbour)
    assert (taker.held(), left_over(tmp_path)) == ([], [])


async def test_a_giver_that_is_given_the_partition_again_takes_its_file_back(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    neighbour = await moves_away(giver)

    async def come_back() -> None:
        await giver.shards.takeover.hold(0)

    neighbour.meanwhile = come_back
    await hold(taker, log, neighbour)
    assert giver.shards.held() == [0]
    assert left_over(tmp_path) == []
    assert await is_a_fold(taker, log, tmp_path)


async def test_a_copy_can_be_stopped_and_leaves_the_shard_as_it_was(
    giver: Workbench, taker: Shards, log: CountedLog, tmp_path: Path
):
    neighbour = await moves_away(giver)
    is_coming = asyncio.Event()

    async def stand_still() -> None:
        is_coming.set()
        await asyncio.Event().wait()

    neighbour.meanwhile = stand_still
    task = asyncio.create_task(hold(taker, log, neighbour))
    await is_coming.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left_over(tmp_path) == []
    neighbour.meanwhile = lambda: asyncio.sleep(0)
    await taker.takeover.hold(0)
    assert len(taker.state(XIAOMING).memories) == FACTS


async def test_a_copy_that_a_killed_process_left_is_removed(log: CountedLog, tmp_path: Path):
    (tmp_path / "taker").mkdir()
    copy_of(tmp_path / "taker" / "0.sqlite").write_bytes(b"half a file")
    Shards(tmp_path / "taker", log, 1).close()
    assert left_over(tmp_path) == []
