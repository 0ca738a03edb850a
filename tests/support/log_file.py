"""The connection that writes a log's file, on which tests simulate a disk that is full or slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from streams.transports.sqlite.log import SqliteLog


def writing_connection(log: SqliteLog) -> sqlite3.Connection:
    """Return the connection that writes: SQLite's limits and pragmas are of a connection, not of its file."""
    return log._writer._connection


def leave_pages(log: SqliteLog, pages: int) -> None:
    """Let the file grow by at most `pages` pages from now on, as on a disk that is almost full."""
    connection = writing_connection(log)
    (used,) = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count = {used + pages}")
