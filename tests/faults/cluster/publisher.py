"""The publisher: sends the workload until each event is acknowledged, and notes which are, fsynced."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from faults.cluster.numbered_facts import Workload

EVENTS_AT_ONCE = 5
"""Of one user, in one request."""
USERS_AT_ONCE = 8
TIMEOUT_SECONDS = 10.0
PAUSE_SECONDS = 0.2
TRIED_AGAIN = frozenset({408, 429, 500, 502, 503, 504})


class Way(Protocol):
    """How events get to the log."""

    retries: int
    """What had to be sent again."""

    def open(self) -> AbstractAsyncContextManager[object]:
        """Be ready to send while entered."""
        ...

    async def send(self, batch: Sequence[dict[str, Any]]) -> list[str]:
        """Send events of one user, again and again until all are acknowledged; return where the log has each."""
        ...


class Publisher:
    """Publishes each user's events in order, some users at a time. `acknowledged` never has what the log has not."""

    def __init__(self, workload: Workload, ways: Sequence[Way], path: Path, *, twice: bool) -> None:
        """Let users take the ways in turns, each only one; `twice` sends each batch again when it was acknowledged."""
        self.acknowledged: list[str] = []
        self.seconds_to_take = 0.0
        """How long publishing is to last at least."""
        self.share = 1.0
        """After how much of everything no session begins for now: a fault may want some left for what comes next."""
        self._workload = workload
        self._ways = ways
        self._path = path
        self._twice = twice

    @property
    def retries(self) -> int:
        """Return how often something had to be sent again."""
        return sum(way.retries for way in self._ways)

    async def run(self) -> None:
        """Publish everything."""
        users = [self._sessions(user) for user in range(self._workload.users)]
        total, began, sent = sum(len(batches) for user in users for batches in user), time.monotonic(), 0
        waiting = list(reversed([*enumerate(users)]))

        async def one_after_the_other(file: int) -> None:
            nonlocal sent
            while waiting:
                user, sessions = waiting.pop()
                for batches in sessions:
                    while sent >= self.share * total:  # noqa: ASYNC110 - a fault changes the share, as it likes
                        await asyncio.sleep(PAUSE_SECONDS)
                    for batch in batches:
                        due = began + self.seconds_to_take * sent / total
                        await asyncio.sleep(max(0.0, due - time.monotonic()))
                        sent += 1
                        await self._publish(self._ways[user % len(self._ways)], file, batch)

        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            async with AsyncExitStack() as opened, asyncio.TaskGroup() as group:
                for way in self._ways:
                    await opened.enter_async_context(way.open())
                for _ in range(USERS_AT_ONCE):
                    group.create_task(one_after_the_other(file))
        finally:
            os.close(file)

    def _sessions(self, user: int) -> list[list[list[dict[str, Any]]]]:
        """Return the batches of each session of a user."""
        sessions = self._workload.sessions(user)
        return [[s[n : n + EVENTS_AT_ONCE] for n in range(0, len(s), EVENTS_AT_ONCE)] for s in sessions]

    async def _publish(self, way: Way, file: int, batch: list[dict[str, Any]]) -> None:
        answers = [await way.send(batch) for _ in range(2 if self._twice else 1)]
        assert all(answer == answers[0] for answer in answers), answers
        ids = [event["event_id"] for event in batch]
        os.write(file, "".join(f"{i}\n" for i in ids).encode())
        await asyncio.to_thread(os.fsync, file)
        self.acknowledged += ids


class OverHttp:
    """To any worker that lives: a batch is a request."""

    def __init__(self, urls: Callable[[], Sequence[str]]) -> None:
        """`urls` tells the workers that live at the moment."""
        self.retries = 0
        self._urls = urls
        self._http: httpx.AsyncClient
        self._pick = random.Random(7)  # noqa: S311 - which worker is asked, nothing secret

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """See `Way.open`."""
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as self._http:
            yield

    async def send(self, batch: Sequence[dict[str, Any]]) -> list[str]:
        """See `Way.send`."""
        while True:
            urls = self._urls()
            if urls:
                try:
                    answer = await self._http.post(f"{self._pick.choice(urls)}/v1/events", json=batch)
                except httpx.TransportError:
                    pass
                else:
                    if answer.is_success:
                        items = answer.json()["accepted"]
                        assert [item["event_id"] for item in items] == [event["event_id"] for event in batch], items
                        return [item["position"] for item in items]
                    assert answer.status_code in TRIED_AGAIN, f"{answer.status_code}: {answer.text}"
            self.retries += 1
            await asyncio.sleep(PAUSE_SECONDS)
