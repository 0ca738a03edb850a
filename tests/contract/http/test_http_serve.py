"""Serving: a process that answers HTTP, keeps what it accepted, and ends with 0 on a signal, else with a sentence."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
from contract.front_door import turn
from support import forked_program
from support.forked_program import Forked
from support.free_ports import free_ports
from support.mnemolog_up import TIMEOUT_SECONDS, environment

from mnemolog.http.app import make_http
from mnemolog.server import listen
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from schemas.log import NewRecord
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


SERVE = """
import sys
from mnemolog.server import run
from mnemolog.settings import from_environment
sys.exit(run(from_environment({}, data_dir=sys.argv[1], port=0, partitions=2)))
"""


def start(folder: Path, port: int) -> Forked:
    arguments = ("up", "--data", str(folder), "--port", str(port))
    return Forked(*arguments, environment=environment(MNEMOLOG_IDLE_SECONDS="0.2"))


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Forked, httpx.AsyncClient]]:
    port = free_ports(1)[0]
    process = start(folder, port)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while not await is_ready(http):
                    assert process.returncode is None, "the process ended while it started"
                    await asyncio.sleep(0.05)
            yield process, http
    finally:
        process.kill()


async def is_ready(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


async def stop(process: Forked, name: signal.Signals) -> str:
    """Send a signal, and return what the process told until it ended with 0."""
    process.send_signal(name)
    _, told = await asyncio.to_thread(process.communicate, TIMEOUT_SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in told
    return told


async def fails(process: Forked) -> str:
    """Return the last line of a process that ends with 1."""
    try:
        _, told = await asyncio.to_thread(process.communicate, TIMEOUT_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 1
    return told.splitlines()[-1]


async def test_a_signal_ends_it_with_0_and_nothing_accepted_is_lost(tmp_path: Path):
    event = turn("s-1", "I live in Berlin.")
    async with served(tmp_path) as (process, http):
        [first] = (await http.post("/v1/events", json=event)).json()["accepted"]
        assert "mnemolog answers at http://127.0.0.1:" in await stop(process, signal.SIGTERM)
    async with served(tmp_path) as (process, http):
        [again] = (await http.post("/v1/events?wait=60", json=event)).json()["accepted"]
        assert (again["position"], again["state"]) == (first["position"], "remembered")
        await stop(process, signal.SIGINT)


async def test_a_signal_ends_streams_too_and_does_not_wait_for_who_listens(tmp_path: Path):
    async with served(tmp_path) as (process, http), http.stream("GET", "/v1/wakes/stream") as stream:
        assert await anext(stream.aiter_lines()) == "retry: 1000"
        told = await stop(process, signal.SIGTERM)
        assert "Cancel" not in told, "the server would have to cut it off when the grace is over"


async def test_a_failure_ends_it_with_1_and_a_sentence(tmp_path: Path):
    # A message that only a newer version knows stops the worker: it must not be skipped.
    log = SqliteLog.open(tmp_path / "log")
    await log.create_topic("mnemolog.inbox", 2)
    newer = NewRecord(topic="mnemolog.inbox", partition=0, key=b"default/u", value=b"\xc3\x01newer!!!body")
    await log.append([newer])
    log.close()
    assert "upgrade mnemolog" in await fails(start(tmp_path, free_ports(1)[0]))


async def test_what_is_in_use_is_said_before_anything_is_touched(tmp_path: Path):
    async with served(tmp_path / "one") as (_, http):
        told = await fails(start(tmp_path / "two", http.base_url.port or 0))
        assert told.startswith("mnemolog cannot start: cannot listen on 127.0.0.1:")
        assert not (tmp_path / "two").exists()
        assert "already serves" in await fails(start(tmp_path / "one", free_ports(1)[0]))
        # Who comes past the command's own look, as two that start at once do, is told by the log.
        alone = [sys.executable, "-c", SERVE, str(tmp_path / "one")]
        served_again = await asyncio.to_thread(subprocess.run, alone, stderr=subprocess.PIPE, text=True, check=False)
        assert served_again.returncode == 1
        assert "holds the log" in served_again.stderr.splitlines()[-1]


def test_answers_are_sent_without_waiting_for_more():
    """Asyncio turns Nagle's algorithm off only on sockets that name their protocol."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


async def test_the_doctor_of_a_server_says_what_that_server_reaches(tmp_path: Path):
    async with served(tmp_path / "served") as (_, http):
        doctor = ("doctor", "--json", "--url", str(http.base_url))
        asked = await asyncio.to_thread(forked_program.mnemolog, *doctor, environment=environment())
        checks = {check["name"]: check for check in json.loads(asked.stdout)["checks"]}
        reached = {"index", "schema registry", "extractor", "embedder", "shards", "encryption"}
        assert set(checks) == {"server", "data directory", "log", "heads", "backup", "clock", *reached}
        assert str(tmp_path / "served") in checks["data directory"]["detail"]
        assert asked.returncode == 0


async def test_what_is_asked_of_the_process_is_answered_before_it_has_started():
    worker = Worker(from_environment({}))
    transport = httpx.ASGITransport(make_http(worker))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for path, status in (("/health/live", 200), ("/metrics", 200), ("/health/ready", 503), ("/v1/memories", 503)):
            assert (await http.get(path, params={"user_id": "u1"} if "v1" in path else None)).status_code == status


async def test_the_date_that_answers_carry_goes_on(tmp_path: Path):
    async with served(tmp_path) as (_, http):
        first = (await http.get("/health/live")).headers["date"]
        async with asyncio.timeout(60):
            while (await http.get("/health/live")).headers["date"] == first:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.1)
