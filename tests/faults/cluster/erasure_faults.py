"""Users, and single memories, are erased while workers are killed: each erasure is whole, and nobody else notices."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import httpx
from faults.cluster.cluster import RECOVERY_SECONDS
from faults.cluster.kafka_records import KafkaReading
from support.master_key import MASTER_KEY

from mnemolog.diagnostics.residue import Spellings
from mnemolog.operations.erasing.receipts import is_signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from faults.cluster.cluster import Cluster

USERS, SHORT_USERS = 40, 12
FACTS: Final = 10
KILLS, SHORT_KILLS = 10, 3
AT_ONCE: Final = 4
PAUSE_SECONDS: Final = 0.2
ERASED_SECONDS: Final = 5 * RECOVERY_SECONDS
"""An erasure takes half a minute, and begins anew where its worker is killed."""
WORD: Final = "Quirinius"
"""Stands in all that these users say, and in their ids."""
NO_TRUTH: Final = frozenset({"acknowledged", "log.txt"})
"""Files of the row itself, and what programs say of themselves."""


async def erase(cluster: Cluster) -> None:
    """Let users say something, erase them at any moment of its way, and have every other one come back.

    Workers are killed meanwhile. Then whoever was erased is unknown to every worker, whoever came back has what was
    said since, and no word of any of them lies in a file of Kafka, of the index or of a worker.
    """
    count = SHORT_USERS if cluster.workload.is_short else USERS
    gone, waiting = list[Gone](), iter(range(count))
    killing = asyncio.create_task(_kill(cluster))

    async def one_after_the_other(http: httpx.AsyncClient) -> None:
        for number in waiting:
            one = Gone(cluster, http, number)
            await one.lives()
            gone.append(one)

    async with httpx.AsyncClient(timeout=RECOVERY_SECONDS) as http:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(one_after_the_other(http))
        await killing
        await cluster.all_ready()
        await cluster.ask("POST", "/v1/admin/drain", {"timeout": RECOVERY_SECONDS / 2})
        for one in gone:
            await one.check()
    residue = await asyncio.to_thread(lambda: sorted(_residue(cluster.folder)))
    assert not residue, residue
    known = sum(one.memories for one in gone)
    assert known, "nobody who was erased had anything yet"
    cluster.notes.append(f"{len(gone)} users erased, with {known} memories, and {len(gone) // 2} back")


async def erase_memories(cluster: Cluster) -> None:
    """Let users say something, and erase one memory of each while workers are killed.

    Then the memory is unknown to every worker, the user's others are there, and no key that is left opens its words.
    """
    count = SHORT_USERS if cluster.workload.is_short else USERS
    lives, waiting = list[Lives](), iter(range(count))
    killing = asyncio.create_task(_kill(cluster))

    async def one_after_the_other(http: httpx.AsyncClient) -> None:
        for number in waiting:
            one = Lives(cluster, http, number)
            await one.loses_a_memory()
            lives.append(one)

    async with httpx.AsyncClient(timeout=RECOVERY_SECONDS) as http:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(one_after_the_other(http))
        await killing
        await cluster.all_ready()
        await cluster.ask("POST", "/v1/admin/drain", {"timeout": RECOVERY_SECONDS / 2})
        for one in lives:
            await one.check_the_rest()
    reading = KafkaReading(cluster.brokers.addresses, master_key=MASTER_KEY)
    try:
        await reading.look()
    finally:
        await reading.close()
    opened = [record.value for records in reading.records.values() for record in records]
    for one in lives:
        found = sum(one.erased.encode() in value for value in opened)
        assert not found, f"{found} records still say: {one.erased}"
        assert any(one.kept.encode() in value for value in opened), f"nothing says any more: {one.kept}"
    residue = await asyncio.to_thread(lambda: sorted(_residue(cluster.folder)))
    assert not residue, residue
    cluster.notes.append(f"{len(lives)} memories erased, of as many users")


async def _kill(cluster: Cluster) -> None:
    for _ in range(SHORT_KILLS if cluster.workload.is_short else KILLS):
        await asyncio.sleep(cluster.pick.uniform(1.0, 3.0))
        await cluster.kill_one_of(cluster.workers)


class Gone:
    """A user who is erased."""

    def __init__(self, cluster: Cluster, http: httpx.AsyncClient, number: int) -> None:
        """Have said nothing yet."""
        self.memories = 0
        """How many there were when it was erased."""
        self._cluster, self._http, self._number = cluster, http, number
        self._user = f"gone-{WORD}-{number}"
        self._comes_back = number % 2 == 1

    async def lives(self) -> None:
        """Say something, be erased, and come back or not."""
        await self._says("before")
        await asyncio.sleep(self._cluster.pick.uniform(0.0, 3.0))
        receipt = await self._asked("DELETE", f"/v1/users/{self._user}", None)
        listed = await self._asked("GET", "/v1/erasures", None)
        assert is_signed(receipt, listed["public_key"]), receipt
        self.memories = receipt["memories"]
        if self._comes_back:
            await self._says("after")

    async def check(self, urls: Sequence[str] | None = None) -> None:
        """Ask every worker, or those given: nothing of before is known. Raises AssertionError."""
        wanted = {self._words("after", fact) for fact in range(FACTS)} if self._comes_back else set[str]()
        for url in urls or self._cluster.alive():
            listed = await self._asked("GET", f"/v1/memories?user_id={self._user}&page_size=200", None, url)
            assert {one["content"] for one in listed["items"]} == wanted, (self._user, listed)
            body = {"user_id": self._user, "query": self._words("before", 0), "limit": 100, "recall": False}
            body["include"] = ["memories"]
            found = await self._asked("POST", "/v1/search", body, url)
            assert {one["memory"] for one in found["results"]} <= wanted, (self._user, found)

    def _words(self, when: str, fact: int) -> str:
        return f"{WORD} has {fact * 1000 + self._number} stones in the box {fact}, {when}"

    async def _says(self, when: str) -> None:
        session = {"user_id": self._user, "session_id": f"{self._user}-{when}", "occurred_at": "2026-01-05T08:00:00Z"}
        turns = [
            {"type": "TurnRecorded", "event_id": f"{self._user}-{when}-{fact}", "role": "user", **session}
            | {"content": self._words(when, fact)}
            for fact in range(FACTS)
        ]
        end = {"type": "SessionEnded", "event_id": f"{self._user}-{when}-end", **session}
        await self._asked("POST", "/v1/events", [*turns, end])

    async def _asked(self, method: str, path: str, body: object, url: str | None = None) -> dict[str, Any]:
        """Ask until it is answered; a repeat has the same key. Raises AssertionError."""
        deadline, last = time.monotonic() + (ERASED_SECONDS if method == "DELETE" else RECOVERY_SECONDS), ""
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError, IndexError):
                whom = url or self._cluster.pick.choice(self._cluster.alive())
                answer = await self._http.request(method, whom + path, json=body, headers={"Idempotency-Key": "once"})
                if answer.is_success:
                    return dict(answer.json())
                last = f"{answer.status_code}: {answer.text}"
                # 409: the worker that was asked first is still at it.
                assert answer.status_code == 503 or (method == "DELETE" and answer.status_code == 409), last
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{method} {path} is not answered: {last}")


class Lives(Gone):
    """A user of whom one memory is erased."""

    erased = ""
    """What the memory said."""

    @property
    def kept(self) -> str:
        """Something that was said besides."""
        return next(words for words in self._all() if words != self.erased)

    async def loses_a_memory(self) -> None:
        """Say something, and have one memory of it erased as soon as there are any."""
        await self._says("before")
        listed = await self._memories()
        deadline = time.monotonic() + RECOVERY_SECONDS
        while not listed and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_SECONDS)
            listed = await self._memories()
        one = self._cluster.pick.choice(listed)
        self.erased = one["content"]
        path = f"/v1/memories/{one['memory_id']}?user_id={self._user}&forever=true"
        receipt = await self._asked("DELETE", path, None)
        public_key = (await self._asked("GET", "/v1/erasures", None))["public_key"]
        assert is_signed(receipt, public_key), receipt

    async def check_the_rest(self) -> None:
        """Ask every worker: that memory is not known, and all others are. Raises AssertionError."""
        wanted = self._all() - {self.erased}
        for url in self._cluster.alive():
            found = await self._memories(url)
            assert {one["content"] for one in found} == wanted, (self._user, self.erased, found)

    def _all(self) -> set[str]:
        return {self._words("before", fact) for fact in range(FACTS)}

    async def _memories(self, url: str | None = None) -> list[dict[str, Any]]:
        listed = await self._asked("GET", f"/v1/memories?user_id={self._user}&page_size=200", None, url)
        return list(listed["items"])


def _residue(folder: Path) -> Iterator[str]:
    """Yield the files in which the word of erased users lies; nobody's word lies in clear where all is sealed."""
    spellings = Spellings([WORD, "stones in the box"])
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in NO_TRUTH:
            with suppress(FileNotFoundError):  # Kafka and SQLite remove files of theirs meanwhile
                for line, spelling in spellings.find(path.read_bytes()):
                    yield f"{path.relative_to(folder)}: {spelling} of line {line}"
