"""Reads the rows of another system's file, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.imports.snapshot import parse_snapshot
from schemas.instant import read_instant

if TYPE_CHECKING:
    from mnemolog.cli.migrations.rows import Rows


def memories(rows: Rows) -> list[dict[str, Any]]:
    """Return the memories of all rows, after a check that each row is good and can be imported."""
    found = []
    for line, _ in rows.read():
        assert not isinstance(line, BadLine), line
        parse_snapshot(line.event, tenant="default", user_id=None, accepted_at=read_instant("2026-11-21"))
        found.append(line.event)
    return found


def bad(rows: Rows) -> list[tuple[int, str]]:
    """Return the number and the error of each bad row."""
    return [(line.line, line.error) for line, _ in rows.read() if isinstance(line, BadLine)]
