"""Adds the rows that the tables of `docs/reference/` lack: messages, routes, methods, commands, fields of a memory.

A new row has the first sentence of a docstring, and follows the row of what precedes it in the code. Existing rows stay
as they are, so that you may edit them. A second run without a change writes nothing.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typer.main import get_command

from mnemolog import AsyncClient
from mnemolog.cli.program import program
from mnemolog.http.app import make_http
from mnemolog.http.models import responses
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from projections.state.memory import Memory
from schemas.codec import MESSAGES
from schemas.topics import INBOX, TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[1]
REFERENCE: Final = ROOT / "docs" / "reference"
CELL: Final = re.compile(r"^\| `(?P<cell>[^`]+)`")
WORDS: Final = re.compile(r"(?<!\S)[a-z][a-z-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that a table must name, and the row to add if it does not."""

    name: str
    text: str


def first_sentence(doc: str | None) -> str:
    """Return the first sentence of a docstring as the text of a table's cell."""
    sentence = re.split(r"\.(?:\s|$)", " ".join((doc or "").split()), maxsplit=1)[0]
    return sentence[:1].lower() + sentence[1:]


def messages() -> Iterator[Row]:
    """Yield the rows of all messages."""
    by_message = {message: topic for topic in TOPICS for message in topic.messages}
    for message in dict.fromkeys(MESSAGES):
        topic = by_message.get(message)
        where = "in a Decision" if topic is None else "inbox" if topic is INBOX else topic.name.partition(".")[2]
        text = f"| `{message.__name__}` | {where} | {first_sentence(message.__doc__)} |"
        yield Row(name=message.__name__, text=text)


def routes() -> Iterator[Row]:
    """Yield the rows of all routes."""
    for path, methods in make_http(Worker(from_environment({}))).openapi()["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            yield Row(name=name, text=f"| `{name}` | {first_sentence(operation.get('description'))} |")


def methods() -> Iterator[Row]:
    """Yield the rows of all methods of the client."""
    for kind in reversed(AsyncClient.__mro__):
        for name in vars(kind):
            method = getattr(AsyncClient, name)
            if inspect.isfunction(method) and not name.startswith("_"):
                parameters = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
                given = ", ".join(spelled(parameter) for parameter in parameters)
                yield Row(name=name, text=f"| `{name}({given})` | {first_sentence(method.__doc__)} |")


def spelled(parameter: inspect.Parameter) -> str:
    """Return a parameter as the page spells it: with its default unless that is None."""
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    if parameter.default is parameter.empty or parameter.default is None:
        return f"{stars}{parameter.name}"
    return f"{parameter.name}={parameter.default!r}".replace("'", '"')


def commands() -> Iterator[Row]:
    """Yield the rows of all commands."""
    yield from _commands(get_command(program), "")


def _commands(command: Any, name: str) -> Iterator[Row]:  # noqa: ANN401 - a command or a group of them
    inner = getattr(command, "commands", None)
    for word, one in (inner or {}).items():
        yield from _commands(one, f"{name} {word}".strip())
    if inner is None:
        arguments = "".join(
            f" {p.metavar or p.name.upper()}" for p in command.params if p.param_type_name == "argument"
        )
        yield Row(name=name, text=f"| `{name}{arguments}` | {first_sentence(command.help)} |")


def name_of(cell: str) -> str:
    """Return what a first cell names: a message, a route, a method without its arguments, or a command's words."""
    if "/" in cell or cell[:1].isupper():
        return cell
    if "(" in cell:
        return cell.partition("(")[0]
    return " ".join(WORDS.findall(cell.split("[", maxsplit=1)[0]))


def names(line: str) -> str | None:
    """Return what the row in a line names, None if the line is no row."""
    cell = CELL.match(line)
    return name_of(cell["cell"]) if cell else None


def with_rows(text: str, rows: list[Row]) -> str:
    """Return a page with the rows that it lacks. Raises ValueError if it lacks the first row of a table."""
    lines = text.split("\n")
    before = None
    for row in rows:
        at = next(
            (n for n, line in enumerate(lines) if (m := CELL.match(line)) and name_of(m["cell"]) == row.name), None
        )
        if at is None:
            if before is None:
                raise ValueError(f"{row.name}: write the first row of its table by hand")
            at = before + 1
            lines.insert(at, row.text)
        before = at
    return "\n".join(lines)


def with_fields(text: str) -> str:
    """Return the HTTP page with a row for each field of a memory that its table lacks.

    The row has the first sentence of the field's docstring in the class `Memory` of the state.
    """
    head, table, rest = re.split(r"(?<=\nA memory:\n)(.*?\n)(?=\n## )", text, maxsplit=1, flags=re.DOTALL)
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.partition(" | ")[0])}
    rows = [
        f"| `{name}` | {first_sentence(field_docs().get(name))} |\n"
        for name in responses.Memory.model_fields
        if name not in named
    ]
    return head + table + "".join(rows) + rest


def field_docs() -> dict[str, str]:
    """Return the docstrings of a memory's fields, by field."""
    [statement] = ast.parse(inspect.getsource(Memory)).body
    body = statement.body if isinstance(statement, ast.ClassDef) else []
    return {
        field.target.id: below.value.value
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


PAGES: Final = {"events.md": messages, "http.md": routes, "python.md": methods, "command-line.md": commands}


def main() -> int:
    """Write the missing rows, and print the pages that were changed; return the exit code."""
    for page, rows in PAGES.items():
        file = REFERENCE / page
        text = file.read_text("utf-8")
        with_all = with_rows(text, list(rows()))
        if page == "http.md":
            with_all = with_fields(with_all)
        if with_all != text:
            file.write_text(with_all, "utf-8")
            print(file.relative_to(ROOT).as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main())
