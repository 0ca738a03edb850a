"""Remembering and inferring, compared with mem0 and PowerMem: one embedder and one model behind HTTP for all.

    make bench-peers

Each round measures our worker and the peers in turns. Ours is called over HTTP, and an answer means that the memory is
durable and can be found; a peer is called in its own process. The noise is the least and the greatest ratio of the
rounds. After it comes the ratio to the peer of the floor (`bench/latency.py`), the least that could remember in our
stack.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.latency import CALLERS, TURNS, Measured, floor, free_port, process, worker  # noqa: E402 - after the path is set

ROUNDS = int(os.environ.get("ROUNDS", "3"))
COUNT, SLOW_COUNT = 300, 48
SLOW_MODEL_SECONDS = 0.5


@dataclass(frozen=True)
class Row:
    """One comparison: the work, the number of callers and of memories, and the wanted ratio to each peer."""

    name: str
    how: Literal["verbatim", "inferred"]
    callers: int
    count: int
    wanted: dict[str, float]


AT_ONCE = (
    Row("remembering, one caller", "verbatim", 1, COUNT, {"mem0": 2.0, "powermem": 1.0}),
    Row("remembering, eight callers", "verbatim", CALLERS, COUNT, {"mem0": 4.0, "powermem": 2.5}),
    Row("inferred turns, eight users", "inferred", CALLERS, TURNS, {"mem0": 4.0}),
)
SLOW = (Row("the same, a model that takes 500 ms", "inferred", CALLERS, SLOW_COUNT, {"mem0": 1.25}),)


def peer_rate(peer: str, endpoint: str, row: Row) -> tuple[float, int]:
    """Return how many memories per second a peer adds, and how many were lost."""
    python = ROOT / "build" / "peers" / peer / "bin" / "python"
    if not python.exists():
        sys.exit(f"the environment of {peer} is missing: run `make bench-peers`")
    with tempfile.TemporaryDirectory() as folder:
        script = ROOT / "bench" / "peers" / "peer_adds.py"
        command = [str(python), str(script), peer, endpoint, folder, str(row.callers), str(row.count), row.how]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own command
    if done.returncode:
        sys.exit(f"{peer} has failed:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    return float(found["per_second"]), int(found["lost"])


async def our_rates(ours: Measured, row: Row) -> tuple[float, float | None]:
    """Return how many memories per second our worker adds, and the same of the floor; None for inferring."""
    if row.how == "verbatim":
        return await ours.remember(row.callers)
    return (await ours.inferred(row.count))[0], None


async def measure(rows: tuple[Row, ...], model_seconds: float) -> None:
    """Measure rows that share one endpoint, and print them."""
    command = [sys.executable, "-m", "bench.embedding_stub", str(free_port())]
    with (
        process(command, ROOT, "/bare", MODEL_SECONDS=str(model_seconds)) as endpoint,
        worker(ROOT, endpoint) as url,
        floor(endpoint) as least,
    ):
        ours = Measured(url, endpoint, least, "user")
        await ours.remember(1)
        for row in rows:
            rates: list[tuple[float, float | None]] = []
            peers: dict[str, list[tuple[float, int]]] = {peer: [] for peer in row.wanted}
            for _ in range(ROUNDS):
                rates.append(await our_rates(ours, row))
                for peer, each in peers.items():
                    each.append(await asyncio.to_thread(peer_rate, peer, endpoint, row))
            for peer, each in peers.items():
                show(row, peer, rates, each)


def show(row: Row, peer: str, ours: list[tuple[float, float | None]], peers: list[tuple[float, int]]) -> None:
    """Print one row, with the ratio that the floor would reach, the least that could do the same in our stack."""
    ratios = sorted(left / right for (left, _), (right, _) in zip(ours, peers, strict=True))
    right = statistics.median(rate for rate, _ in peers)
    least = sorted(one / right for (_, one), (right, _) in zip(ours, peers, strict=True) if one is not None)
    reached = f"; the floor {statistics.median(least):.2f} ({least[0]:.2f} to {least[-1]:.2f})" if least else ""
    print(
        f"  {row.name}: {statistics.median(rate for rate, _ in ours):,.1f} against {right:,.1f} a second of {peer} "
        f"({sum(lost for _, lost in peers)} lost): ratio {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}, target {row.wanted[peer]:g}){reached}",
        flush=True,
    )


async def main() -> None:
    """Measure all rows."""
    await measure(AT_ONCE, 0)
    await measure(SLOW, SLOW_MODEL_SECONDS)


if __name__ == "__main__":
    asyncio.run(main())
