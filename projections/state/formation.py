"""The memory that an event begins: formed here, or imported as it was kept elsewhere."""

from __future__ import annotations

from typing import Any, Final

import orjson

from projections.state.memory import ACTIVE, SUPERSEDED, Memory
from schemas.messages.copied_fields import copied_names, copier
from schemas.messages.events import MemoryFormed, MemoryImported

IMPORT: Final = "import"
"""The source type of what was imported."""
_of_formed: Final = copier(copied_names(MemoryFormed, Memory))
_of_imported: Final = copier(copied_names(MemoryImported, Memory))
"""Read the fields that the event and a memory spell alike, so that a new one is not spelled here."""


def formed(event: MemoryFormed) -> Memory:
    """Return the memory that an event forms."""
    return Memory(
        **_of_formed(event),
        **_alike(event),
        initial_strength=1.0,
        strength=1.0,
        access_count=0,
        recall_count=0,
        pieces=tuple(event.pieces),
        said_at=event.formed_at,
        last_accessed_at=event.formed_at,
        restored_at=None,
        status=SUPERSEDED if event.superseded_by else ACTIVE,
        forgotten_at=None,
    )


def imported(event: MemoryImported) -> Memory:
    """Return the memory that an event brings from elsewhere."""
    return Memory(
        **_of_imported(event),
        **_alike(event),
        strength=event.initial_strength,
        source_type=IMPORT,
        pieces=(),
    )


def _alike(event: MemoryFormed | MemoryImported) -> dict[str, Any]:
    """Return the fields that both events say alike, and in another way than a memory does."""
    return {
        "agent_id": event.envelope.agent_id,
        "content": event.content.text,
        "value": event.value.text if event.value else None,
        "key_dialogue": tuple(orjson.loads(event.key_dialogue.data)) if event.key_dialogue else (),
        "source_ids": tuple(event.source_ids),
        "occurred_at": event.happened_at,
        "last_recalled_at": None,
        "last_tick_id": None,
        "metadata": event.metadata.text if event.metadata else "{}",
        "version": 1,
        "text_version": 1,
    }
