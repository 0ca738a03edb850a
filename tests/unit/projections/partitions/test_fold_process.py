"""A shard that is far behind is folded in a process of its own, and is what folding it here gives."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pytest
from support.copied_shards import CountedLog, is_a_fold, left_over, moves_away
from support.examples import remember

from mnemolog.operations.rebuild import Rebuilder, RebuildPlan
from projections.encrypted_files import open_database
from projections.partitions.fold_process import FoldProcesses
from projections.partitions.handed_records import FRAME_BYTES, pack, unpack
from projections.partitions.shards import Shards
from schemas.frames import read_frame, write_frame
from schemas.log import Position, Record
from schemas.topics import INBOX, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.workbench import Workbench

FEW = 40
SECONDS = 120.0


class WatchedLog(CountedLog):
    """Hands a few records over at a time, and calls `meanwhile` before a read of the ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> Any:
        if topic == LEDGER.name and start:
            self.meanwhile()
        return await super().read(topic, partition, start, min(limit, 10))


@pytest.fixture
def log() -> WatchedLog:
    return WatchedLog()


def is_alive(pid: int) -> bool:
    """Tell whether a process of this one runs still; one that has been waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def hand_over_and_die(folder: Path, frame: bytes) -> int:
    """Start a process, hand it a batch, and close its input as the kernel does; return its exit code."""
    program = [
        sys.executable,
        "-m",
        "projections.partitions.fold_program",
        str(folder / "0.sqlite"),
        "0",
        "1",
        "continue",
    ]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own
    answers, given = cast("BinaryIO", process.stdout), cast("BinaryIO", process.stdin)
    write_frame(given, b"")  # no key: the file lies in clear
    assert read_frame(answers) == b""
    write_frame(given, frame)
    given.close()
    try:
        return process.wait(SECONDS)
    finally:
        answers.close()


def schema(path: Path) -> set[tuple[str, str]]:
    """Return the tables and indexes of a shard's file."""
    with closing(open_database(path)) as connection:
        return set(connection.execute("select name, sql from sqlite_master"))


async def folds_here(giver: Workbench, taker: Shards, log: WatchedLog, facts: int) -> None:
    """Have the worker that will have the partition fold so many decisions before the others are made."""
    for number in range(facts):
        await giver.decides(remember(f"用户去过第{number}座城市", f"before-{number}"))
    taker.takeover.fold_processes = FoldProcesses(log, 1)
    taker.takeover.assign([0])
    await taker.takeover.hold(0)
    taker.assignment.release(0)


async def assigned(taker: Shards, log: WatchedLog, **how: Any) -> None:
    """Have a worker that has nothing hold the partition; whatever is behind is worth a process."""
    taker.takeover.fold_processes = FoldProcesses(log, 1, worth=0, **how)
    taker.takeover.assign([0])
    async with asyncio.timeout(SECONDS):
        await taker.takeover.hold(0)


@pytest.mark.parametrize("folded_before", [0, 5])
async def test_a_process_folds_what_the_worker_would(
    giver: Workbench, taker: Shards, log: WatchedLog, tmp_path: Path, folded_before: int
):
    if folded_before:
        await folds_here(giver, taker, log, folded_before)
    await moves_away(giver, FEW)
    pids: set[int] = set()
    log.meanwhile = lambda: pids.update(taker.takeover.fold_processes.pids)
    await assigned(taker, log)
    assert len(pids) == 1
    assert not any(map(is_alive, pids))
    assert (taker.held(), left_over(tmp_path)) == ([0], [])
    assert await is_a_fold(taker, log, tmp_path)
    assert schema(tmp_path / "taker" / "0.sqlite") == schema(tmp_path / "fold" / "0.sqlite")


