"""Answers of the two memory tools as a model reads them: a line for each memory instead of all its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from projections.state.provenance import marked
from schemas.instant import shown_day

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_text(answer: Mapping[str, Any]) -> str:
    """Return what memory_search found, best first, or what memory_add has remembered."""
    if "results" in answer:
        return "\n".join(map(_line, answer["results"])) or "Nothing was found."
    return f"Remembered:\n{_line(answer)}" if "memory_id" in answer else "Accepted; it will be remembered in a moment."


def _line(memory: Mapping[str, Any]) -> str:
    words = marked(memory.get("memory") or memory["content"], memory["provenance"])
    day = shown_day(memory["occurred_at"], memory.get("formed_at"))
    return f"- {day} [{memory['category']}] {words} (id {memory['memory_id']})"
