"""The fault matrix: each row is what goes wrong while the workload is published."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faults.cluster import worker_faults as of_workers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import date

    from faults.cluster.cluster import Cluster


@dataclass(frozen=True)
class Row:
    """A fault, and how long publishing is to go on around it: seconds in the short form and in full."""

    name: str
    what: str
    fault: Callable[[Cluster], Awaitable[None]]
    short_seconds: float = 15.0
    full_seconds: float = 60.0
    brokers: int = 1
    twice: bool = False


async def _nothing(_cluster: Cluster) -> None:
    await asyncio.sleep(0)


ROWS = (
    Row("calm", "nothing", _nothing, short_seconds=0, full_seconds=0),
    Row("kills", "workers killed at random and started again", of_workers.kills, 25, 240),
    Row("freeze", "a worker frozen for longer than the session", of_workers.freeze, 15, 60),
    Row("rolling-restart", "every worker stopped and started, one after the other", of_workers.rolling_restart, 20, 60),
)
BY_NAME = {row.name: row for row in ROWS}
EVERY_DAY = ("kills", "freeze")
"""Rows of CI; of the others it runs one a day."""


def rows_of(day: date) -> list[Row]:
    """Return the rows that CI runs on a day."""
    others = [row for row in ROWS if row.name not in EVERY_DAY]
    return [*(BY_NAME[name] for name in EVERY_DAY), others[day.toordinal() % len(others)]]
