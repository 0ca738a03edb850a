"""Which seeds the tests play: 500, or as many as SEEDS says; in CI never fewer than 500."""

from __future__ import annotations

import os
from typing import Final

IN_CI: Final = 500
CHUNK: Final = 10
"""Seeds of one test: few enough that a failure is near, many enough that the report stays short."""


def chunks(half: int) -> list[range]:
    """Return every other chunk of the seeds: two files share them, because files are what is run side by side."""
    asked = int(os.environ.get("SEEDS", IN_CI))
    seeds = max(asked, IN_CI) if os.environ.get("CI") == "true" else asked
    return [range(first, min(first + CHUNK, seeds)) for first in range(0, seeds, CHUNK)][half::2]


def name(chunk: range) -> str:
    """Return how a chunk is called in the report."""
    return f"{chunk.start}-{chunk.stop - 1}"
