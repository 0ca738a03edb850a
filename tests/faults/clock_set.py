"""The clock of one process, which a test sets while it runs: every part of the process asks for it below libc."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from support.preloaded import compiled

if TYPE_CHECKING:
    from datetime import timedelta

SOURCE = Path(__file__).with_name("clock_ahead.c")


class ProcessClock:
    """How far ahead the wall clock of a process is."""

    def __init__(self, folder: Path) -> None:
        """Compile the library into a folder, and let the clock be right."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "ahead"
        self._library = compiled(SOURCE, folder)
        self.put_right()

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of the process."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_AHEAD_FILE": str(self._file)}

    def set(self, ahead: timedelta) -> None:
        """Set it ahead, or back, of the right time."""
        whole = self._file.with_name("next")
        whole.write_text(f"{ahead.total_seconds():.0f}")
        whole.replace(self._file)

    def put_right(self) -> None:
        """Set it to the right time."""
        whole = self._file.with_name("next")
        whole.write_text("0")
        whole.replace(self._file)