@pytest.mark.parametrize(
    ("ends", "folded_before"),
    [(signal.SIGKILL, 0), (signal.SIGKILL, 5), (signal.SIGSTOP, 0), (signal.SIGSTOP, 5)],
)
async def test_where_the_process_dies_or_hangs_the_worker_goes_on(  # noqa: PLR0917 - fixtures and parameters
    giver: Workbench, taker: Shards, log: WatchedLog, tmp_path: Path, ends: signal.Signals, folded_before: int
):
    if folded_before:
        await folds_here(giver, taker, log, folded_before)
    await moves_away(giver, FEW)
    ended: list[int] = []

    def end() -> None:
        if not ended and (pids := taker.takeover.fold_processes.pids):
            ended.extend(pids)
            os.kill(pids[0], ends)
            taker.takeover.fold_processes.answer_seconds = 0.5  # not before: to start may take long

    log.meanwhile = end
    await assigned(taker, log)
    assert ended
    assert not is_alive(ended[0])
    assert left_over(tmp_path) == []
    assert await is_a_fold(taker, log, tmp_path)


async def test_a_partition_that_moves_away_ends_its_process_and_is_folded_no_further(
    giver: Workbench, taker: Shards, log: WatchedLog, tmp_path: Path
):
    await moves_away(giver, FEW)
    pids: list[int] = []

    def move() -> None:
        pids.extend(taker.takeover.fold_processes.pids)
        taker.assignment.release(0)
        log.meanwhile = lambda: None

    log.meanwhile = move
    await assigned(taker, log)
    assert (len(pids), is_alive(pids[0]), taker.held(), left_over(tmp_path)) == (1, False, [], [])
    assert taker.assignment.resting[0].offset(LEDGER.name) < await log.end(LEDGER.name, 0)
    await assigned(taker, log)  # it comes back, and is folded from where it stands
    assert taker.held() == [0]
    assert await is_a_fold(taker, log, tmp_path)


async def test_a_process_ends_when_its_worker_is_killed_in_the_middle_of_a_batch(tmp_path: Path, giver: Workbench):
    for number in range(FEW):
        await giver.decides(remember(f"用户喜欢第{number}种茶", f"c-{number}"))
    (tmp_path / "killed").mkdir()
    [frame] = pack(await giver.log.read(LEDGER.name, 0, 0))
    assert await asyncio.to_thread(hand_over_and_die, tmp_path / "killed", frame) == 0
    left = Shards(tmp_path / "killed", giver.log, 1)
    left.takeover.assign([0])
    await left.takeover.hold(0)
    assert left.state(remember("", "c").envelope.owner) == giver.state()
    left.close()


async def test_a_rebuild_by_processes_has_the_digest_of_the_live_shards(
    giver: Workbench, log: WatchedLog, tmp_path: Path
):
    for number in range(FEW):
        await giver.says(f"t-{number}", f"第{number}句")
        await giver.decides(remember(f"用户喜欢第{number}种茶", f"c-{number}"))
    pids: set[int] = set()
    giver.shards.takeover.fold_processes = FoldProcesses(log, 1, worth=0)
    log.meanwhile = lambda: pids.update(giver.shards.takeover.fold_processes.pids)
    rebuilder = Rebuilder(tmp_path / "giver", log, giver.shards, giver.index_sync)
    plan = RebuildPlan("all", 2, "wanted", 1)
    built = await rebuilder.build(plan)
    await rebuilder.switch(plan)
    assert pids
    assert built["digests_before"] == built["digests_after"]
    assert len(giver.state().memories) == FEW


async def test_records_come_out_of_their_frames_as_they_were(giver: Workbench):
    for number in range(3):
        await giver.says(f"t-{number}", f"第{number}句")
    [first, *others] = await giver.log.read(INBOX.name, 0, 0) or await giver.log.read("mnemolog.conversations", 0, 0)
    place = first.position
    large = Record(
        position=Position(place.topic, place.partition, 99),
        recorded_at=first.recorded_at,
        key=None,
        value=b"x" * FRAME_BYTES,
        headers=(("name", b"value"),),
    )
    records = [first, large, *others]
    frames = list(pack(records))
    assert [record for frame in frames for record in unpack(frame)] == records
    assert len(frames) == 2
