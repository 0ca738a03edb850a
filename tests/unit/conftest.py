"""What many unit tests begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    """Return a worker that is given one delivery at a time, over a log of its own."""
    bench = Workbench(tmp_path / "one")
    yield bench
    bench.close()
