"""The output of a command: its answer to stdout, as JSON or as a table; everything else to stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PIPED_COLUMNS: Final = 200
"""The width of a table that is not shown on a terminal."""


class Output:
    """Writes a command's answer and its messages."""

    def __init__(self, *, as_json: bool) -> None:
        """Take whether the answer is wanted as JSON."""
        self.as_json = as_json
        self._out = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS, highlight=False, soft_wrap=False)
        self._err = Console(stderr=True, highlight=False)

    def json(self, answer: Any) -> None:  # noqa: ANN401 - any JSON
        """Write one JSON object as a line."""
        sys.stdout.write(orjson.dumps(answer).decode() + "\n")
        sys.stdout.flush()

    def text(self, text: str) -> None:
        """Write text of the answer as it is."""
        self._out.print(text, markup=False, soft_wrap=True)

    def fields(self, answer: dict[str, Any]) -> None:
        """Write an answer of a few values: as JSON, or one a line."""
        if self.as_json:
            self.json(answer)
            return
        width = max(map(len, answer), default=0)
        for name, value in answer.items():
            self.text(f"{name.ljust(width)}  {shown(value)}")

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> None:
        """Write rows as a table; without any, say so on stderr."""
        table = Table(*headings)
        for row in rows:
            table.add_row(*(Text(shown(value)) for value in row))
        if table.row_count:
            self._out.print(table)
        else:
            self.say(nothing)

    def say(self, message: str) -> None:
        """Write a message for a person to stderr."""
        self._err.print(message, markup=False, soft_wrap=True)

    def progress(self, unit: str = "") -> Progress:
        """Return a progress bar on stderr, silent where no terminal is."""
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeElapsedColumn(),
            console=self._err,
            transient=True,
            disable=not sys.stderr.isatty(),
        )


def shown(value: object) -> str:
    """Return a value as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else orjson.dumps(value).decode()
