"""Answers of the two memory tools as text for a model: a line for each memory instead of all its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from projections.state.provenance import marked
from schemas.instant import shown_day
from schemas.text import on_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_text(answer: Mapping[str, Any]) -> str:
    """Return the answer of memory_search or memory_add as text: results, best first, or the memory and similar ones."""
    if "results" in answer:
        return "\n".join(map(_line, answer["results"])) or "Nothing was found."
    if "memory_id" not in answer:
        return "Accepted; it will be remembered in a moment."
    remembered = ["Remembered:", _line(answer)]
    similar = [f"- {on_one_line(one['content'])} (id {one['memory_id']})" for one in answer.get("similar", ())]
    return "\n".join([*remembered, "Similar memories:", *similar] if similar else remembered)


def _line(memory: Mapping[str, Any]) -> str:
    words = marked(memory.get("memory") or memory["content"], memory["provenance"])
    day = shown_day(memory["occurred_at"], memory.get("formed_at"))
    return f"- {day} [{memory['category']}] {words} (id {memory['memory_id']})"
