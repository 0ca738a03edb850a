"""Which seeds the tests play: 30, or as many as SEEDS says, from FIRST_SEED on; in CI never fewer than 150."""

from __future__ import annotations

import os
from typing import Final

USUALLY: Final = 30
IN_CI: Final = 150
CHUNK: Final = 10
"""Seeds of one test: few enough that a failure is near, many enough that the report stays short."""


def chunks() -> list[range]:
    """Return the seeds in chunks."""
    asked = int(os.environ.get("SEEDS", USUALLY))
    begin = int(os.environ.get("FIRST_SEED", "0"))
    end = begin + (max(asked, IN_CI) if os.environ.get("CI") == "true" else asked)
    return [range(first, min(first + CHUNK, end)) for first in range(begin, end, CHUNK)]


def name(chunk: range) -> str:
    """Return how a chunk is called in the report."""
    return f"{chunk.start}-{chunk.stop - 1}"
