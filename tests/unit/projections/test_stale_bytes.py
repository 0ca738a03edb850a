"""Stale bytes: after `clear_gaps` a file holds what its rows say, and no byte of what was overwritten."""

from __future__ import annotations

import random
import re
import sqlite3
import sys
from contextlib import closing
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING

import pytest

from projections import stale_bytes
from projections.stale_bytes import StillWritten, clear_gaps

if TYPE_CHECKING:
    from pathlib import Path

ROWS, OVERWRITTEN = 3_000, 7
"""Every seventh row is overwritten."""


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma secure_delete=on")
    connection.execute("pragma synchronous=off")
    return connection


def fill(connection: sqlite3.Connection) -> None:
    """Insert rows in no order, so that pages are divided; then overwrite some."""
    pick = random.Random(3)  # noqa: S311 - the order of rows, nothing secret
    connection.execute("create table words(id integer primary key, name text, value blob)")
    connection.execute("create index names on words(name)")
    for number in pick.sample(range(ROWS), ROWS):
        size = pick.choice((20, 200, 900, 9_000))
        value = f"Quirinius{number:05}".encode() * (size // 14)
        connection.execute("insert into words values(?, ?, ?)", (number, f"Quirinius{number:05}", value))
    connection.execute("update words set value = x'00', name = '' where id % ? = 0", (OVERWRITTEN,))
    connection.execute("pragma wal_checkpoint(truncate)")


def left(path: Path) -> list[int]:
    """Return which overwritten rows still have words in the file."""
    data = path.read_bytes() + path.with_name(f"{path.name}-wal").read_bytes()
    said = {int(number) for number in re.findall(rb"Quirinius(\d{5})", data)}
    return [number for number in range(0, ROWS, OVERWRITTEN) if number in said]


def test_no_byte_of_what_was_overwritten_stays_and_every_row_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stale_bytes, "PAGES_AT_ONCE", 97)
    path = tmp_path / "a.sqlite"
    with closing(connect(path)) as connection, closing(connect(path)) as other:
        fill(connection)
        rows = connection.execute("select * from words order by id").fetchall()
        assert left(path), "SQLite leaves nothing any more: this module can go"
        other.execute("select sum(length(value)) from words").fetchall()  # it has the pages in its memory now
        assert clear_gaps(path, connection) > 0
        assert left(path) == []
        assert clear_gaps(path, connection) == 0
        other.execute("update words set name = name || '!' where id % 7 = 1")
        other.execute("pragma wal_checkpoint(truncate)")
        assert left(path) == []
        assert other.execute("pragma integrity_check").fetchall() == [("ok",)]
        changed = [(number, f"{name}!" if number % 7 == 1 else name, value) for number, name, value in rows]
        assert connection.execute("select * from words order by id").fetchall() == changed


def test_beside_one_who_reads_an_old_state_nothing_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stale_bytes, "PATIENCE_SECONDS", 0.1)
    path = tmp_path / "a.sqlite"
    with closing(connect(path)) as connection, closing(connect(path)) as reader:
        fill(connection)
        connection.execute("pragma busy_timeout=10")
        reader.execute("begin")
        reader.execute("select count(*) from words").fetchall()
        connection.execute("insert into words values(?, 'new', x'01')", (ROWS,))
        before = path.read_bytes()
        with pytest.raises(StillWritten):
            clear_gaps(path, connection)
        assert path.read_bytes() == before
        reader.execute("commit")
        assert clear_gaps(path, connection) > 0
        assert reader.execute("select name from words where id = ?", (ROWS,)).fetchall() == [("new",)]


def test_an_empty_file_has_no_gaps(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    path.touch()
    with closing(sqlite3.connect(path)) as connection:
        assert clear_gaps(path, connection) == 0


CHECKPOINTS = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as shared:
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, 121)  # WAL_CKPT_LOCK of SQLite's file format
    print("held", flush=True)
    time.sleep(0.5)
"""
"""A process that holds the lock of checkpoints for half a second."""


def test_it_waits_for_another_process_to_checkpoint(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    with closing(connect(path)) as connection:
        fill(connection)
        connection.execute("insert into words values(?, 'new', x'01')", (ROWS,))
        with Popen([sys.executable, "-c", CHECKPOINTS, f"{path}-shm"], stdout=PIPE) as other:  # noqa: S603 - our own words
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            assert clear_gaps(path, connection) > 0
        assert left(path) == []
