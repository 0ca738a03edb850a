"""Evatar's table `memories`, as SQLite or as CSV with its column names in the first line."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cryptography.fernet import Fernet, InvalidToken

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration import sqlite_rows
from mnemolog.extensions.migration.rows import (
    BadRow,
    Line,
    Rows,
    Unreadable,
    category,
    count,
    given,
    instant,
    line_of,
    named,
    number,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE: Final = "memories"
NEEDED: Final = ("id", "content", "device_id")
KEPT: Final = ("source_type", "category")
ENCRYPTED: Final = "[encrypted:"
"""The beginning of a content whose text is in `encrypted_content`."""
MAX_FIELD_CHARACTERS: Final = 1 << 24


def evatar_rows(name: str, key: str | None) -> Rows:
    """Return the rows of a file; `key` is the Fernet key of encrypted ones. Raises OSError, ValueError."""
    fernet = None if key is None else Fernet(key)
    if not sqlite_rows.is_sqlite(name):
        return Rows(Path(name).stat().st_size, "bytes", lambda: _of_csv(name, fernet))
    with sqlite_rows.opened(name) as connection:
        sqlite_rows.check_table(name, connection, TABLE, NEEDED)
        total = sqlite_rows.row_count(connection, TABLE)
    return Rows(total, "rows", lambda: _of_sqlite(name, fernet))


def _of_sqlite(name: str, fernet: Fernet | None) -> Iterator[tuple[Line, int]]:
    with sqlite_rows.opened(name) as connection:
        for number_, row in sqlite_rows.rows_of(connection, TABLE):
            yield line_of(f"{name}:{TABLE}", number_, partial(evatar_memory, row, fernet)), 1


def _of_csv(name: str, fernet: Fernet | None) -> Iterator[tuple[Line, int]]:
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    with Path(name).open("rb") as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as stream:
        try:
            reader = csv.DictReader(stream, strict=True)
            if reader.fieldnames is None:
                raise Unreadable(f"{name} is empty: it is neither a SQLite database nor CSV")
            if missing := [column for column in NEEDED if column not in reader.fieldnames]:
                raise Unreadable(f"{name} has no column {missing[0]} in its first line")
            seen, before = 0, reader.line_num
            for row in reader:
                here, line = file.tell(), before + 1
                if None in row or None in row.values():
                    yield BadLine(name, line, "has another number of columns than the first line"), here - seen
                else:
                    yield line_of(name, line, partial(evatar_memory, row, fernet)), here - seen
                seen, before = here, reader.line_num
        except (csv.Error, UnicodeDecodeError) as error:
            raise Unreadable(f"{name} is no CSV in UTF-8 from line {reader.line_num + 1} on: {error}") from error


def evatar_memory(row: dict[str, Any], fernet: Fernet | None) -> dict[str, Any]:
    """Return a row as a memory. Raises BadRow."""
    word = row.get("category")
    return given(
        source_system="evatar",
        memory_id=named(row),
        user_id=row["device_id"] or "owner",
        content=_content(row, fernet),
        memory_type="short_term" if row.get("memory_type") == "short_term" else "long_term",
        category=category(word),
        importance=number("importance", row.get("importance"), 0, 1, 0.5),
        access_count=count("access_count", row.get("access_count")),
        source_type=row.get("source_type"),
        source_ref=row.get("source_id"),
        session_id=row.get("source_id") if row.get("source_type") == "chat" else None,
        formed_at=instant("created_at", row.get("created_at")),
        last_accessed_at=instant("last_accessed", row.get("last_accessed")),
        expires_at=instant("expires_at", row.get("expires_at")),
        metadata={"category": word} if word and word != category(word) else None,
    )


def _content(row: dict[str, Any], fernet: Fernet | None) -> str:
    """Return the text as Evatar shows it: the decrypted one if there is one. Raises BadRow."""
    secret = row.get("encrypted_content")
    if not secret:
        plain = text(row, "content")
        if plain.startswith(ENCRYPTED):
            raise BadRow("its content is encrypted and there is no encrypted_content to decrypt")
        return plain
    if fernet is None:
        if not str(row.get("content") or ENCRYPTED).startswith(ENCRYPTED):
            return text(row, "content")  # encrypted in addition to the plain text, as in Evatar's first version
        raise BadRow("its content is encrypted: give Evatar's key with --key-file or EVATAR_ENCRYPTION_KEY")
    try:
        return text({"content": fernet.decrypt(str(secret).encode()).decode()}, "content")
    except (InvalidToken, UnicodeError):
        raise BadRow("its content cannot be decrypted with this key") from None
