"""A real worker whose machine's clock jumps below it: it loses nothing, says so, and goes on when the clock is back."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from faults.clock_set import ProcessClock
from support.free_ports import free_ports
from support.mnemolog_up import TIMEOUT_SECONDS, Up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AHEAD = timedelta(days=400)
NEAR = timedelta(minutes=5)
LOOKS_SECONDS = 3.0
"""In which the schedulers of decay, retention and wakes look several times."""


@pytest.fixture
def process_clock(tmp_path: Path) -> ProcessClock:
    return ProcessClock(tmp_path / "clock")


@pytest.fixture
def workers() -> Iterator[list[Up]]:
    """Give a list for the workers of a test, whose processes are ended with it."""
    started: list[Up] = []
    yield started
    for worker in started:
        if worker.process.poll() is None:
            worker.end(signal.SIGKILL)


def ready_conditions(worker: Up) -> list[str]:
    return list(httpx.get(f"{worker.url}/health/ready", timeout=20).json()["conditions"])


def until_it(worker: Up, *, doubts: bool) -> None:
    """Wait until a worker doubts its clock, or does not."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while bool(ready_conditions(worker)) is not doubts:
        assert time.monotonic() < deadline, ready_conditions(worker)
        time.sleep(0.1)


def standing(worker: Up) -> dict[str, Any]:
    """Return what a clock could take away."""
    turns = httpx.get(f"{worker.url}/v1/sessions/s/turns", params={"user_id": "u"}, timeout=20).json()["items"]
    memories = worker.client.memories("u")["items"]
    reminders = httpx.get(f"{worker.url}/v1/users/u/reminders", timeout=20).json()["items"]
    kept = {one["memory_id"]: (one["content"], one["status"], one["importance"]) for one in memories}
    return {"turns": len(turns), "memories": kept, "reminders": reminders, "digest": worker.client.digest()["total"]}


def test_a_jump_of_400_days_and_a_start_in_it_take_nothing_away(
    tmp_path: Path, process_clock: ProcessClock, workers: list[Up]
):
    [port] = free_ports(1)
    settings = {"MNEMOLOG_DECAY_POLICY": "ladder", **process_clock.environment}
    workers.append(worker := Up(tmp_path / "data", port, **settings))
    worker.wait_until_ready()
    turn = {"type": "TurnRecorded", "user_id": "u", "session_id": "s", "role": "user", "content": "My name is Lin."}
    assert httpx.post(f"{worker.url}/v1/events", json=turn, timeout=60).status_code == 202
    worker.client.drain()
    body = {"user_id": "u", "content": "Lin has a cold", "memory_type": "short_term"}
    assert httpx.post(f"{worker.url}/v1/memories", json=body, timeout=60).status_code == 201
    due_at = (datetime.now(UTC) + timedelta(days=180)).isoformat()
    reminder = {"due_at": due_at, "content": "call mum", "channel": "dm"}
    assert httpx.post(f"{worker.url}/v1/users/u/reminders", json=reminder, timeout=60).status_code == 201
    before = standing(worker)

    process_clock.set(AHEAD)
    until_it(worker, doubts=True)
    time.sleep(LOOKS_SECONDS)  # that nothing happens cannot be waited for
    assert standing(worker) == before
    process_clock.put_right()
    until_it(worker, doubts=False)
    assert standing(worker) == before

    process_clock.set(AHEAD)
    assert worker.end(signal.SIGTERM)[0] == 0
    workers.append(again := Up(tmp_path / "data", port, **settings))
    again.wait_until_ready()
    until_it(again, doubts=True)
    time.sleep(LOOKS_SECONDS)  # as above
    assert standing(again) == before
    body = {"user_id": "u", "content": "Lin has a cat"}
    known = httpx.post(f"{again.url}/v1/memories", json=body, timeout=60).json()
    assert abs(datetime.fromisoformat(known["occurred_at"]) - datetime.now(UTC)) < NEAR
    process_clock.put_right()
    until_it(again, doubts=False)
    assert standing(again)["memories"].items() >= before["memories"].items()
