"""Accepted means durable: nobody is answered before the log has acknowledged, and a log that refuses is said so."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest
from contract.front_door import turn
from faults.sample_worker import DRAIN_SECONDS, running

from mnemolog.http.app import make_http
from mnemolog.worker.worker import Worker
from schemas.log import LogFull, LogUnavailable
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence
    from pathlib import Path

    from schemas.log import Appended, LogError, NewRecord

LONG = 0.5
"""Seconds in which a caller who does not wait for the log would have been answered."""
BERLIN = turn("t-1", "I live in Berlin.")
TALK = {"user_id": "u1", "messages": [{"role": "user", "content": "hi"}]}
FACT = {"user_id": "u1", "content": "likes tea"}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/events", BERLIN),
    ("/v1/conversations", TALK),
    ("/v1/memories", FACT),
]


class TardyLog:
    """Acknowledges a topic's records when it is told to, or refuses; before or after it has stored them."""

    def __init__(self, log: SqliteLog) -> None:
        self._log = log
        self.held: asyncio.Event | None = None
        self.refusal: LogError | None = None
        self.asked = asyncio.Event()
        self.create_topic, self.read, self.next_place = log.create_topic, log.read, log.next_place
        self.end, self.earliest, self.partitions = log.end, log.earliest, log.partitions

    async def append(self, new: Sequence[NewRecord]) -> list[Appended]:
        return await self._tardily(self._log.append(new))

    async def append_settled(self, new: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        return await self._tardily(self._log.append_settled(new, places))

    async def _tardily(self, appending: Coroutine[Any, Any, list[Appended]]) -> list[Appended]:
        self.asked.set()
        if self.refusal is not None:
            appending.close()
            raise self.refusal
        appended = await appending
        if self.held is not None:
            await self.held.wait()
        return appended

    async def stop(self) -> None:
        self._log.close()


class TardyWorker(Worker):
    """A worker on such a log."""

    async def _open_log(self) -> TardyLog:  # type: ignore[override]
        log = await super()._open_log()
        assert isinstance(log, SqliteLog)
        return TardyLog(log)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Worker, TardyLog, httpx.AsyncClient]]:
    async with running(folder, kind=TardyWorker, partitions=2, idle_seconds=0.2) as worker:
        transport = httpx.ASGITransport(make_http(worker))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield worker, cast("TardyLog", worker._inner_log), http


@pytest.mark.parametrize(("path", "body"), REQUESTS)
async def test_no_request_is_answered_before_the_log_has_acknowledged(tmp_path: Path, path: str, body: dict[str, Any]):
    async with opened(tmp_path) as (_, log, http):
        log.held = asyncio.Event()
        asking = asyncio.create_task(http.post(path, json=body))
        await asyncio.wait_for(log.asked.wait(), DRAIN_SECONDS)
        done, _pending = await asyncio.wait([asking], timeout=LONG)
        assert not done, "answered before the log had acknowledged"
        log.held.set()
        assert (await asyncio.wait_for(asking, DRAIN_SECONDS)).status_code in (201, 202)


@pytest.mark.parametrize("refusal", [LogUnavailable("the log is busy"), LogFull("the disk is full: free space")])
@pytest.mark.parametrize(("path", "body"), REQUESTS)
async def test_a_log_that_refuses_is_a_503_that_says_when_to_come_back_and_then_it_works(
    tmp_path: Path, path: str, body: dict[str, Any], refusal: LogError
):
    async with opened(tmp_path) as (worker, log, http):
        log.refusal = refusal
        refused = await http.post(path, json=body)
        assert (refused.status_code, refused.json()["detail"]) == (503, str(refusal))
        assert int(refused.headers["Retry-After"]) > 0
        assert (await http.get("/health/ready")).status_code == 200
        log.refusal = None
        assert (await http.post(path, json=body)).status_code in (201, 202)
        await worker.drain.run_local(DRAIN_SECONDS)


async def test_what_a_log_stored_before_it_went_silent_is_once_when_the_caller_tries_again(tmp_path: Path):
    async with opened(tmp_path) as (worker, log, http):
        log.held = asyncio.Event()
        asking = asyncio.create_task(http.post("/v1/events", json=BERLIN))
        await asyncio.wait_for(log.asked.wait(), DRAIN_SECONDS)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        log.held.set()
        answer = await http.post("/v1/events?wait=60", json=BERLIN)
        assert answer.json()["accepted"][0]["state"] == "remembered"
        await worker.drain.run_local(DRAIN_SECONDS)
        memories = (await http.get("/v1/memories", params={"user_id": "u1"})).json()["items"]
        assert [(m["value"], m["access_count"]) for m in memories] == [("Berlin", 0)]


async def test_agents_wait_for_a_log_that_refuses_and_go_on(tmp_path: Path):
    async with opened(tmp_path) as (worker, log, http):
        assert (await http.post("/v1/events", json=BERLIN)).status_code == 202
        log.refusal = LogFull("the disk is full: free space")
        await asyncio.sleep(LONG)  # the window closes, and its answer cannot be appended
        assert worker.failure is not None
        assert not worker.failure.done()
        log.refusal = None
        await worker.drain.run_local(DRAIN_SECONDS)
        state = (await http.get("/v1/events/t-1", params={"user_id": "u1"})).json()
        assert state["state"] == "remembered"
