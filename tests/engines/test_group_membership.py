"""A worker's place in the group on a real Kafka: taken again at once after a kill, and refused to a second one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import httpx
from faults.cluster.worker_process import WorkerProcess
from weaviate_server import free_ports

if TYPE_CHECKING:
    from pathlib import Path

SESSION_SECONDS = 45.0
SHORT_SECONDS = 6.0
"""The shortest session that a broker allows."""


async def test_a_killed_worker_comes_back_before_its_session_ends_and_a_second_one_at_its_url_is_refused(
    own_kafka: str, tmp_path: Path
):
    settings = {"BROKER": f"kafka://{own_kafka}", "EXTRACTOR": "verbatim", "SESSION_SECONDS": str(SESSION_SECONDS)}
    first, second, third = free_ports(3)
    workers = [
        WorkerProcess(tmp_path / str(port), port, settings | {"ADVERTISED_URL": f"http://127.0.0.1:{port}"})
        for port in (first, second)
    ]
    impostor = {"ADVERTISED_URL": f"http://127.0.0.1:{first}/", "SESSION_SECONDS": str(SHORT_SECONDS)}
    same = WorkerProcess(tmp_path / "same", third, settings | impostor)
    try:
        for worker in workers:
            worker.start()
            await worker.ready()
        workers[1].kill()
        began = time.monotonic()
        workers[1].start()
        await workers[1].ready()
        assert time.monotonic() - began < SESSION_SECONDS * 0.7
        assert "it is forgotten" in workers[1].said()

        same.start()
        async with asyncio.timeout(60):
            while same.exit_code is None:  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.2)
        assert same.exit_code == 1
        assert f"{impostor['ADVERTISED_URL']} is also that of another worker of the group, at 127.0.0.1" in same.said()
        async with httpx.AsyncClient() as http:
            for worker in workers:
                assert (await http.get(f"{worker.url}/v1/admin/digest")).is_success
    finally:
        for worker in (*workers, same):
            worker.kill()
