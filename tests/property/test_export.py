"""Whatever happened to a user, an export imported into an empty engine gives the same memories, and once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import orjson
from hypothesis import given, settings
from support.examples import MONDAY, XIAOMING, vector_of
from support.given import Given
from support.histories import HISTORIES, lived

from mnemolog.imports.snapshot import parse_snapshot
from projections.queries.export import export_lines
from projections.state.memory import SUPERSEDED
from schemas.identity import commanded_memory_id, import_id

if TYPE_CHECKING:
    from typing import Any

    from support.given import Item
    from support.histories import Step

    from projections.state.memory import Memory

NOW = MONDAY + timedelta(days=400)
NEW = {
    "memory_id", "superseded_by", "source_type", "version", "text_version", "pieces", "last_recalled_at",
    "last_tick_id", "strength", "status", "forgotten_at",
}  # fmt: skip


def kept_by_import(memory: Memory) -> dict[str, Any]:
    """Return what an import keeps of a memory."""
    kept = {name: getattr(memory, name) for name in memory.__slots__ if name not in NEW}
    return kept | {"status": memory.status_at(NOW)}


def here(memory_id: str) -> str:
    """Return the id that a memory of Xiaoming's has when it is imported."""
    return commanded_memory_id(XIAOMING, import_id(XIAOMING, "mnemolog", XIAOMING.user_id, memory_id))


def imported_into(known: Given, lines: list[dict[str, Any]]) -> Given:
    for line in lines:
        one = parse_snapshot(line, tenant=XIAOMING.tenant, user_id=None, accepted_at=NOW)
        items: list[Item] = [one.item(NOW, vector_of(line["content"]), "test"), *one.shares(NOW, one.memory_id)]
        for item in items:
            known = known.when(item)
    return known


@given(HISTORIES)
@settings(max_examples=25, deadline=None)
def test_what_is_exported_comes_back_as_it_was_and_once(history: list[Step]):
    source, decisions = lived(history)
    pages = dict(enumerate(decisions))
    lines = [
        orjson.loads(orjson.dumps(line))
        for line in export_lines(source.state, NOW, lambda after: [(0, pages[after])] if after in pages else [], 0)
    ]
    memories = [line for line in lines if line["type"] == "Memory" and line["content"]]
    assert lines[-1]["events"] == len(lines) - 1 - len(source.memories)
    copy = imported_into(Given(), memories)
    theirs = {here(m.memory_id): m for m in source.memories if m.content}
    assert set(copy.state.memories) == set(theirs)
    for memory_id, memory in copy.state.memories.items():
        assert kept_by_import(memory) == kept_by_import(theirs[memory_id])
        if memory.status == SUPERSEDED:
            assert memory.superseded_by == here(theirs[memory_id].superseded_by or "")
    assert imported_into(copy, memories).state == copy.state
    assert imported_into(source, memories).state.memories == source.state.memories
