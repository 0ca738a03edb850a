"""What is drawn on a terminal: tables, and bars that show how far something is."""

from __future__ import annotations

import shutil
import sys
import time
import unicodedata
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BAR: Final = 40
_REDRAW_SECONDS: Final = 0.1


def width() -> int:
    """Return how many columns the terminal has."""
    return shutil.get_terminal_size().columns


def columns(text: str) -> int:
    """Return how many columns of a terminal a text without line breaks takes: Chinese characters take two each."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> str:
    """Return rows below their headings, framed and at most so many columns wide; long cells are wrapped."""
    widths = [
        max(columns(line) for cell in cells for line in cell.split("\n")) for cells in zip(headings, *rows, strict=True)
    ]
    limit, room = max(widths), max(most - 3 * len(widths) - 1, len(widths))
    while limit > 1 and sum(min(limit, one) for one in widths) > room:
        limit -= 1
    widths = [min(limit, one) for one in widths]
    frame = [[mark * (one + 2) for one in widths] for mark in "━━─"]
    return "\n".join(
        [
            f"┏{'┳'.join(frame[0])}┓",
            *_lines(headings, widths, "┃"),
            f"┡{'╇'.join(frame[1])}┩",
            *(line for row in rows for line in _lines(row, widths, "│")),
            f"└{'┴'.join(frame[2])}┘",
        ]
    )


def _lines(cells: Sequence[str], widths: Sequence[int], border: str) -> Iterator[str]:
    wrapped = [list(_wrapped(cell, one)) for cell, one in zip(cells, widths, strict=True)]
    for parts in zip_longest(*wrapped, fillvalue=""):
        filled = (part + " " * (one - columns(part)) for part, one in zip(parts, widths, strict=True))
        yield f"{border} {f' {border} '.join(filled)} {border}"


def _wrapped(text: str, most: int) -> Iterator[str]:
    """Yield the lines of a text, broken between words, and within words that are too long for a line."""
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if columns(longer) <= most:
                line = longer
                continue
            if line:
                yield line
            line = ""
            for character in word:
                if line and columns(line + character) > most:
                    yield line
                    line = ""
                line += character
        yield line


@dataclass(slots=True)
class _Task:
    description: str
    total: float | None
    completed: float = 0
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0
    """How long it took to come so far."""


class Progress:
    """A bar for each task, drawn anew as the tasks go on.

    Nothing is written unless the stream is a terminal, where the bars are taken away at the end. If they stay, they are
    written once at the end, on any stream.
    """

    def __init__(self, unit: str = "", *, stream: TextIO | None = None, stays: bool = False) -> None:
        """Take what is counted and the stream, by default stderr."""
        self._unit = unit
        self._stream = sys.stderr if stream is None else stream
        self._stays = stays
        self._tasks: list[_Task] = []
        self._is_shown = self._stream.isatty()
        self._drawn = 0
        """How many lines stand on the terminal."""
        self._redraw_at = 0.0

    def __enter__(self) -> Self:
        """Show the bars within the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def add_task(self, description: str, total: float | None = None) -> int:
        """Add a task, and return its number. Without a total, only what is completed is shown."""
        self._tasks.append(_Task(description, total))
        self._draw()
        return len(self._tasks) - 1

    def update(
        self, task: int, *, completed: float | None = None, total: float | None = None, advance: float = 0
    ) -> None:
        """Say how much of a task is completed, or how much more than before, and of how much if that has changed."""
        one = self._tasks[task]
        one.completed = (one.completed if completed is None else completed) + advance
        one.total = one.total if total is None else total
        now = time.monotonic()
        one.seconds = now - one.began
        if now >= self._redraw_at:
            self._draw()

    def advance(self, task: int, more: float = 1) -> None:
        """Say how much more of a task is completed."""
        self.update(task, advance=more)

    def stop(self) -> None:
        """Take the bars from the terminal, or leave them there as they are now, and draw them no more."""
        if self._is_shown:
            self._erase()
        if self._stays:
            self._write()
        self._is_shown = self._stays = False

    def _draw(self) -> None:
        if self._is_shown:
            self._erase()
            self._write()
            self._drawn = len(self._tasks)
            self._redraw_at = time.monotonic() + _REDRAW_SECONDS

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0

    def _write(self) -> None:
        wide = max(len(one.description) for one in self._tasks) if self._tasks else 0
        for one in self._tasks:
            self._stream.write(f"{one.description.ljust(wide)} {self._bar(one)}\n")
        self._stream.flush()

    def _bar(self, task: _Task) -> str:
        seconds = int(task.seconds)
        facts = f"{task.completed:.0f} {self._unit}".rstrip()
        if task.total:
            full = min(round(_BAR * task.completed / task.total), _BAR)
            facts = f"{'━' * full}{'╌' * (_BAR - full)} {task.completed:.0f}/{task.total:.0f} {self._unit}".rstrip()
        return f"{facts} {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
