"""Which seeds the tests play: 500, or as many as SEEDS says; in CI never fewer than 500."""

from __future__ import annotations

import os
from typing import Final

IN_CI: Final = 500
CHUNK: Final = 10
"""Seeds of one test: few enough that a failure is near, many enough that the report stays short."""


def chunks() -> list[range]:
    """Return the seeds in chunks."""
    asked = int(os.environ.get("SEEDS", IN_CI))
    seeds = max(asked, IN_CI) if os.environ.get("CI") == "true" else asked
    return [range(first, min(first + CHUNK, seeds)) for first in range(0, seeds, CHUNK)]


def name(chunk: range) -> str:
    """Return how a chunk is called in the report."""
    return f"{chunk.start}-{chunk.stop - 1}"
