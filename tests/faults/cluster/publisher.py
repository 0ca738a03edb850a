"""The publisher: sends the workload to any worker until each event is acknowledged, and notes which are, fsynced."""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from faults.cluster.numbered_facts import Workload

EVENTS_AT_ONCE = 5
"""Of one user, in one request."""
USERS_AT_ONCE = 8
TIMEOUT_SECONDS = 10.0
PAUSE_SECONDS = 0.2
TRIED_AGAIN = frozenset({408, 429, 500, 502, 503, 504})


class Publisher:
    """Publishes each user's events in order, some users at a time. `acknowledged` never has what the log has not."""

    def __init__(self, workload: Workload, urls: Callable[[], Sequence[str]], path: Path, *, twice: bool) -> None:
        """`urls` tells the workers that live at the moment; `twice` sends each request again when it was answered."""
        self.acknowledged: list[str] = []
        self.requests = 0
        self.retries = 0
        self.seconds_to_take = 0.0
        """How long publishing is to last at least."""
        self._workload = workload
        self._urls = urls
        self._path = path
        self._twice = twice
        self._pick = random.Random(7)  # noqa: S311 - which worker is asked, nothing secret

    async def run(self) -> None:
        """Publish everything."""
        batches = [list(self._batches(user)) for user in range(self._workload.users)]
        total, began, sent = sum(map(len, batches)), time.monotonic(), 0
        waiting = list(reversed(batches))

        async def one_after_the_other(http: httpx.AsyncClient, file: int) -> None:
            nonlocal sent
            while waiting:
                for batch in waiting.pop():
                    await asyncio.sleep(max(0.0, began + self.seconds_to_take * sent / total - time.monotonic()))
                    sent += 1
                    await self._publish(http, file, batch)

        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as http, asyncio.TaskGroup() as group:
                for _ in range(USERS_AT_ONCE):
                    group.create_task(one_after_the_other(http, file))
        finally:
            os.close(file)

    def _batches(self, user: int) -> list[list[dict[str, Any]]]:
        sessions = self._workload.sessions(user)
        return [s[n : n + EVENTS_AT_ONCE] for s in sessions for n in range(0, len(s), EVENTS_AT_ONCE)]

    async def _publish(self, http: httpx.AsyncClient, file: int, batch: list[dict[str, Any]]) -> None:
        for _ in range(2 if self._twice else 1):
            await self._until_acknowledged(http, batch)
        ids = [event["event_id"] for event in batch]
        os.write(file, "".join(f"{i}\n" for i in ids).encode())
        await asyncio.to_thread(os.fsync, file)
        self.acknowledged += ids

    async def _until_acknowledged(self, http: httpx.AsyncClient, batch: list[dict[str, Any]]) -> None:
        while True:
            urls = self._urls()
            if urls:
                self.requests += 1
                try:
                    answer = await http.post(f"{self._pick.choice(urls)}/v1/events", json=batch)
                except httpx.TransportError:
                    pass
                else:
                    if answer.is_success:
                        accepted = [item["event_id"] for item in answer.json()["accepted"]]
                        assert accepted == [event["event_id"] for event in batch], accepted
                        return
                    assert answer.status_code in TRIED_AGAIN, f"{answer.status_code}: {answer.text}"
            self.retries += 1
            await asyncio.sleep(PAUSE_SECONDS)
