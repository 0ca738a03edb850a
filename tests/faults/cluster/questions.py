"""Questions during a fault: what workers answer meanwhile is right, 503 or refused, never wrong, partial or stale."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
from faults.cluster.cluster import SESSION_SECONDS
from faults.cluster.numbered_facts import event_id, place_of, text

from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from faults.cluster.cluster import Cluster

PAGE = 200


@asynccontextmanager
async def questions_meanwhile(cluster: Cluster) -> AsyncIterator[None]:
    """Ask any worker about any user while entered, and note how often. Raises AssertionError for a wrong answer."""
    questions = AnswerChecker(cluster)
    running = asyncio.create_task(questions.run())
    try:
        yield
        if running.done():
            running.result()
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert questions.answers > 0
    cluster.notes.append(f"{questions.answers:,} answers right, {questions.refusals:,} refused meanwhile")


class Refused(Exception):
    """A worker answers 503: ask again in a moment."""


class AnswerChecker:
    """Asks any worker about any user, all the while, and checks each answer against the ones before."""

    def __init__(self, cluster: Cluster) -> None:
        """Have asked nothing yet."""
        self._cluster = cluster
        self.answers = 0
        self.refusals = 0
        self._shown: dict[str, set[str]] = {}

    async def run(self) -> None:
        """Ask until cancelled. Raises AssertionError at the first wrong answer."""
        async with httpx.AsyncClient(timeout=10) as http:
            while True:
                with suppress(LogUnavailable):
                    await self._cluster.reading.look()
                for _ in range(5):
                    await asyncio.gather(*(self._ask(http) for _ in range(3)))
                    await asyncio.sleep(0.05)

    async def _ask(self, http: httpx.AsyncClient) -> None:
        pick, workload = self._cluster.pick, self._cluster.workload
        number = pick.randrange(workload.users)
        user = workload.user(number)
        known = self._shown.get(user, set()) | self._remembered(number)
        urls, steady = self._cluster.alive(), self._cluster.steady
        if not urls:
            return
        try:
            way = pick.choice((self._listed, self._found))
            shown = await way(http, pick.choice(urls), user, number)
        except (Refused, httpx.TransportError) as refusal:
            self.refusals += 1
            if steady is not None and steady == self._cluster.steady:
                raise AssertionError(f"{user}: refused, and every worker is in place") from refusal
            return
        self.answers += 1
        lost = known - shown
        assert way == self._found or not lost, f"{user}: shown or remembered before, now not: {sorted(lost)}"
        self._shown.setdefault(user, set()).update(shown)

    def _remembered(self, number: int) -> set[str]:
        """Return the facts of a user that were remembered longer ago than a session: nobody may not know them."""
        long_ago = time.monotonic() - SESSION_SECONDS
        facts = range(self._cluster.workload.facts)
        decided = self._cluster.reading.decided
        return {text(number, fact) for fact in facts if decided.get(event_id(number, fact), long_ago) < long_ago}

    async def _listed(self, http: httpx.AsyncClient, url: str, user: str, _number: int) -> set[str]:
        """List all memories of a user."""
        answer = await http.get(f"{url}/v1/memories", params={"user_id": user, "page_size": PAGE})
        body = _body(answer)
        assert body["total"] == len(body["items"]), body
        return _contents(body["items"], "content", user)

    async def _found(self, http: httpx.AsyncClient, url: str, user: str, number: int) -> set[str]:
        """Search for a fact that was shown before: it is found again."""
        shown = sorted(self._shown.get(user, ()))
        wanted = self._cluster.pick.choice(shown) if shown else text(number, 0)
        asked = {"user_id": user, "query": wanted, "limit": 100, "include": ["memories"], "recall": False}
        body = _body(await http.post(f"{url}/v1/search", json=asked))
        found = _contents(body["results"], "memory", user)
        assert not shown or wanted in found, f"{user}: {wanted!r} is not found any more"
        return found


def _body(answer: httpx.Response) -> dict[str, Any]:
    if answer.status_code == 503:
        assert answer.headers["Retry-After"], answer.text
        raise Refused(answer.text)
    assert answer.is_success, f"{answer.status_code}: {answer.text}"
    found: dict[str, Any] = answer.json()
    return found


def _contents(memories: list[dict[str, Any]], field: str, user: str) -> set[str]:
    for memory in memories:
        assert memory["user_id"] == user, memory
        assert memory[field] == text(*place_of(memory["source_ids"][0])), memory
    return {memory[field] for memory in memories}
