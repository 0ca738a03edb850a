"""A worker whose clock says what stands in a file: `python worker_at.py FILE`; the settings are in the environment.

Commands are true when they are given. Two runs agree only when these instants do.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime
from pathlib import Path

from mnemolog.server import serve, tune_process
from mnemolog.settings import from_environment


class WrittenClock:
    """Says what was written last."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def now(self) -> datetime:
        """Return the written instant."""
        return datetime.fromisoformat(self._file.read_text())


if __name__ == "__main__":
    tune_process()
    asyncio.run(serve(from_environment(), clock=WrittenClock(Path(sys.argv[1]))))
