"""The result of mem0's `get_all`, from its platform, server or library, as a JSON file, with histories if present."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mnemolog.extensions.migration.json_arrays import elements
from mnemolog.extensions.migration.rows import BadRow, Line, Rows, category, given, instant, line_of, text
from schemas.instant import END_OF_DAY

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS: Final = ("results", "memories")
CHANGED: Final = "UPDATE"
_DATE_CHARACTERS: Final = len("2026-01-05")
_KEPT: Final = ("categories", "feedback", "feedback_reason", "structured_attributes")
"""The fields that go into the metadata, because a memory here has no such fields."""


def mem0_rows(name: str) -> Rows:
    """Return the memories of a file, each after its earlier versions. Raises OSError."""
    return Rows(Path(name).stat().st_size, "bytes", lambda: _read(name))


def _read(name: str) -> Iterator[tuple[Line, int]]:
    with Path(name).open("rb") as stream:
        seen = 0
        for place, element in enumerate(elements(name, stream, KEYS), 1):
            here = stream.tell()
            for number, build in enumerate((partial(mem0_memory, element), *_earlier(element))):
                yield line_of(name, place, build), 0 if number else here - seen
            seen = here


def mem0_memory(element: object) -> dict[str, Any]:
    """Return an element as a memory. Raises BadRow."""
    row = _row(element)
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise BadRow(f"metadata {metadata!r} is no object")
    categories = row.get("categories")
    words = [name for name in categories if isinstance(name, str)] if isinstance(categories, list) else []
    formed = instant("created_at", row.get("created_at"))
    updated = instant("updated_at", row.get("updated_at")) or formed
    app = {"app_id": row["app_id"]} if row.get("app_id") else {}
    run = row.get("run_id") or row.get("session_id")
    return given(
        source_system="mem0",
        memory_id=_id(row),
        user_id=str(row.get("user_id") or _without_user(row)),
        agent_id=row.get("agent_id"),
        content=text(row, next((name for name in ("memory", "data", "text") if row.get(name)), "memory")),
        category=next((found for found in map(category, words) if found != "fact"), "fact"),
        source_ref=run,
        session_id=run,
        formed_at=formed or updated,
        said_at=updated,
        last_accessed_at=updated,
        expires_at=_expiry(row.get("expiration_date")),
        metadata={**metadata, **given(**{name: row.get(name) for name in _KEPT}), **app},
    )


def _earlier(element: object) -> list[partial[dict[str, Any]]]:
    """Return builders of the memories for an element's earlier versions, from its history."""
    if not isinstance(element, dict) or not isinstance(element.get("history"), list):
        return []
    changes = [
        one
        for one in element["history"]
        if isinstance(one, dict) and one.get("event") == CHANGED and isinstance(one.get("old_memory"), str)
    ]
    return [partial(_said_before, element, number, change) for number, change in enumerate(changes)]


def _said_before(element: dict[str, Any], number: int, change: dict[str, Any]) -> dict[str, Any]:
    """Return a memory's version before a change: a memory that was superseded by it. Raises BadRow."""
    memory = mem0_memory(element)
    return memory | given(
        memory_id=f"{memory.get('memory_id')}-{number}",
        content=text(change, "old_memory"),
        status="superseded",
        superseded_by=memory.get("memory_id"),
        last_accessed_at=instant("created_at", change.get("created_at")),
    )


def _row(element: object) -> dict[str, Any]:
    """Return an element with mem0's names in Python, which its JavaScript spells differently. Raises BadRow."""
    if not isinstance(element, dict):
        raise BadRow("is no object")
    return {_SPELT.get(name, name): value for name, value in cast("dict[str, Any]", element).items()}


def _id(row: dict[str, Any]) -> str | None:
    return None if row.get("id") is None else str(row["id"])


def _without_user(row: dict[str, Any]) -> str:
    """Return the user of a memory that has none: the one under which mem0's clients find it, from its other ids."""
    for name in ("agent_id", "app_id", "run_id"):
        if row.get(name):
            return f"mem0:{name.removesuffix('_id')}:{row[name]}"
    return "owner"


def _expiry(value: object) -> str | None:
    """Return when a memory expires: at the end of the day that mem0 gives. Raises BadRow."""
    at = instant("expiration_date", value)
    is_date = isinstance(value, str) and len(value.strip()) == _DATE_CHARACTERS
    return f"{at[:_DATE_CHARACTERS]}{END_OF_DAY}" if at is not None and is_date else at


_SPELT: Final = {
    "userId": "user_id",
    "agentId": "agent_id",
    "appId": "app_id",
    "runId": "run_id",
    "sessionId": "session_id",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "expirationDate": "expiration_date",
    "structuredAttributes": "structured_attributes",
    "feedbackReason": "feedback_reason",
}
