"""The memory that an event creates: formed here, or imported from elsewhere."""

from __future__ import annotations

from typing import Final

import orjson

from projections.state.memory import ACTIVE, IMPORT, SUPERSEDED, Memory
from projections.state.places import places_of
from schemas.messages.copied_fields import builder, copied_names
from schemas.messages.events import MemoryFormed, MemoryImported

_formed: Final = builder(Memory, copied_names(MemoryFormed, Memory))
_imported: Final = builder(Memory, copied_names(MemoryImported, Memory))
"""Copy the fields with the same name in the event and in a memory, so that a new field needs no change here. A field
that is neither copied nor given below has the default of `Memory`."""


def formed(event: MemoryFormed) -> Memory:
    """Return the memory that an event forms."""
    return _formed(
        event,
        agent_id=event.envelope.agent_id,
        content=event.content.text,
        value=event.value.text if event.value else None,
        about=event.about.text if event.about else None,
        speaker=event.speaker.text if event.speaker else None,
        key_dialogue=tuple(orjson.loads(event.key_dialogue.data)) if event.key_dialogue else (),
        initial_strength=1.0,
        strength=1.0,
        access_count=0,
        recall_count=0,
        source_ids=tuple(event.source_ids),
        pieces=tuple(event.pieces),
        occurred_at=event.happened_at,
        said_at=event.formed_at,
        last_accessed_at=event.formed_at,
        last_recalled_at=None,
        restored_at=None,
        status=SUPERSEDED if event.superseded_by else ACTIVE,
        forgotten_at=None,
        last_tick_id=None,
        metadata=event.metadata.text if event.metadata else "{}",
        version=1,
        text_version=1,
    )


def imported(event: MemoryImported) -> Memory:
    """Return the memory that an event brings from elsewhere."""
    return _imported(
        event,
        agent_id=event.envelope.agent_id,
        content=event.content.text,
        value=event.value.text if event.value else None,
        about=event.about.text if event.about else None,
        speaker=event.speaker.text if event.speaker else None,
        key_dialogue=tuple(orjson.loads(event.key_dialogue.data)) if event.key_dialogue else (),
        strength=event.initial_strength,
        source_type=IMPORT,
        source_ids=tuple(event.source_ids),
        pieces=(),
        occurred_at=event.happened_at,
        last_recalled_at=None,
        last_tick_id=None,
        metadata=event.metadata.text if event.metadata else "{}",
        version=1,
        text_version=1,
        met_in=places_of(event.met_in),
    )
