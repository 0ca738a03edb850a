"""The decision to share a memory with another agent of the user: it stays one memory, known to both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.state.evolve import SHARED
from schemas.messages.events import MemoryRevised
from streams.decisions import slots
from streams.decisions.duplicates import matching

if TYPE_CHECKING:
    from projections.state.memory import Memory
    from schemas.messages.inbox import ReviseMemory
    from streams.decisions.draft import Draft


def is_share(item: ReviseMemory) -> bool:
    """Return whether a revision changes nothing but the agents that know the memory."""
    facts = (item.content, item.about, item.category, item.importance, item.memory_type, item.value)
    happened = (item.event_type, item.emotion, item.emotion_intensity, item.key_dialogue)
    changes = (*facts, *happened, item.metadata, item.sets_expiry or None)
    return item.envelope.agent_id is not None and all(change is None for change in changes)


def decide_share(draft: Draft, item: ReviseMemory, memory: Memory, said: matching.Statement) -> None:
    """Share an active memory with the item's agent, unless the agent already knows it or its text.

    `said` is the memory's statement for that agent. Sharing does not reinforce a memory or replace another value.
    """
    agent_id = item.envelope.agent_id
    if memory.known_to(agent_id):
        draft.say(memory.memory_id, "nothing", "the agent knows it", memory.memory_id)
        return
    alike = (m for m in matching.exact(draft.state, said) if slots.is_same(m, said, memory.occurred_at))
    same = matching.first_active(alike, said.effective)
    if same is not None:
        draft.say(memory.memory_id, "nothing", "the agent knows this very text", same.memory_id)
        return
    draft.add(
        MemoryRevised(envelope=draft.envelope(), memory_id=memory.memory_id, reason=SHARED, source_ids=[], pieces=[])
    )
    draft.say(memory.memory_id, "revised", "shared", memory.memory_id)
