"""Background tasks: the first that fails ends the worker, and a stop ends them all."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from mnemolog.operations.generations import Generations
from mnemolog.worker import background
from mnemolog.worker.background import BackgroundTasks, wait_unless_failed
from projections.partitions.shards import Shards

if TYPE_CHECKING:
    from pathlib import Path


async def test_what_a_task_raises_is_reported():
    failures: list[BaseException] = []
    tasks = BackgroundTasks(failures.append)

    async def fails() -> None:
        raise OSError("disk full")

    tasks.start(fails)
    await asyncio.sleep(0)
    await tasks.cancel()
    assert [str(error) for error in failures] == ["disk full"]


async def test_a_stop_ends_tasks_and_waits_until_they_have_ended():
    ended: list[str] = []
    failures: list[BaseException] = []
    tasks = BackgroundTasks(failures.append)

    async def goes_on() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    tasks.start(goes_on)
    await asyncio.sleep(0)
    await tasks.cancel()
    assert (ended, failures) == (["ended"], [])


async def test_a_wait_ends_with_the_failure():
    failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failure.set_exception(OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        await wait_unless_failed(failure, asyncio.sleep(60))


async def test_a_wait_raises_what_it_waited_for():
    failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def fails() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await wait_unless_failed(failure, fails())


async def test_a_loop_that_stands_still_is_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(background, "MEASURE_EVERY_SECONDS", 0.01)
    told: asyncio.Queue[float] = asyncio.Queue()
    task = asyncio.create_task(background.measure_lag(told.put_nowait))
    await told.get()
    time.sleep(0.2)  # noqa: ASYNC251 - what is measured
    lags = [await told.get(), await told.get()]
    task.cancel()
    assert max(lags) > 0.15


def shard_files(data_dir: Path, partition: int) -> int:
    return len(list(data_dir.glob(f"shards/*/{partition}.sqlite")))


async def test_the_files_of_a_partition_that_is_another_workers_go_after_a_while(tmp_path: Path):
    generations = Generations(tmp_path)
    shards = Shards(generations.active_folder, MemoryLog(2), 2)
    before = generations.folder(7)
    before.mkdir()
    shards.takeover.assign([0, 1])
    for partition in (0, 1):
        await shards.takeover.hold(partition)
        (before / f"{partition}.sqlite").touch()
    shards.takeover.assign([0])
    shards.assignment.unassign()
    deleting = asyncio.create_task(background.delete_idle_files(shards, generations, 0.02))
    await asyncio.sleep(0.1)
    assert shard_files(tmp_path, 1) == 2, "while partitions move nobody knows whose it is"
    shards.takeover.assign([0])
    while shard_files(tmp_path, 1):  # noqa: ASYNC110 - the file system tells nobody
        await asyncio.sleep(0.01)
    assert shard_files(tmp_path, 0) == 2
    deleting.cancel()
    shards.takeover.assign([0, 1])
    await shards.takeover.hold(1)
    assert shards.held() == [0, 1]
    shards.close()
