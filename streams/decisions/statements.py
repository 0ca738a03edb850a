"""Statements of candidates, commands and memories, as the duplicate rules and the slots compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.vocabulary.facts import subject_of
from streams.decisions.duplicates.matching import Statement

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import Memory
    from schemas.messages.inbox import Candidate, CandidatesExtracted, ImportMemory, RememberFact


def of_candidate(item: CandidatesExtracted, candidate: Candidate, effective: datetime) -> Statement:
    """Return the statement of a candidate at its effective time."""
    return Statement(
        content=candidate.content.text,
        agent_id=item.envelope.agent_id,
        scope="personal",
        kind=candidate.kind,
        attribute=candidate.attribute,
        value=candidate.value.text if candidate.value else None,
        embedding_model=item.embedding_model,
        vector=candidate.vector.data,
        effective=effective,
        shape=candidate.shape,
        subject=subject_of(candidate.about.text) if candidate.about else None,
    )


def of_command(item: RememberFact | ImportMemory, effective: datetime) -> Statement:
    """Return the statement of a command that adds a memory, at its effective time."""
    return Statement(
        content=item.content.text,
        agent_id=item.envelope.agent_id,
        scope=item.scope,
        kind=item.kind,
        attribute=item.attribute,
        value=item.value.text if item.value else None,
        embedding_model=item.embedding_model,
        vector=item.vector.data,
        effective=effective,
        subject=subject_of(item.about.text) if item.about else None,
    )


def of_memory(memory: Memory, content: str, effective: datetime, agent_id: str | None = None) -> Statement:
    """Return the statement of a memory with the given text, for the memory's own agent or another one.

    It has no vector, so it is compared only by text and slot.
    """
    return Statement(
        content=content,
        agent_id=agent_id or memory.agent_id,
        scope=memory.scope,
        kind=memory.kind,
        attribute=memory.stated,
        value=memory.value,
        embedding_model=memory.embedding_model,
        vector=b"",
        effective=effective,
        subject=memory.subject,
    )
