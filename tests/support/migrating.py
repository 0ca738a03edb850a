"""Reads the rows of another system's file, as the tests want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.imports.snapshot import parse_snapshot
from schemas.instant import read_instant

if TYPE_CHECKING:
    from mnemolog.extensions.migration.rows import Rows


def memories(rows: Rows) -> list[dict[str, Any]]:
    """Return the memories of all rows, each of which can be imported; none may be bad."""
    found = []
    for line, _ in rows.read():
        assert not isinstance(line, BadLine), line
        parse_snapshot(line.event, tenant="default", user_id=None, accepted_at=read_instant("2026-11-21"))
        found.append(line.event)
    return found


def bad(rows: Rows) -> list[tuple[int, str]]:
    """Return the bad rows."""
    return [(line.line, line.error) for line, _ in rows.read() if isinstance(line, BadLine)]
