"""Remembering and waiting, by one caller and by eight, beside mem0: one embedder behind HTTP for both.

    make bench-peers

Each round measures ours and mem0's in turns. Ours goes through HTTP, and an answer means that the memory is durable and
found; mem0 is called within its own process. The noise is the least and the greatest ratio of the rounds.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.latency import Measured, free_port, process, worker  # noqa: E402 - after the path is set

PEER = ROOT / "build" / "peers" / "mem0" / "bin" / "python"
ROUNDS = int(os.environ.get("ROUNDS", "3"))
COUNT = 300
TARGETS = {1: 2.0, 8: 4.0}
"""Ours against mem0's, by the number of callers."""


def mem0(endpoint: str, callers: int) -> tuple[float, int]:
    """Return how many memories a second mem0 adds, and how many were lost."""
    with tempfile.TemporaryDirectory() as folder:
        script = ROOT / "bench" / "peers" / "mem0_adds.py"
        command = [str(PEER), str(script), endpoint, folder, str(callers), str(COUNT)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
    found = json.loads(done.stdout.splitlines()[-1])
    return float(found["per_second"]), int(found["lost"])


async def main() -> None:
    """Measure both in turns."""
    if not PEER.exists():
        sys.exit("mem0's environment is missing: run `make bench-peers`")
    command = [sys.executable, "-m", "bench.embedding_stub", str(free_port())]
    with process(command, ROOT, "/bare") as endpoint, worker(ROOT, endpoint) as url:
        ours = Measured(url, endpoint, "user")
        await ours.remember(1)
        rounds: dict[int, list[tuple[float, float, int]]] = {callers: [] for callers in TARGETS}
        for _ in range(ROUNDS):
            for callers, each in rounds.items():
                added, _ = await ours.remember(callers)
                each.append((added, *await asyncio.to_thread(mem0, endpoint, callers)))
    for callers, each in rounds.items():
        ratios = sorted(left / right for left, right, _ in each)
        left, right = (statistics.median(one[n] for one in each) for n in (0, 1))
        lost = sum(one[2] for one in each)
        print(
            f"  remembering, {callers} at a time: {left:,.0f} against {right:,.0f} a second of mem0 ({lost} lost): "
            f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, target {TARGETS[callers]:g})"
        )


if __name__ == "__main__":
    asyncio.run(main())
