"""`mnemolog up` as an operator runs it: killed, interrupted, started again, and started twice."""

from __future__ import annotations

import json
import random
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from faults.spoken import USERS, spoken
from support import forked_program
from support.free_ports import free_ports
from support.mnemolog_up import TIMEOUT_SECONDS, Up, environment

from mnemolog import Unavailable
from projections.encrypted_files import PAGE_BYTES

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

FINAL = ("remembered", "nothing")
SEED = 20261121
KILLS = 4


@pytest.fixture
def port() -> int:
    [found] = free_ports(1)
    return found


@pytest.fixture
def workers() -> Iterator[list[Up]]:
    """Give a list for the workers of a test, whose processes are ended with it."""
    started: list[Up] = []
    yield started
    for worker in started:
        if worker.process.poll() is None:
            worker.end(signal.SIGKILL)


def mnemolog(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command on a data directory."""
    given = (*arguments, "--data", str(folder))
    return forked_program.mnemolog(*given, environment=environment(), timeout=TIMEOUT_SECONDS)


def run_json(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a command and return its JSON."""
    done = mnemolog(folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def undisturbed(folder: Path) -> dict[str, Any]:
    """Return the digests of a run that nothing happens to, made by commands alone."""
    events = folder / "events.jsonl"
    events.write_text("\n".join(map(json.dumps, spoken())))
    assert run_json(folder / "data", "publish", str(events)) == {"accepted": len(spoken()), "refused": []}
    assert run_json(folder / "data", "drain")["memories"] > len(USERS)
    return run_json(folder / "data", "digest")


def test_killed_and_interrupted_at_random_it_loses_and_doubles_nothing(
    tmp_path: Path, port: int, workers: list[Up]
) -> None:
    """An event is published until it is acknowledged, while the worker dies again and again, at moments by seed."""
    dice = random.Random(SEED)  # noqa: S311 - moments, no secrets
    left = spoken()
    acknowledged: list[dict[str, Any]] = []
    for ending in [signal.SIGKILL, signal.SIGINT] * (KILLS // 2):
        workers.append(Up(tmp_path / "data", port))
        workers[-1].wait_until_ready()
        dies_at = time.monotonic() + dice.uniform(0.0, 0.6)
        batch = len(left) // 2 if ending == signal.SIGINT else max(1, len(left) // 3)
        while left[:batch] and time.monotonic() < dies_at:
            workers[-1].client.publish(left[:1])
            acknowledged.append(left.pop(0))
            batch -= 1
        time.sleep(max(0.0, dies_at - time.monotonic()))
        code, said = workers[-1].end(ending)
        assert code == (0 if ending == signal.SIGINT else -signal.SIGKILL), said
    workers.append(Up(tmp_path / "data", port))
    workers[-1].wait_until_ready()
    if left:
        workers[-1].client.publish(left)
    workers[-1].client.publish(acknowledged)
    workers[-1].client.drain(TIMEOUT_SECONDS - 10)
    for user in USERS:
        mine = [e["event_id"] for e in spoken() if e["user_id"] == user]
        found = workers[-1].client.events_status(mine, user)
        assert [(i["event_id"], i["state"]) for i in found["items"] if i["state"] not in FINAL] == []
        assert found["unknown"] == []
    digest = workers[-1].client.digest()
    assert workers[-1].end(signal.SIGTERM)[0] == 0
    (tmp_path / "other").mkdir()
    assert digest == undisturbed(tmp_path / "other")


def test_a_worker_that_finds_its_shards_damaged_folds_them_anew(tmp_path: Path, port: int, workers: list[Up]) -> None:
    """Nobody starts it again, and nobody deletes anything: the log has everything."""
    workers.append(Up(tmp_path, port))
    workers[-1].wait_until_ready()
    workers[-1].client.publish(spoken())
    workers[-1].client.drain(TIMEOUT_SECONDS - 10)
    known = workers[-1].client.memories("ann")
    assert workers[-1].end(signal.SIGTERM)[0] == 0
    for shard in (tmp_path / "shards").glob("1/[0-9].sqlite"):
        whole = bytearray(shard.read_bytes())
        for page in range(PAGE_BYTES, len(whole), PAGE_BYTES):
            whole[page + PAGE_BYTES // 2] ^= 1
        shard.write_bytes(whole)
    workers.append(Up(tmp_path, port))
    workers[-1].wait_until_ready()
    with suppress(Unavailable):
        workers[-1].client.memories("ann")
    workers[-1].wait_until_ready()
    assert workers[-1].client.memories("ann") == known
    assert list((tmp_path / "shards").glob("1/*.sqlite.damaged"))
    assert workers[-1].client.rebuild()["equal"]
    assert workers[-1].end(signal.SIGTERM)[0] == 0


def test_a_second_worker_on_the_same_directory_says_who_holds_it(tmp_path: Path, port: int, workers: list[Up]) -> None:
    workers.append(Up(tmp_path, port))
    workers[-1].wait_until_ready()
    second = mnemolog(tmp_path, "up", "--port", "0")
    assert second.returncode == 1
    said = second.stderr.decode()
    assert f"a worker (process {workers[-1].process.pid}) already serves {tmp_path}" in said
    assert "Traceback" not in said


def test_commands_talk_to_the_worker_that_holds_the_directory(tmp_path: Path, port: int, workers: list[Up]) -> None:
    workers.append(Up(tmp_path, port))
    workers[-1].wait_until_ready()
    memory = run_json(tmp_path, "remember", "the spare key is under the mat", "--user", "ann")
    assert [m["memory_id"] for m in workers[-1].client.memories("ann")["items"]] == [memory["memory_id"]]
    assert workers[-1].process.poll() is None


def test_a_worker_that_is_asked_to_stop_does_so_within_seconds(tmp_path: Path, port: int, workers: list[Up]) -> None:
    began = time.monotonic()
    workers.append(Up(tmp_path, port))
    workers[-1].wait_until_ready()
    ready = time.monotonic()
    code, said = workers[-1].end(signal.SIGTERM)
    assert code == 0, said
    assert "has not stopped within" not in said
    assert time.monotonic() - ready < 10 + (ready - began)  # a machine that is slow to stop it was slow to start it
    assert "Traceback" not in said
