"""A row's cluster: fresh Kafka, real workers, the model and the publisher, and what a fault needs to reach."""

from __future__ import annotations

import asyncio
import json
import random
import time
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import httpx
from faults.cluster.brokers import Brokers
from faults.cluster.counters import Counters
from faults.cluster.kafka_records import KafkaReading
from faults.cluster.model import Model
from faults.cluster.numbered_facts import MODEL_SETTINGS
from faults.cluster.ports import Ports
from faults.cluster.publisher import OverHttp, Publisher, Way
from faults.cluster.registry_producer import RegistryProducer
from faults.cluster.worker_process import UP, WorkerProcess
from support.master_key import MASTER_KEY
from support.registry_server import RegistryServer
from support.weaviate_server import WeaviateServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence
    from typing import Self

    from faults.cluster.numbered_facts import Workload

SESSION_SECONDS = 6
WORKERS = 3
RECOVERY_SECONDS = 300.0
DRAIN_SECONDS = 300.0
"""Only what hangs takes so long: the machine may be busy."""
SMALL_QUEUES = Path(__file__).with_name("small_queues.py")
SETTLED_SECONDS = 3.0


class Cluster:
    """Everything of one row, alive while entered."""

    def __init__(
        self,
        folder: Path,
        workload: Workload,
        *,
        brokers: int = 1,
        twice: bool = False,
        weaviate: bool = False,
        registry: bool = False,
        small_queues: bool = False,
        encrypted: bool = False,
    ) -> None:
        """Start nothing yet."""
        self.folder = folder
        self.workload = workload
        self.ports = Ports()
        self.brokers = Brokers(folder, self.ports, brokers)
        self.model = Model(self.ports.take())
        self.workers: list[WorkerProcess] = []
        self.reading = KafkaReading(self.brokers.addresses, master_key=MASTER_KEY if encrypted else None)
        self._program = (str(SMALL_QUEUES),) if small_queues else UP
        self.counters = Counters(self.workers)
        self.pick = random.Random(11)  # noqa: S311 - which worker a fault hits, nothing secret
        self.recoveries: list[float] = []
        self.dead_letters_expected = 0
        """Records that a fault has put aside: so many dead letters there must be, and no more."""
        self.steady: int | None = None
        """Numbers the times in which every worker is alive and in place, and no question may be refused."""
        self.notes: list[str] = []
        """What a fault has to say besides."""
        self._settings = {
            **MODEL_SETTINGS,
            **({"MASTER_KEY": MASTER_KEY} if encrypted else {"ENCRYPTION": "off"}),
            "BROKER": f"kafka://{','.join(self.brokers.addresses)}",
            "LLM_BASE_URL": self.model.base_url,
            "SESSION_SECONDS": str(SESSION_SECONDS),
        }
        self.weaviate = WeaviateServer(self._made("weaviate")) if weaviate else None
        self.registry: RegistryServer | None = None
        self.producer: RegistryProducer | None = None
        ways: list[Way] = [OverHttp(self.alive)]
        if registry:
            self.registry = RegistryServer(self._made("registry"), keeps=True)
            self.producer = RegistryProducer(self.brokers.addresses, self.registry.url)
            ways.append(self.producer)
        self.publisher = Publisher(workload, ways, folder / "acknowledged", twice=twice)
        if self.weaviate is not None:
            self._settings["INDEX"] = self.weaviate.url
        if self.registry is not None:
            self._settings["SCHEMA_REGISTRY_URL"] = self.registry.url
        self._exits = AsyncExitStack()

    def _made(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    async def __aenter__(self) -> Self:
        """Start Kafka, the model and the workers."""
        try:
            self._exits.callback(self.brokers.stop)
            await asyncio.to_thread(self.brokers.start)
            if self.weaviate is not None:
                self._exits.callback(self.weaviate.stop)
                await asyncio.to_thread(self.weaviate.start)
            if self.registry is not None:
                self._exits.callback(self.registry.stop)
                await self._registered_before()
            await self._exits.enter_async_context(self.model)
            self._exits.callback(self.kill_workers)
            for _ in range(WORKERS):
                self.add_worker()
            await self.all_ready()
            self._exits.push_async_callback(self.reading.close)
            await self.reading.look()
            await self._exits.enter_async_context(self.counters)
        except BaseException:
            await self._exits.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """End every process."""
        await self._exits.aclose()

    async def _registered_before(self) -> None:
        """Let the producer register while the registry is up, which then goes away: workers start without it."""
        assert self.registry is not None
        assert self.producer is not None
        await asyncio.to_thread(self.registry.start)
        self.producer.ids = await self.producer.register("the first")
        await asyncio.to_thread(self.registry.stop)

    # -- workers

    def add_worker(self, environment: Mapping[str, str] = MappingProxyType({}), **settings: str) -> WorkerProcess:
        """Start one worker more, and do not wait; `environment` is what its process has besides settings."""
        port = self.ports.take()
        own = {"ADVERTISED_URL": f"http://127.0.0.1:{port}", **settings}
        folder = self.folder / f"worker-{len(self.workers)}"
        worker = WorkerProcess(folder, port, self._settings | own, self._program, **environment)
        self.workers.append(worker)
        worker.start()
        return worker

    def alive(self) -> list[str]:
        """Return the URLs of the workers that a caller would try."""
        return [worker.url for worker in self.workers if worker.is_alive]

    async def all_ready(self) -> None:
        """Wait until all workers answer that were not removed."""
        await asyncio.gather(*(worker.ready() for worker in self.workers if not worker.removed))

    async def settled(self) -> int:
        """Wait until the group stays as it is; return how often it has shared out its partitions. Raises TimeoutError.

        AssertionError when that was never, which cannot be.
        """
        async with asyncio.timeout(RECOVERY_SECONDS):
            known = -1
            while known != (known := await self.reading.generations()):  # noqa: ASYNC110 - Kafka tells nobody
                await asyncio.sleep(SETTLED_SECONDS)
        assert known > 0, "Kafka does not say that there is a group"
        return known

    async def dropped(self, worker: WorkerProcess) -> None:
        """Wait until the group counts on others, and not on this worker any more. Raises TimeoutError."""
        known: set[str | None] = {worker.url}
        async with asyncio.timeout(RECOVERY_SECONDS):
            while not known or worker.url in known:  # it has nobody for a moment, while it shares partitions out
                await asyncio.sleep(SETTLED_SECONDS)
                known = {member.url for member in await self.reading.members()}

    def kill_workers(self) -> None:
        """Kill all workers."""
        for worker in self.workers:
            worker.kill()

    async def kill_one_of(self, workers: Sequence[WorkerProcess]) -> None:
        """Kill one of some workers and start it again; wait until what was acknowledged is remembered."""
        worker = self.pick.choice(workers)
        began = time.monotonic()
        worker.kill()
        worker.start()
        await self.recovered(began)
        await worker.ready()

    # -- the run

    async def remembered(self) -> None:
        """Wait until all that was acknowledged until now is remembered."""
        await self.reading.until_decided(self.turns_acknowledged(), RECOVERY_SECONDS)

    async def recovered(self, began: float) -> None:
        """Wait until all that was acknowledged until now is remembered; note the seconds since `began`."""
        await self.remembered()
        self.recoveries.append(time.monotonic() - began)

    def turns_acknowledged(self) -> list[str]:
        """Return the turns that were acknowledged until now."""
        return [i for i in self.publisher.acknowledged if not i.endswith("-end")]

    async def run(self, fault: Awaitable[None], seconds: float) -> None:
        """Publish over so many seconds at least, and let the fault happen meanwhile; return when all is remembered."""
        self.publisher.seconds_to_take = seconds
        async with asyncio.TaskGroup() as group:
            group.create_task(self.publisher.run())
            group.create_task(_awaited(fault))
        await self.all_ready()
        await self.remembered()

    async def ask(self, method: str, path: str, body: object = None, seconds: float = DRAIN_SECONDS) -> Any:
        """Ask any worker until one answers; 503 is asked again. Raises AssertionError."""
        deadline, last = time.monotonic() + seconds, ""
        async with httpx.AsyncClient(timeout=seconds) as http:
            while time.monotonic() < deadline:
                try:
                    answer = await http.request(method, self.pick.choice(self.alive()) + path, json=body)
                except httpx.TransportError as error:
                    last = repr(error)
                else:
                    if answer.is_success:
                        return json.loads(answer.content)
                    last = f"{answer.status_code}: {answer.text}"
                    assert answer.status_code == 503, last
                await asyncio.sleep(0.5)
        raise AssertionError(f"{method} {path} is not answered within {seconds} s: {last}")

    async def try_once(self, method: str, path: str, body: object = None) -> int | None:
        """Ask one worker once; return the status, None when it does not answer."""
        async with httpx.AsyncClient(timeout=DRAIN_SECONDS) as http:
            try:
                return (await http.request(method, self.pick.choice(self.alive()) + path, json=body)).status_code
            except httpx.TransportError:
                return None

    async def digests(self) -> dict[str, str]:
        """Drain, and return the digests over everything."""
        await self.ask("POST", "/v1/admin/drain", {"timeout": DRAIN_SECONDS / 2})
        return dict(await self.ask("GET", "/v1/admin/digest"))


async def _awaited(fault: Awaitable[None]) -> None:
    await fault
