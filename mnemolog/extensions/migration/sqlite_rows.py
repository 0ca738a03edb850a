"""Tables of another system's SQLite file, read without changing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mnemolog.extensions.migration.rows import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC: Final = b"SQLite format 3\x00"


def is_sqlite(name: str) -> bool:
    """Return whether a file is a SQLite database. Raises OSError."""
    with Path(name).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def opened(name: str) -> Iterator[sqlite3.Connection]:
    """Open a database for reading. Raises Unreadable."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(Path(name).resolve()))}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = _text
            yield connection
    except sqlite3.Error as error:
        raise Unreadable(f"{name} cannot be read as a SQLite database: {error}") from error


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; none if there is no such table."""
    return {str(row["name"]) for row in connection.execute("select name from pragma_table_info(?)", (table,))}


def check_table(name: str, connection: sqlite3.Connection, table: str, needed: Sequence[str]) -> None:
    """Check that a table and the required columns exist. Raises Unreadable."""
    there = columns(connection, table)
    if missing := [column for column in needed if column not in there]:
        what = f"no table {table}" if not there else f"no column {missing[0]} in its table {table}"
        raise Unreadable(f"{name} has {what}")


def row_count(connection: sqlite3.Connection, table: str) -> int:
    """Return the number of rows in a table."""
    return int(connection.execute(f"select count(*) from {table}").fetchone()[0])  # noqa: S608 - one of our own names


def rows_of(connection: sqlite3.Connection, table: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table in the order of their ids, each with its id, or its place if the id is not a number."""
    rows = connection.execute(f"select * from {table} order by id")  # noqa: S608 - one of our own names
    for place, row in enumerate(rows, 1):
        yield row["id"] if isinstance(row["id"], int) else place, dict(row)


def _text(stored: bytes) -> str:
    """Return text with lone surrogates for bytes that are not UTF-8, so that only this row is refused."""
    return stored.decode("utf-8", "surrogateescape")
