"""PowerMem's backup (`pmem manage backup`), and the answers of its `get_all` and its server, as a JSON file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from mnemolog.extensions.migration.json_arrays import elements
from mnemolog.extensions.migration.rows import (
    BadRow,
    Line,
    Rows,
    category,
    count,
    given,
    instant,
    line_of,
    number,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS: Final = ("memories", "results", "profiles", "data")
WITHIN: Final = ("data",)
"""The key under which PowerMem's server wraps its answers."""


def powermem_rows(name: str) -> Rows:
    """Return the memories of a file. Raises OSError."""
    return Rows(Path(name).stat().st_size, "bytes", lambda: _read(name))


def _read(name: str) -> Iterator[tuple[Line, int]]:
    with Path(name).open("rb") as stream:
        seen = 0
        for place, element in enumerate(elements(name, stream, KEYS, WITHIN), 1):
            here = stream.tell()
            yield line_of(name, place, partial(powermem_memory, element)), here - seen
            seen = here


def powermem_memory(element: object) -> dict[str, Any]:
    """Return an element as a memory: one of get_all, or the profile of a UserMemory. Raises BadRow."""
    if not isinstance(element, dict):
        raise BadRow("is no object")
    row = {_SPELT.get(name, name): value for name, value in cast("dict[str, Any]", element).items()}
    metadata = _parsed(row.get("metadata")) or {}
    if not isinstance(metadata, dict):
        raise BadRow(f"metadata {metadata!r} is no object")
    rated = metadata.get("intelligence")
    known = metadata | rated if isinstance(rated, dict) else metadata
    is_profile = "profile_content" in row
    formed = instant("created_at", row.get("created_at") or known.get("created_at"))
    updated = instant("updated_at", row.get("updated_at")) or formed
    kept = {**metadata, "topics": row["topics"]} if row.get("topics") else metadata
    return given(
        source_system="powermem",
        memory_id=_id(row, is_profile=is_profile),
        user_id=str(row.get("user_id") or "owner"),
        agent_id=row.get("agent_id"),
        content=text(row, "profile_content" if is_profile else "memory" if row.get("memory") else "content"),
        category=category(row.get("category") or known.get("category")),
        importance=number("importance", known.get("importance_score", known.get("importance")), 0, 1, 0.5),
        access_count=count("access_count", known.get("access_count", row.get("access_count"))),
        source_ref=row.get("run_id"),
        session_id=row.get("run_id"),
        formed_at=formed or updated,
        said_at=updated,
        last_accessed_at=updated,
        metadata=kept,
    )


def _parsed(metadata: object) -> object:
    """Return metadata, decoded if they are JSON text, as databases store them."""
    try:
        return orjson.loads(metadata) if isinstance(metadata, str) and metadata else metadata
    except orjson.JSONDecodeError:
        return metadata


def _id(row: dict[str, Any], *, is_profile: bool) -> str | None:
    found = row.get("memory_id") or row.get("id")
    if is_profile:
        return f"profile-{found or row.get('user_id')}"
    return None if found is None else str(found)


_SPELT: Final = {
    "memoryId": "memory_id",
    "userId": "user_id",
    "agentId": "agent_id",
    "runId": "run_id",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "accessCount": "access_count",
}
"""The spelling of PowerMem's TypeScript."""
