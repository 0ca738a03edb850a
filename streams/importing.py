"""How remember decides about a memory that was kept elsewhere: it comes as it was there, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.importance import DECIMALS
from projections.memory import ACTIVE, EXPIRED, FORGOTTEN, SUPERSEDED
from schemas.events import MemoryImported
from schemas.identity import commanded_memory_id
from schemas.text import content_hash
from streams import known, slots
from streams.candidates import supersede
from streams.draft import SHORT_TERM_LIFE

if TYPE_CHECKING:
    from datetime import datetime

    from projections.memory import Memory
    from schemas.inbox import ImportMemory
    from streams.draft import Draft

OURS: Final = "mnemolog"
"""The source system of exports and of what users share: its ids are ours, and differ from user to user."""
_ACTIONS: Final = {ACTIVE: "formed", EXPIRED: "expired", FORGOTTEN: "forgotten", SUPERSEDED: "superseded"}


def decide_import(draft: Draft, item: ImportMemory, *, profile_keeps: bool) -> None:
    """Take a snapshot in, unless it is from here or its text is known.

    Being imported is no new saying: what is known is not reinforced. What was active takes its place in a single slot
    by when it was said, as anything does; what was not stays what it was.
    """
    if item.source_system == OURS and item.source_memory in draft.state.memories:
        draft.say("0", "nothing", "it is from here", item.source_memory)
        return
    said, expires_at = _statement(item), _expires_at(item)
    status = EXPIRED if item.status == SUPERSEDED and item.superseded_by is None else item.status
    superseded_by = item.superseded_by if status == SUPERSEDED else None
    now, present = item.envelope.occurred_at, list["Memory"]()
    memory_id = commanded_memory_id(draft.state.owner, item.envelope.event_id)
    if status == ACTIVE and (expires_at is None or expires_at >= now):
        alike = (m for m in known.exact(draft.state, said) if _is_same(m, item, said))
        same = known.first_active(alike, now)
        if same is not None:
            draft.say("0", "nothing", "known already", same.memory_id)
            return
        held = slots.holders(draft.state, said)
        present = slots.present(held, said.effective)
        kept = present[-1] if profile_keeps and present and not slots.holds(present[-1], said.value) else None
        newer = kept or slots.newer_than(held, said.effective)
        if newer is not None:
            status, superseded_by, present = SUPERSEDED, newer.memory_id, []
    draft.add(
        MemoryImported(
            envelope=draft.envelope(item.formed_at),
            memory_id=memory_id,
            source_system=item.source_system,
            source_user=item.source_user,
            source_memory=item.source_memory,
            source_type=item.source_type,
            scope=item.scope,
            kind=item.kind,
            memory_type=item.memory_type,
            category=item.category,
            content=item.content,
            content_hash=content_hash(said.content),
            vector=item.vector,
            embedding_model=item.embedding_model,
            attribute=item.attribute,
            value=item.value,
            event_type=item.event_type,
            emotion=item.emotion,
            emotion_intensity=item.emotion_intensity,
            key_dialogue=item.key_dialogue,
            importance=round(item.importance, DECIMALS),
            initial_strength=round(item.initial_strength, DECIMALS),
            access_count=max(item.access_count, item.recall_count),
            recall_count=item.recall_count,
            source_ids=item.source_ids,
            source_ref=item.source_ref,
            session_id=item.session_id,
            happened_at=item.happened_at,
            formed_at=item.formed_at,
            said_at=said.effective,
            last_accessed_at=max(item.last_accessed_at, item.formed_at),
            restored_at=item.restored_at,
            expires_at=expires_at,
            status=status,
            superseded_by=superseded_by,
            forgotten_at=(item.forgotten_at or draft.place.recorded_at) if status == FORGOTTEN else None,
            metadata=item.metadata,
        )
    )
    draft.say("0", _ACTIONS[status], f"imported from {item.source_system}", memory_id)
    supersede(draft, present, memory_id, said.effective)


def _statement(item: ImportMemory) -> known.Statement:
    return known.Statement(
        content=item.content.text,
        agent_id=item.envelope.agent_id,
        scope=item.scope,
        kind=item.kind,
        attribute=item.attribute,
        value=item.value.text if item.value else None,
        embedding_model=item.embedding_model,
        vector=item.vector.data,
        effective=max(item.said_at or item.formed_at, item.formed_at),
    )


def _expires_at(item: ImportMemory) -> datetime | None:
    """Return when it expires: short_term memories do, and no others."""
    return (item.expires_at or item.formed_at + SHORT_TERM_LIFE) if item.memory_type == "short_term" else None


def _is_same(memory: Memory, item: ImportMemory, said: known.Statement) -> bool:
    """Tell whether a memory of the same text is the same one: events of one wording may have happened twice."""
    if memory.kind != item.kind or not slots.fills_same(memory, said):
        return False
    return item.kind != "episodic" or memory.occurred_at == item.happened_at
