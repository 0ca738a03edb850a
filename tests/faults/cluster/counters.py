"""Counters of workers that die: looked at often, and added up over all their lives."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from faults.cluster.worker_process import WorkerProcess

LOOK_SECONDS = 1.0
COUNTED = ("mnemolog_redeliveries_total", "mnemolog_void_decisions_total")
OUTAGES = "mnemolog_model_requests_total outage"
"""Requests that the model did not take, or answered with an error that passes."""


class Counters:
    """Looks at the metrics of all workers while entered. What a worker counted in its last second is not seen."""

    def __init__(self, workers: Sequence[WorkerProcess]) -> None:
        """Look at nothing yet; `workers` may grow."""
        self._workers = workers
        self._seen: dict[tuple[str, int, str], float] = {}
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Look from now on."""
        self._looking = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def total(self, name: str) -> int:
        """Return a counter's sum over all workers and their lives."""
        return int(sum(value for (_, _, counter), value in self._seen.items() if counter == name))

    async def look(self) -> None:
        """Look once at each worker that answers."""
        async with httpx.AsyncClient(timeout=2) as http:
            for worker in self._workers:
                if worker.is_alive:
                    life = worker.lives
                    with suppress(httpx.TransportError):
                        self._read(worker.url, life, (await http.get(f"{worker.url}/metrics")).text)

    def _read(self, url: str, life: int, text: str) -> None:
        found = dict.fromkeys((*COUNTED, OUTAGES), 0.0)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                for name in (sample.name, f"{sample.name} {sample.labels.get('outcome')}"):
                    if name in found:
                        found[name] += sample.value
        for name, value in found.items():
            self._seen[url, life, name] = max(value, self._seen.get((url, life, name), 0.0))

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)
