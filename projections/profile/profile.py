"""The profile: the fold of the memories that carry an attribute. It is computed on every read and never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from projections.state.memory import ACTIVE
from schemas.text import on_one_line
from schemas.vocabulary.attributes import LISTS, MAPS, SINGLE, name_and_date, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from projections.state.memory import Memory

USAGE: Final = "usage_patterns"
"""The attribute whose values are counted from turns, not extracted."""


def profile(memories: Iterable[Memory], as_of: datetime, agent_id: str | None = None) -> dict[str, Any]:
    """Return every attribute with its value.

    A single attribute has its newest value, a list all its values, and `important_dates` is a map by name. Attributes
    outside the vocabulary are under `other`. `sources` has the memory id of each value, and `text` the lines of
    `text_of`.
    """
    shown = [m for m in memories if m.slot and m.value and m.status_at(as_of) == ACTIVE and m.visible_to(agent_id)]
    shown.sort(key=lambda m: (m.formed_at, m.memory_id))
    found: dict[str, Any] = dict.fromkeys(sorted(SINGLE))
    found.update({name: [] for name in sorted(LISTS)})
    found.update({name: {} for name in sorted(MAPS)})
    found["other"] = {}
    sources: dict[str, Any] = {}
    known: set[tuple[str, str]] = set()
    for memory in shown:
        _place(found, sources, known, memory)
    return {**found, "sources": sources, "text": text_of(found)}


def with_usage(found: dict[str, Any], patterns: Iterable[str]) -> dict[str, Any]:
    """Return a profile with the counted patterns of use after the remembered ones."""
    counted = {**found, USAGE: [*found[USAGE], *patterns]}
    return {**counted, "text": text_of(counted)}


def _place(found: dict[str, Any], sources: dict[str, Any], known: set[tuple[str, str]], memory: Memory) -> None:
    name, value = memory.attribute or "", memory.value or ""
    if name in SINGLE:
        found[name] = value
        sources[name] = memory.memory_id
        return
    if name in MAPS:
        label, date = name_and_date(value)
        found[name][label] = date
        sources.setdefault(name, {})[label] = memory.memory_id
        return
    if (name, plain := plain_value(value)) in known:
        return
    known.add((name, plain))
    if name in LISTS:
        found[name].append(value)
        sources.setdefault(name, {})[value] = memory.memory_id
    else:
        other = found["other"]
        if name not in other:
            other[name] = value
        elif isinstance(other[name], str):
            other[name] = [other[name], value]
        else:
            other[name].append(value)
        sources.setdefault("other", {}).setdefault(name, {})[value] = memory.memory_id


def text_of(found: dict[str, Any]) -> str:
    """Return the profile as lines `- name: value`, one for each attribute or date; empty for an empty profile."""
    lines = []
    for name in (*sorted(SINGLE), *sorted(LISTS)):
        value = found[name]
        if value:
            lines.append(f"{name}: {value if isinstance(value, str) else ', '.join(value)}")
    for name in sorted(MAPS):
        lines.extend(f"{name}: {label} {date}" for label, date in found[name].items())
    for name, value in found["other"].items():
        lines.append(f"{name}: {value if isinstance(value, str) else ', '.join(value)}")
    return "\n".join(f"- {on_one_line(line)}" for line in lines)
