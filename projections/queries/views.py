"""A memory as JSON: the shape that HTTP, exports and history show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from projections.queries.turns.index import said_by, source_of
from projections.state.importance import grade
from projections.state.provenance import provenance_of
from schemas.inputs.decoding import effective_time
from schemas.instant import instant

if TYPE_CHECKING:
    from datetime import datetime

    from projections.queries.search import FoundTurn
    from projections.state.memory import Memory
    from schemas.identity import Owner


def memory_view(owner: Owner, memory: Memory, as_of: datetime) -> dict[str, Any]:
    """Return the JSON form of a memory at an instant: strength and status are those of `as_of`."""
    return {
        "memory_id": memory.memory_id,
        "user_id": owner.user_id,
        "agent_id": memory.agent_id,
        "shared_with": list(memory.shared_with),
        "scope": memory.scope,
        "kind": memory.kind,
        "memory_type": memory.memory_type,
        "category": memory.category,
        "content": memory.content,
        "content_hash": memory.content_hash,
        "about": memory.about,
        "speaker": memory.speaker,
        "attribute": memory.stated,
        "value": memory.value or None,
        "becomes": memory.becomes,
        "event_type": memory.event_type,
        "emotion": memory.emotion,
        "emotion_intensity": memory.emotion_intensity,
        "key_dialogue": list(memory.key_dialogue),
        "confirmed": memory.confirmed,
        "importance": memory.importance,
        "grade": round(grade(memory.importance), 4),
        "initial_strength": memory.initial_strength,
        "strength": memory.strength_at(as_of),
        "access_count": memory.access_count,
        "recall_count": memory.recall_count,
        "source_type": memory.source_type,
        "provenance": provenance_of(memory),
        "source_ids": list(memory.source_ids),
        "source_ref": memory.source_ref,
        "session_id": memory.session_id,
        "met_in": list(map(orjson.loads, memory.met_in)),
        "occurred_at": instant(memory.occurred_at),
        "formed_at": instant(memory.formed_at),
        "last_accessed_at": instant(memory.last_accessed_at),
        "expires_at": instant(memory.expires_at),
        "status": memory.status_at(as_of),
        "superseded_by": memory.superseded_by,
        "version": memory.version,
        "metadata": orjson.loads(memory.metadata),
    }


def turn_view(found: FoundTurn) -> dict[str, Any]:
    """Return the JSON form of a turn in search results: `memory` has its words, after the speaker's name."""
    message, said_at = found.turn.message, effective_time(found.turn.message, found.turn.recorded_at)
    over = {"superseded_by": found.superseded_by} if found.superseded_by else {}
    return over | {
        "kind": "turn",
        "turn_id": message.envelope.event_id,
        "memory": said_by(found.turn),
        "score": found.score,
        "scores": {"semantic": found.semantic, "keyword": found.keyword},
        "user_id": found.owner.user_id,
        "agent_id": message.envelope.agent_id,
        "session_id": message.session_id,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "provenance": source_of(found.turn),
        "source_ids": [message.envelope.event_id],
        "occurred_at": instant(said_at),
        "recorded_at": instant(found.turn.recorded_at),
    }
