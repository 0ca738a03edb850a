"""What a memory is when it comes to be: by its forming here, or by the import of what was kept elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from projections.state.memory import ACTIVE, SUPERSEDED, Memory

if TYPE_CHECKING:
    from schemas.messages.envelope import Sealed
    from schemas.messages.events import MemoryFormed, MemoryImported

IMPORT: Final = "import"
"""The source type of what was imported."""


def formed(event: MemoryFormed) -> Memory:
    """Return the memory that an event forms."""
    return Memory(
        memory_id=event.memory_id,
        agent_id=event.envelope.agent_id,
        scope=event.scope,
        kind=event.kind,
        memory_type=event.memory_type,
        category=event.category,
        content=event.content.text,
        content_hash=event.content_hash,
        attribute=event.attribute,
        value=event.value.text if event.value else None,
        event_type=event.event_type,
        emotion=event.emotion,
        emotion_intensity=event.emotion_intensity,
        key_dialogue=_lines(event.key_dialogue),
        importance=event.importance,
        initial_strength=1.0,
        strength=1.0,
        access_count=0,
        recall_count=0,
        source_type=event.source_type,
        source_ids=tuple(event.source_ids),
        source_ref=event.source_ref,
        session_id=event.session_id,
        pieces=tuple(event.pieces),
        occurred_at=event.happened_at,
        formed_at=event.formed_at,
        said_at=event.formed_at,
        last_accessed_at=event.formed_at,
        last_recalled_at=None,
        restored_at=None,
        expires_at=event.expires_at,
        status=SUPERSEDED if event.superseded_by else ACTIVE,
        superseded_by=event.superseded_by,
        forgotten_at=None,
        last_tick_id=None,
        metadata=event.metadata.text if event.metadata else "{}",
        embedding_model=event.embedding_model,
        version=1,
        text_version=1,
    )


def imported(event: MemoryImported) -> Memory:
    """Return the memory that an event brings from elsewhere."""
    return Memory(
        memory_id=event.memory_id,
        agent_id=event.envelope.agent_id,
        scope=event.scope,
        kind=event.kind,
        memory_type=event.memory_type,
        category=event.category,
        content=event.content.text,
        content_hash=event.content_hash,
        attribute=event.attribute,
        value=event.value.text if event.value else None,
        event_type=event.event_type,
        emotion=event.emotion,
        emotion_intensity=event.emotion_intensity,
        key_dialogue=_lines(event.key_dialogue),
        importance=event.importance,
        initial_strength=event.initial_strength,
        strength=event.initial_strength,
        access_count=event.access_count,
        recall_count=event.recall_count,
        source_type=IMPORT,
        source_ids=tuple(event.source_ids),
        source_ref=event.source_ref,
        session_id=event.session_id,
        pieces=(),
        occurred_at=event.happened_at,
        formed_at=event.formed_at,
        said_at=event.said_at,
        last_accessed_at=event.last_accessed_at,
        last_recalled_at=None,
        restored_at=event.restored_at,
        expires_at=event.expires_at,
        status=event.status,
        superseded_by=event.superseded_by,
        forgotten_at=event.forgotten_at,
        last_tick_id=None,
        metadata=event.metadata.text if event.metadata else "{}",
        embedding_model=event.embedding_model,
        version=1,
        text_version=1,
    )


def _lines(spoken: Sealed | None) -> tuple[str, ...]:
    return tuple(orjson.loads(spoken.data)) if spoken else ()
