"""mem0's client on mnemolog, compared with mnemolog's own client, on one `mnemolog up`, in turns.

    python bench/mem0_protocol.py

Each round adds verbatim texts and searches, first with one client, then with the other. Both wait for each answer, so
that the ratio shows what the translation of mem0's protocol costs; it includes the clients' own work.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from contract.integrations.mem0_clients import memory_client
from support.free_ports import free_ports
from support.mnemolog_up import Up

from bench.rounds import Rounds
from mnemolog import Client

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS: Final = 7
TEXTS: Final = 100
SEARCHES: Final = 100
TARGET: Final = 1 / 1.15
"""mem0's client may take at most 1.15 times as long."""


def rate(times: int, work: Callable[[int], Any]) -> float:
    """Return how many times per second `work` was done."""
    began = time.perf_counter()
    for number in range(times):
        work(number)
    return times / (time.perf_counter() - began)


def main() -> dict[str, object]:
    """Measure both, and return the ratios."""
    adding, searching = Rounds("add(infer=False)", TARGET), Rounds("search", TARGET)
    up = Up(Path(tempfile.mkdtemp()), free_ports(1)[0])
    up.wait_until_ready()
    theirs = memory_client(up.url)
    try:
        with Client(up.url) as ours:
            for number in range(ROUNDS):
                user = f"user-{number}"
                sides: dict[str, tuple[float, float]] = {}
                for name in ("mem0", "own") if number % 2 else ("own", "mem0"):
                    add, search = _works(name, theirs, ours, user)
                    sides[name] = rate(TEXTS, add), rate(SEARCHES, search)
                adding.add(sides["mem0"][0], sides["own"][0])
                searching.add(sides["mem0"][1], sides["own"][1])
    finally:
        theirs.client.close()
        up.end(signal.SIGTERM)
    return {"add": adding.result(), "search": searching.result()}


def _works(name: str, theirs: Any, ours: Client, user: str) -> tuple[Callable[[int], Any], Callable[[int], Any]]:  # noqa: ANN401
    """Return the functions by which one client adds a text and searches, for a user of its own with TEXTS memories."""
    whose = f"{user}-{name}"
    if name == "mem0":
        return (
            lambda n: theirs.add(f"Number {n} of {whose} is kept.", user_id=whose, infer=False),
            lambda n: theirs.search(f"number {n} of {whose}", filters={"user_id": whose}, top_k=5),
        )
    return (
        lambda n: ours.remember(f"Number {n} of {whose} is kept.", whose),
        lambda n: ours.search(whose, query=f"number {n} of {whose}", limit=5, include_global=False),
    )


if __name__ == "__main__":
    os.environ["MEM0_TELEMETRY"] = "False"
    main()
