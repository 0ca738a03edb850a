"""The connection that writes a log's file: what tests set on it is what a full disk or a slow one does to the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from streams.transports.sqlite.log import SqliteLog


def writing_connection(log: SqliteLog) -> sqlite3.Connection:
    """Return the connection: SQLite's limits and pragmas hold for one connection, and not for its file."""
    return log._writer._connection


def leave_pages(log: SqliteLog, pages: int) -> None:
    """Let the file grow by so many pages from now on, as on a disk that is almost full."""
    connection = writing_connection(log)
    (used,) = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count = {used + pages}")
