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

_OBEYED: Final = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - as Python writes them
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}
"""What a terminal obeys and does not show, and how it is shown: whoever's words they are, they are only words."""
BY_WORDS: Final = "the embedder cannot be reached: this was found by words alone"
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
        self._out.print(harmless(text), markup=False, soft_wrap=True)

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
            table.add_row(*(Text(harmless(shown(value))) for value in row))
        if table.row_count:
            self._out.print(table)
        else:
            self.say(nothing)

    def say(self, message: str) -> None:
        """Write a message for a person to stderr."""
        self._err.print(harmless(message), markup=False, soft_wrap=True)

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


def harmless(text: str) -> str:
    """Return a text with what a terminal would obey written out."""
    return text.translate(_OBEYED)


def shown(value: object) -> str:
    """Return a value as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else orjson.dumps(value).decode()
