"""Runs a row and judges it; and the undisturbed run on the embedded engine that it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
from faults.cluster.cluster import Cluster
from faults.cluster.counters import COUNTED
from faults.cluster.model import Model
from faults.cluster.numbered_facts import MODEL_SETTINGS
from faults.cluster.ports import Ports
from faults.cluster.publisher import OverHttp, Publisher
from faults.cluster.row_verdict import Verdict, digest_of_workload, verdict
from faults.cluster.worker_process import WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from faults.cluster.numbered_facts import Workload
    from faults.cluster.rows import Row

EMBEDDED_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Result:
    """What a row came to."""

    row: str
    acknowledged: int
    verdict: Verdict
    digest: str
    redeliveries: int
    void_seen: int
    """Void decisions that the metrics counted: in each worker that folded them."""
    retries: int
    """Requests that the publisher had to send again."""
    recoveries: tuple[float, ...]
    notes: tuple[str, ...]
    dead_letters_expected: int = 0
    """Dead letters that there must be."""

    def is_sound(self, expected_digest: str) -> bool:
        """Tell whether nothing was lost, doubled, out of order, put aside without reason or otherwise different."""
        told = self.verdict
        wrong = told.missing or told.twice or told.out_of_order
        return not wrong and told.dead_letters == self.dead_letters_expected and self.digest == expected_digest


async def run_row(row: Row, workload: Workload, folder: Path) -> Result:
    """Run a row to its end. Raises AssertionError when it does not come to one."""
    seconds = row.short_seconds if workload.is_short else row.full_seconds
    made = {
        "weaviate": row.weaviate,
        "registry": row.registry,
        "small_queues": row.small_queues,
        "encrypted": row.encrypted,
    }
    async with Cluster(folder, workload, brokers=row.brokers, twice=row.twice, **made) as cluster:
        await cluster.run(row.fault(cluster), seconds)
        found = await cluster.digests()
        await cluster.counters.look()
        await cluster.reading.look()
        redeliveries, void_seen = (cluster.counters.total(name) for name in COUNTED)
        return Result(
            row=row.name,
            acknowledged=len(set(cluster.turns_acknowledged())),
            verdict=verdict(cluster.reading.records, cluster.publisher.acknowledged),
            digest=digest_of_workload(found, cluster.reading.records),
            redeliveries=redeliveries,
            void_seen=void_seen,
            retries=cluster.publisher.retries,
            recoveries=tuple(cluster.recoveries),
            notes=tuple(cluster.notes),
            dead_letters_expected=cluster.dead_letters_expected,
        )


async def undisturbed_digest(workload: Workload, folder: Path) -> str:
    """Return the digest of the workload on the embedded engine, where nothing goes wrong."""
    ports = Ports()
    async with Model(ports.take()) as model:
        settings = {**MODEL_SETTINGS, "LLM_BASE_URL": model.base_url}
        worker = WorkerProcess(folder / "embedded", ports.take(), settings)
        worker.start()
        try:
            await worker.ready()
            await Publisher(workload, [OverHttp(lambda: [worker.url])], folder / "acknowledged", twice=False).run()
            async with httpx.AsyncClient(timeout=EMBEDDED_SECONDS, base_url=worker.url) as http:
                drained = await http.post("/v1/admin/drain", json={"timeout": EMBEDDED_SECONDS})
                assert drained.json()["memories"] == workload.observations, drained.text
                return str((await http.get("/v1/admin/digest")).json()["total"])
        finally:
            worker.kill()
