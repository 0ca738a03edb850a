"""Background tasks: the first that fails ends the worker, and a stop ends them all."""

from __future__ import annotations

import asyncio
import time

import pytest

from mnemolog.worker import background
from mnemolog.worker.background import BackgroundTasks, wait_unless_failed


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
