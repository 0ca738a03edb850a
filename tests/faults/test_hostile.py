"""`mnemolog up` under everything that once stopped it: nobody else loses anything, or waits for it."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
import pytest
from faults.hostile_requests import BODIES, TEXTS, Hostile
from support.free_ports import free_ports
from support.mnemolog_up import Up
from support.processes import processor_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

OBSERVATIONS = 400
USERS = 20
LATE_SECONDS = 5.0
HEALTH_SECONDS = 1.0
TIMEOUT_SECONDS = 300.0
"""Only what hangs takes so long."""
PAUSE_SECONDS = 0.1


class Meanwhile:
    """What others do, and how long the worker was at work until each of it was answered.

    That is its processor time: by the clock everything takes longer on a machine that has other work.
    """

    def __init__(self, http: httpx.AsyncClient, pid: int) -> None:
        self._http = http
        self._pid = pid
        self.published: dict[str, float] = {}
        self.lost: list[str] = []
        self.alive: list[float] = []

    async def publish(self, first: int) -> None:
        """Have one user remember something again and again, and wait each time until it is remembered."""
        for number in range(first, OBSERVATIONS, USERS):
            name = f"o-{number}"
            event = {"type": "TurnRecorded", "event_id": name, "user_id": f"other-{first}", "session_id": "s"}
            began = processor_seconds(self._pid)
            answer = await self._http.post(
                "/v1/events?wait=60",
                json=event | {"role": "user", "content": f"Item {number} lies in room {number}.", "infer": False},
            )
            self.published[name] = processor_seconds(self._pid) - began
            if answer.status_code != 200 or answer.json()["accepted"][0]["state"] != "remembered":
                self.lost.append(f"{name}: {answer.status_code} {answer.text[:200]}")
            await asyncio.sleep(PAUSE_SECONDS)

    async def probe(self) -> None:
        """Ask whether the process lives, as an orchestrator does, until cancelled."""
        while True:
            began = processor_seconds(self._pid)
            await self._http.get("/health/live")
            self.alive.append(processor_seconds(self._pid) - began)
            await asyncio.sleep(PAUSE_SECONDS)


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[Up]:
    [port] = free_ports(1)
    up = Up(tmp_path, port)
    try:
        await asyncio.to_thread(up.wait_until_ready)
        yield up
    finally:
        if up.process.poll() is None:
            await asyncio.to_thread(up.end, signal.SIGKILL)


async def send_again_and_again(url: str, requests: Sequence[Hostile], sent: dict[str, int]) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_SECONDS) as http:
        for each in requests:
            headers = {"content-type": each.content_type}
            with suppress(httpx.TransportError):  # refused before all of it was sent
                answer = await http.post(each.path, content=each.content, headers=headers)
                assert answer.status_code < 500, (each.finding, answer.text[:300])
            sent[each.finding] = sent.get(each.finding, 0) + 1


@pytest.mark.parametrize("requests", [BODIES, TEXTS], ids=["bodies", "texts"])
async def test_nobody_else_loses_anything_or_waits(worker: Up, requests: Sequence[Hostile]):
    sent: dict[str, int] = {}
    async with httpx.AsyncClient(base_url=worker.url, timeout=TIMEOUT_SECONDS) as http:
        await http.post("/v1/search", json={"user_id": "nobody", "query": "the first waits for the encoder to load"})
        meanwhile = Meanwhile(http, worker.process.pid)
        probing = asyncio.create_task(meanwhile.probe())
        async with asyncio.TaskGroup() as group:
            for user in range(USERS):
                group.create_task(meanwhile.publish(user))
            group.create_task(send_again_and_again(worker.url, requests, sent))
        probing.cancel()
        listed = [
            (await http.get("/v1/memories", params={"user_id": f"other-{user}", "page_size": 200})).json()["total"]
            for user in range(USERS)
        ]
    assert sent.keys() == {each.finding for each in requests}
    assert meanwhile.lost == []
    assert sum(listed) == OBSERVATIONS
    typical = sorted(meanwhile.published.values())[OBSERVATIONS // 10]
    late = {name: took for name, took in meanwhile.published.items() if took > typical + LATE_SECONDS}
    assert late == {}
    assert max(meanwhile.alive) < HEALTH_SECONDS
    code, said = await asyncio.to_thread(worker.end, signal.SIGTERM)
    assert (code, "has not stopped within" in said) == (0, False)
