"""Workers side by side on a Kafka of their own, and how a test asks and hears them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import orjson
from faults.cluster.worker_process import FORKED_UP, WorkerProcess
from support.free_ports import free_ports
from support.kafka_server import KafkaServer
from support.master_key import MASTER_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

SOON_SECONDS = 180.0
"""Only what hangs takes so long: the machine may be busy."""


COMMANDS = "/v1/memories"


def is_undecided(answer: httpx.Response) -> bool:
    """Tell whether a command is in the log and not decided yet."""
    return answer.status_code == HTTPStatus.ACCEPTED and answer.json().keys() == {"command_id", "state"}


class Several:
    """Workers side by side; `ask` sends to the one of a number, or fails."""

    def __init__(self, workers: list[WorkerProcess]) -> None:
        self.workers = workers
        # Workers are killed and come back on their port: no connection is used for a second request.
        self.http = httpx.AsyncClient(timeout=SOON_SECONDS, limits=httpx.Limits(max_keepalive_connections=0))

    async def ask(self, number: int, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Ask one worker; 503, and a command that a busy machine has not decided yet, is asked again.

        That is what a caller would do: a command under the same key is the same command.
        """
        if method != "GET" and path.startswith(COMMANDS):
            headers = {"Idempotency-Key": str(uuid4()), **headers}
        while True:
            answer = await self.http.request(method, self.workers[number].url + path, json=body, headers=headers)
            is_refused = answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
            if not is_refused and not is_undecided(answer):
                return answer
            assert not is_refused or answer.headers["Retry-After"]
            await asyncio.sleep(0.2)

    async def json(self, number: int, method: str, path: str, body: Any = None) -> Any:
        """Ask one worker, and return what it answers."""
        answer = await self.ask(number, method, path, body)
        assert answer.is_success, answer.text
        return answer.json()

    async def remember(self, number: int, user: str, content: str, **more: Any) -> Any:
        """Remember a fact through one worker."""
        return await self.json(number, "POST", "/v1/memories", {"user_id": user, "content": content, **more})

    async def found(self, number: int, user: str, query: str) -> list[str]:
        """Search through one worker."""
        body = {"user_id": user, "query": query, "include": ["memories"], "recall": False}
        return [one["memory"] for one in (await self.json(number, "POST", "/v1/search", body))["results"]]


@contextmanager
def a_kafka(folder: Path) -> Iterator[str]:
    """Run a broker that has none of the topics yet."""
    port, controller = free_ports(2)
    server = KafkaServer(folder, port, controller=controller)
    server.start()
    try:
        yield server.address
    finally:
        server.stop()


async def heard(
    two: Several, number: int, count: int, *, after: str | None = None, begun: asyncio.Event | None = None
) -> list[tuple[str, Any]]:
    """Return the first so many wakes of a worker's stream, each with the id of its event.

    `after`: it goes on after that event; `begun` is set when nothing that is raised from then on can be missed.
    """
    found: list[tuple[str, Any]] = []
    url, event_id = f"{two.workers[number].url}/v1/wakes/stream", ""
    headers = {} if after is None else {"Last-Event-ID": after}
    async with asyncio.timeout(SOON_SECONDS), two.http.stream("GET", url, headers=headers) as response:
        assert response.status_code == HTTPStatus.OK
        if begun is not None:
            begun.set()
        async for line in response.aiter_lines():
            name, _, text = line.partition(": ")
            event_id = text if name == "id" else event_id
            if name == "data":
                found.append((event_id, orjson.loads(text)))
            if len(found) == count:
                break
    return found


async def until_shared(several: Several) -> None:
    """Wait until each worker holds some of the partitions."""
    for number in (0, 1):
        async with asyncio.timeout(SOON_SECONDS):
            while len(await held_here(several, number)) not in range(1, 8):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.3)


async def held_here(several: Several, number: int) -> list[int]:
    """Return the partitions that a worker holds, as it tells the other one; [] while it does not know that one."""
    sender = {"mnemolog-forwarded-by": several.workers[1 - number].url}
    answer = await several.ask(number, "POST", "/v1/internal/generations", {}, **sender)
    return list(answer.json()["partitions"]) if answer.is_success else []


@asynccontextmanager
async def two_workers(
    folder: Path, index: str, *, program: Sequence[str] = FORKED_UP, **changed: str
) -> AsyncIterator[Several]:
    """Run two workers over a fresh Kafka; their index is at an address of Weaviate. Settings may be changed.

    Forks share the seed of hashes; in `test_several_workers.py` and in the fault matrix each worker has its own.
    """
    with a_kafka(folder / "kafka") as address:
        settings = {
            "MASTER_KEY": MASTER_KEY,
            "BROKER": f"kafka://{address}",
            "INDEX": index,
            "SESSION_SECONDS": "6",
            "EXTRACTOR": "verbatim",
            "DECAY_POLICY": "off",
            **changed,
        }
        workers = []
        for number, port in enumerate(free_ports(2)):
            own = {"ADVERTISED_URL": f"http://127.0.0.1:{port}", "EMBEDDING_API_KEY": f"worker-{number}"}
            workers.append(WorkerProcess(folder / str(number), port, settings | own, program))
        try:
            workers[0].start()
            await workers[0].ready()  # it makes the topics
            workers[1].start()
            await workers[1].ready()
            several = Several(workers)
            await until_shared(several)
            yield several
            await several.http.aclose()
        finally:
            for worker in workers:
                worker.kill()
