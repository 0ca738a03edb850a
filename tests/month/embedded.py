"""The month on the embedded engine: one worker, nothing beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faults.cluster.worker_process import WorkerProcess
from month.month_client import WORKER, Present
from month.play import SETTINGS, play
from support.free_ports import free_ports

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


async def embedded_month(folder: Path, begin: datetime) -> dict[str, str]:
    """Play the month in a folder of its own, looked back on from an instant; return its digest."""
    file = folder / "now"
    present = Present(file, begin)
    [port] = free_ports(1)
    worker = WorkerProcess(folder / "worker", port, SETTINGS, (WORKER, str(file)))
    try:
        worker.start()
        await worker.ready()
        return await play([worker.url], present)
    finally:
        worker.kill()
