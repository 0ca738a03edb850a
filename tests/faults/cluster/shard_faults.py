"""What happens to a worker's own files: the disk full, a shard damaged or gone."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

from faults.cluster.cluster import SESSION_SECONDS
from preloaded import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from faults.cluster.cluster import Cluster
    from faults.cluster.worker_process import WorkerProcess

FULL_SECONDS = 10.0
HEADER_BYTES = 100


def shards_of(worker: WorkerProcess) -> list[Path]:
    """Return the shard files of users in a worker's active generation, the largest first."""
    found = (worker.folder / "data" / "shards").glob("*/[0-9]*.sqlite")
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


async def fill_the_disk(cluster: Cluster) -> None:
    """Let a worker have a full disk for its shards for a while."""
    flag = cluster.folder / "full"
    library = compiled(Path(__file__).with_name("disk_full.c"), cluster.folder)
    worker = cluster.add_worker(environment={"LD_PRELOAD": str(library), "DISK_FULL": str(flag)})
    await worker.ready()
    await asyncio.sleep(SESSION_SECONDS)
    began = time.monotonic()
    flag.touch()
    await asyncio.sleep(FULL_SECONDS)
    flag.unlink()
    if worker.exit_code is not None:
        worker.start()
    await cluster.recovered(began)


def lose_shards(harm: Callable[[Path], None]) -> Callable[[Cluster], asyncio.Future[None]]:
    """Return the fault of shards that are harmed while their worker is dead; it mends itself when it starts."""

    async def fault(cluster: Cluster) -> None:
        for worker in cluster.workers[: 1 if cluster.workload.is_short else 2]:
            await asyncio.sleep(4)
            began = time.monotonic()
            worker.kill()
            for path in shards_of(worker):
                harm(path)
            worker.start()
            await worker.ready()
            await cluster.recovered(began)

    return fault  # type: ignore[return-value]


def delete(path: Path) -> None:
    """Delete a shard with what belongs to it."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def damage(path: Path) -> None:
    """Overwrite a shard and its write-ahead log but for their headers, so that the file opens and cannot be read."""
    for file in path, path.with_name(f"{path.name}-wal"):
        if file.exists():
            with file.open("r+b") as overwritten:
                overwritten.seek(HEADER_BYTES)
                overwritten.write(b"\xde\xad\xbe\xef" * ((file.stat().st_size - HEADER_BYTES) // 4))


def damage_contents(path: Path) -> None:
    """Damage what the rows of a shard say, so that it opens, and whoever reads them later finds it."""
    for file in path, path.with_name(f"{path.name}-wal"):
        if file.exists():
            file.write_bytes(file.read_bytes().replace(b'{"memory_id"', b'{"damaged_id'))
