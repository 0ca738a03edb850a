"""A client in the background: gives commands for users of its own and searches for what it said, all the while."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
from faults.cluster.cluster import RECOVERY_SECONDS
from faults.cluster.numbered_facts import text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from faults.cluster.cluster import Cluster

TALKERS = 12
"""Enough for partitions of every worker."""
PAUSE_SECONDS = 0.1


@asynccontextmanager
async def background_client(cluster: Cluster) -> AsyncIterator[BackgroundClient]:
    """Give commands while entered, then ask for all that was remembered. Raises AssertionError for a wrong answer."""
    one = BackgroundClient(cluster)
    async with httpx.AsyncClient(timeout=10) as http:
        running = asyncio.create_task(one.run(http))
        try:
            yield one
        finally:
            one.ends = True
            await running
        await one.check()
    cluster.notes.append(f"{one.commands:,} commands decided meanwhile")


class BackgroundClient:
    """One command after the other. A repeat has its command's key: it is the same command."""

    def __init__(self, cluster: Cluster) -> None:
        """Have said nothing yet."""
        self.ends = False
        self.commands = 0
        self.longest = 0.0
        """Seconds that a step took until it was answered, since it is measured anew."""
        self._began: float = time.monotonic()
        self._cluster = cluster
        self._kept: dict[str, dict[str, float]] = {f"talker-{n}": {} for n in range(TALKERS)}
        """What each user is to have, with its importance."""

    def measure_anew(self) -> None:
        """Forget how long steps took until now."""
        self.longest, self._began = 0.0, time.monotonic()

    def slowest(self) -> float:
        """Return the seconds that a step took at most since it is measured anew; the one in hand is one too."""
        return max(self.longest, time.monotonic() - self._began)

    async def run(self, http: httpx.AsyncClient) -> None:
        """Remember, find, revise and forget, until `ends` is set; forget every third, and bring back every sixth."""
        number = 0
        while not self.ends:
            talker = number % TALKERS
            user, words = f"talker-{talker}", text(1_000 + talker, number)
            about = {"user_id": user}
            memory = (await self._decided(http, number, "POST", "", {**about, "content": words}))["memory_id"]
            self._kept[user][words] = 0.9
            self._began = time.monotonic()
            search = {**about, "query": words, "limit": 1, "recall": False}
            found = await self._cluster.ask("POST", "/v1/search", search)
            self.longest = max(self.longest, time.monotonic() - self._began)
            assert [one["memory"] for one in found["results"]] == [words], found
            at = f"/{memory}?user_id={user}"
            await self._decided(http, number, "PATCH", at, {"importance": 0.9})
            if not number % 3:
                await self._decided(http, number, "DELETE", at)
                del self._kept[user][words]
            if not number % 6:
                await self._decided(http, number, "POST", f"/{memory}/restore?user_id={user}")
                self._kept[user][words] = 0.9
            number += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def check(self) -> None:
        """Ask for what each user has: neither more nor less than what was decided."""
        for user, kept in self._kept.items():
            listed = await self._cluster.ask("GET", f"/v1/memories?user_id={user}&page_size=200")
            assert {one["content"]: one["importance"] for one in listed["items"]} == kept, user
            assert listed["total"] == len(listed["items"]) == len(kept), user

    async def _decided(
        self, http: httpx.AsyncClient, number: int, method: str, path: str, body: object = None
    ) -> dict[str, Any]:
        """Give a command until its decision is told. Raises AssertionError."""
        began, last = time.monotonic(), ""
        self._began = began
        while time.monotonic() < began + RECOVERY_SECONDS:
            urls = self._cluster.alive()
            with suppress(httpx.TransportError):
                url = f"{self._cluster.pick.choice(urls)}/v1/memories{path}"
                answer = await http.request(method, url, json=body, headers={"Idempotency-Key": f"{number} {method}"})
                if answer.status_code in (200, 201):
                    self.commands += 1
                    self.longest = max(self.longest, time.monotonic() - began)
                    return dict(answer.json())
                last = f"{answer.status_code}: {answer.text}"
                assert answer.status_code in (202, 503), last
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{method} {path} is not decided: {last}")
