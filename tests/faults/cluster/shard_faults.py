"""What happens to a worker's own files: the disk full, a shard damaged or gone."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from faults.cluster.cluster import RECOVERY_SECONDS, SESSION_SECONDS
from support.preloaded import compiled

from projections.encrypted_files import PAGE_BYTES, is_clear

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from faults.cluster.cluster import Cluster
    from faults.cluster.worker_process import WorkerProcess

FULL_SECONDS = 10.0
OTHERS_SECONDS = 15.0
"""After which a worker that has not come upon its harmed shards was given other partitions."""
HEADER_BYTES = 100
MEMORY = b'{"memory_id"'
"""How a memory's row begins."""
SET_ASIDE = "shard {} is damaged: it is kept as"


def shards_of(worker: WorkerProcess) -> list[Path]:
    """Return the shard files of users in a worker's active generation, the largest first."""
    found = (worker.folder / "data" / "shards").glob("*/[0-9]*.sqlite")
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


async def fill_the_disk(cluster: Cluster) -> None:
    """Let a worker have a full disk for its shards for a while."""
    flag = cluster.folder / "full"
    library = compiled(Path(__file__).with_name("disk_full.c"), cluster.folder)
    worker = cluster.add_worker(environment={"LD_PRELOAD": str(library), "DISK_FULL": str(flag)})
    cluster.publisher.share = 0.4
    await worker.ready()
    await asyncio.sleep(SESSION_SECONDS)
    flag.touch()
    cluster.publisher.share = 1.0
    await asyncio.sleep(FULL_SECONDS)
    assert flag.with_name(f"{flag.name}.refused").exists(), "nothing was written while the disk was full"
    flag.unlink()
    began = time.monotonic()
    if worker.exit_code is not None:
        worker.start()
    await cluster.recovered(began)


def lose_shards(harm: Callable[[Path], bool], *, is_damage: bool) -> Callable[[Cluster], Awaitable[None]]:
    """Return the fault of shards that are harmed while their worker is dead; it mends itself when it starts.

    `harm` returns whether it changed anything. Of damage the worker says that it has set a shard aside.
    """

    async def fault(cluster: Cluster) -> None:
        for worker in cluster.workers[: 1 if cluster.workload.is_short else 2]:
            await asyncio.sleep(4)
            await _filled(worker)
            began = time.monotonic()
            worker.kill()
            harmed = [path for path in shards_of(worker) if harm(path)]
            assert harmed, f"{worker.folder} has no shard to harm"
            worker.start()
            await worker.ready()
            await cluster.recovered(began)
            if is_damage:
                await _set_aside(cluster, worker, harmed)

    return fault


async def _filled(worker: WorkerProcess) -> None:
    """Wait until a worker's shards hold memories."""
    async with asyncio.timeout(RECOVERY_SECONDS):
        while not any(MEMORY in file.read_bytes() for path in shards_of(worker) for file in files_of(path)):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.2)


async def _set_aside(cluster: Cluster, worker: WorkerProcess, harmed: Sequence[Path]) -> None:
    """Ask about every user until the worker has said of one of these shards that it is damaged, and has kept it.

    Where it was given other partitions than before, the others are killed in turn, until it is given one of those.
    """
    deadline, again = time.monotonic() + RECOVERY_SECONDS, time.monotonic() + OTHERS_SECONDS
    others = cycle(each for each in cluster.workers if each is not worker)
    while not any(SET_ASIDE.format(path) in worker.said_in_this_life() for path in harmed):
        assert time.monotonic() < deadline, f"no damaged shard was found: {worker.said()}"
        if time.monotonic() > again:
            other = next(others)
            other.kill()
            await asyncio.sleep(2 * SESSION_SECONDS)  # now its partitions are shared out
            await _ask_about_everybody(cluster)
            other.start()
            await other.ready()
            again = time.monotonic() + OTHERS_SECONDS
        await _ask_about_everybody(cluster)
    assert any(path.with_name(f"{path.name}.damaged").exists() for path in harmed), harmed


async def _ask_about_everybody(cluster: Cluster) -> None:
    for number in range(cluster.workload.users):
        await cluster.ask("GET", f"/v1/memories?user_id={cluster.workload.user(number)}&page_size=1")


def files_of(path: Path) -> list[Path]:
    """Return the files of a shard that hold what it knows."""
    return [file for file in (path, path.with_name(f"{path.name}-wal")) if file.exists()]


def delete(path: Path) -> bool:
    """Delete a shard with what belongs to it."""
    assert path.exists()
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    return True


def damage(path: Path) -> bool:
    """Overwrite a shard and its write-ahead log but for their headers, so that the file opens and cannot be read."""
    return _change(path, lambda b: b[:HEADER_BYTES] + b"\xde\xad\xbe\xef" * ((len(b) - HEADER_BYTES) // 4))


def damage_contents(path: Path) -> bool:
    """Damage what the rows of a shard say, so that it opens, and whoever reads them later finds it.

    In the file itself: of a write-ahead log SQLite would pass what does not have its checksum.
    """
    if not is_clear(path):  # encrypted: each page has a checksum of its own
        return _change(
            path, lambda b: b[:PAGE_BYTES] + b"".join(_flipped(b, n) for n in range(PAGE_BYTES, len(b), PAGE_BYTES))
        )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    return _change(path, lambda b: b.replace(MEMORY, b'{"damaged_id'))


def _flipped(content: bytes, begin: int) -> bytes:
    """Return the page that begins there, with one bit that is another."""
    return bytes((content[begin] ^ 1,)) + content[begin + 1 : begin + PAGE_BYTES]


def _change(path: Path, harm: Callable[[bytes], bytes]) -> bool:
    """Change what a shard and its write-ahead log hold, in place; return whether anything did change."""
    has_changed = False
    for file in files_of(path):
        before = file.read_bytes()
        after = harm(before)
        file.write_bytes(after)
        has_changed |= after != before
    return has_changed
