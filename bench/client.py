"""The async client against a bare aiohttp session that sends the same bodies, on one `mnemolog up`, in turns.

    python bench/client.py

Each round, eight callers remember facts, by one side and then by the other. The ratio of the rates says what the client
costs them where worker and callers share the machine; the processor time of a memory, which is that of this process
alone, says it on any machine.
"""

from __future__ import annotations

import asyncio
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from support.free_ports import free_ports
from support.mnemolog_up import Up

from bench.rounds import Rounds
from mnemolog import AsyncClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROUNDS: Final = 7
CALLERS: Final = 8
TEXTS: Final = 400
TARGET: Final = 1.0


async def measured(remember: Callable[[str], Awaitable[Any]], whose: str) -> tuple[float, float]:
    """Return how many memories a second eight callers have, and the processor time of one, in milliseconds."""
    texts = iter(f"Number {number} of {whose} is kept." for number in range(TEXTS))

    async def call() -> None:
        for text in texts:
            await remember(text)

    await remember(f"The first of {whose} opens a connection.")
    began, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(call() for _ in range(CALLERS)))
    return TEXTS / (time.perf_counter() - began), (time.process_time() - spent) / TEXTS * 1_000


async def by_client(url: str, user: str) -> tuple[float, float]:
    """Return what the callers have by the client."""
    async with AsyncClient(url) as client:
        return await measured(lambda text: client.remember(text, user), user)


async def by_session(url: str, user: str) -> tuple[float, float]:
    """Return what they have by a session, which sends and reads JSON and does nothing else."""
    async with aiohttp.ClientSession(url) as session:

        async def remember(text: str) -> Any:  # noqa: ANN401 - any JSON
            async with session.post("/v1/memories", json={"user_id": user, "content": text}) as answer:
                return await answer.json()

        return await measured(remember, user)


def main() -> dict[str, object]:
    """Measure both, and return the ratio and both processor times."""
    rates = Rounds("remember, eight callers", TARGET)
    milliseconds: dict[str, list[float]] = {"client": [], "session": []}
    up = Up(Path(tempfile.mkdtemp()), free_ports(1)[0])
    try:
        up.wait_until_ready()
        for number in range(ROUNDS):
            had: dict[str, float] = {}
            for name in ("client", "session") if number % 2 else ("session", "client"):
                side = by_client if name == "client" else by_session
                had[name], spent = asyncio.run(side(up.url, f"user-{number}-{name}"))
                milliseconds[name].append(spent)
            rates.add(had["client"], had["session"])
    finally:
        up.end(signal.SIGTERM)
    spent_by = {name: round(statistics.median(each), 3) for name, each in milliseconds.items()}
    print(f"processor time of a memory: {spent_by['client']} ms by the client, {spent_by['session']} by the session")
    return {**rates.result(), "processor_milliseconds": spent_by}


if __name__ == "__main__":
    main()
