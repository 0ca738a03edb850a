"""The processor time of a remembered fact, a search and a turn, of this checkout and others, in alternating rounds.

    python bench/processor_time.py OTHER_CHECKOUT ...

In each round, a new worker of each checkout serves the same requests in a process of its own: facts to remember,
searches in them, and turns from which the rules extract; each request is waited for. It then reads the user's memories
again from their rows. Only the time of that process counts, without the processes that embed and extract. The machine
may have other work too. The program prints medians in milliseconds, and the ratios to the last checkout.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import orjson

HERE = Path(__file__).resolve().parents[1]
REQUESTS, ROUNDS = 150, 7
KINDS = ("remember", "search", "turn", "rows")


async def serve(folder: Path) -> dict[str, float]:
    """Return the milliseconds of one request of each kind, the first third of which warms up."""
    from mnemolog.http.app import make_http  # noqa: PLC0415 - of the checkout that PYTHONPATH names
    from mnemolog.server import tune_process  # noqa: PLC0415
    from mnemolog.settings import from_environment  # noqa: PLC0415
    from mnemolog.worker.worker import Worker  # noqa: PLC0415
    from projections.shard.rows.memories import memory_of_row, row_of_memory  # noqa: PLC0415
    from schemas.identity import Owner  # noqa: PLC0415

    tune_process()
    worker = Worker(from_environment({}, data_dir=folder, extractor="rules", partitions=2))
    await worker.start()
    spent = dict.fromkeys(KINDS, 0.0)
    try:
        transport = httpx.ASGITransport(make_http(worker))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as http:
            for number in range(REQUESTS):
                fact = {"user_id": "u1", "content": f"owns book number {number} of a long row"}
                question = {"user_id": "u1", "query": f"book number {number}", "recall": False}
                talk = {
                    "user_id": "u2",
                    "agent_id": "luna",
                    "session_id": f"s{number}",
                    "messages": [{"role": "user", "content": f"My friend number {number} is called Ann{number}."}],
                    "end_session": True,
                }
                for kind, path, body in (
                    ("remember", "/v1/memories", fact),
                    ("search", "/v1/search", question),
                    ("turn", "/v1/conversations?wait=30", talk),
                ):
                    began = time.process_time()
                    answer = await http.post(path, json=body)
                    if number > REQUESTS // 3:
                        spent[kind] += time.process_time() - began
                    assert answer.is_success, answer.text
        state = worker.shards.state(Owner("default", "u1"))
        rows = [row_of_memory(memory) for memory in state.memories.values()]
        began = time.process_time()
        for _ in range(10):
            for row in rows:
                row_of_memory(memory_of_row(row))
        spent["rows"] = (time.process_time() - began) / 10 / len(rows) * (REQUESTS - REQUESTS // 3 - 1) * 100
    finally:
        await worker.stop()
    return {kind: 1000 * seconds / (REQUESTS - REQUESTS // 3 - 1) for kind, seconds in spent.items()}


def measured(checkout: Path) -> dict[str, float]:
    """Return the result of `serve` for a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder]
        environment = os.environ | {"PYTHONPATH": str(checkout), "MNEMOLOG_LOG_LEVEL": "warning"}
        ran = subprocess.run(command, env=environment, cwd=checkout, stdout=subprocess.PIPE, check=True)  # noqa: S603 - our own command
    found: dict[str, float] = orjson.loads(ran.stdout.splitlines()[-1])
    return found


def main(checkouts: list[Path]) -> None:
    """Measure the checkouts in turns, and print the results."""
    took: dict[Path, dict[str, list[float]]] = {each: {kind: [] for kind in KINDS} for each in checkouts}
    for number in range(ROUNDS):
        for each in checkouts if number % 2 else reversed(checkouts):
            for kind, ms in measured(each).items():
                took[each][kind].append(ms)
    for kind in KINDS:
        for each in checkouts:
            ratios = [a / b for a, b in zip(took[each][kind], took[checkouts[-1]][kind], strict=True)]
            middle, ratio = statistics.median(took[each][kind]), statistics.median(ratios)
            print(f"{kind}: {middle:.3f} ms, ratio {ratio:.3f} ({min(ratios):.2f} to {max(ratios):.2f}), {each.name}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        print(orjson.dumps(asyncio.run(serve(Path(sys.argv[2])))).decode())
    else:
        main([HERE, *map(Path, sys.argv[1:])])
