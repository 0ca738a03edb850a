"""The output of a command: its answer to stdout, as JSON or as a table; everything else to stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.terminal import Progress, table, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OBEYED: Final = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - as Python writes them
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}
"""The control characters that a terminal obeys instead of showing, and their escapes: untrusted words must only be
shown."""
DEGRADED: Final = {
    "semantic": "not all is found by its meaning here, but by its words: `mnemolog doctor` says why",
    "turns": "what some turns mean is not known yet: they were found by their words alone",
}
"""The parts that a search had to do without, and the message about each."""
PIPED_COLUMNS: Final = 200
"""The width of a table that is not shown on a terminal."""


class Output:
    """Writes a command's answer and its messages."""

    def __init__(self, *, as_json: bool) -> None:
        """Take whether the answer is to be JSON."""
        self.as_json = as_json

    def json(self, answer: Any) -> None:  # noqa: ANN401 - any JSON
        """Write one JSON object as a line."""
        sys.stdout.write(orjson.dumps(answer).decode() + "\n")
        sys.stdout.flush()

    def text(self, text: str, *, of: dict[str, Any] | None = None) -> None:
        """Write text of the answer; with JSON, write instead the answer that the text is `of`."""
        if of is not None and self.as_json:
            self.json(of)
            return
        sys.stdout.write(harmless(text) + "\n")
        sys.stdout.flush()

    def fields(self, answer: dict[str, Any]) -> None:
        """Write an answer of a few values: as JSON, or with one value a line."""
        if self.as_json:
            self.json(answer)
            return
        width = max(map(len, answer), default=0)
        for name, value in answer.items():
            self.text(f"{name.ljust(width)}  {shown(value)}")

    def table(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[object]],
        nothing: str,
        *,
        of: dict[str, Any] | None = None,
    ) -> None:
        """Write rows as a table, or a note on stderr if there are none; with JSON, write the answer like `text`."""
        if of is not None and self.as_json:
            self.json(of)
            return
        cells = [[harmless(shown(value)).expandtabs() for value in row] for row in rows]
        if cells:
            sys.stdout.write(table(headings, cells, width() if sys.stdout.isatty() else PIPED_COLUMNS) + "\n")
            sys.stdout.flush()
        else:
            self.say(nothing)

    def say(self, message: str) -> None:
        """Write a message for a person to stderr."""
        print(harmless(message), file=sys.stderr, flush=True)  # noqa: T201 - the command line talks to a person

    def say_page(self, found: dict[str, Any]) -> None:
        """Tell which page of a list was shown, if there are others; with JSON, the answer has told it."""
        if not self.as_json and found["total"] > len(found["items"]):
            self.say(f"page {found['page']}: {len(found['items'])} of {found['total']}; --page shows others")

    def progress(self, unit: str = "") -> Progress:
        """Return a progress bar on stderr, which is silent without a terminal."""
        return Progress(unit)


def harmless(text: str) -> str:
    """Return a text in which control characters are escaped."""
    return text.translate(_OBEYED)


def shown(value: object) -> str:
    """Return a value in a readable form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else orjson.dumps(value).decode()
