"""A partition that moves: the log, the worker that had it, and the worker that has it now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.copied_shards import CountedLog
from support.workbench import Workbench

from projections.partitions.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def log() -> CountedLog:
    return CountedLog()


@pytest.fixture
def giver(log: CountedLog, tmp_path: Path) -> Iterator[Workbench]:
    """Make the worker that had the partition until it moved."""
    bench = Workbench(tmp_path / "giver", log)
    yield bench
    bench.close()


@pytest.fixture
def taker(log: CountedLog, tmp_path: Path) -> Iterator[Shards]:
    """Make the worker that has it now, and has folded nothing."""
    made = Shards(tmp_path / "taker", log, 1)
    yield made
    made.close()
