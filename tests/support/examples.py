"""Named example values: one user, her pieces, and the items of the inbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import orjson

from schemas.identity import Owner, derived_id, import_id, partition_owner
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import (
    Candidate,
    CandidatesExtracted,
    CoveredPiece,
    DecayDue,
    ExtractionRejected,
    ForgetMemory,
    ImportMemory,
    RecordRecall,
    RememberFact,
    RestoreMemory,
    ReviseMemory,
)

XIAOMING = Owner("default", "xiaoming")
LUNA = "luna"
MONDAY = datetime(2026, 1, 5, 8, tzinfo=UTC)
DIMENSIONS = 64
MODEL = "rules"
PROMPT = "prompt-1"


def later(**span: float) -> datetime:
    """Return the instant at this distance after MONDAY, such as `later(hours=3)`."""
    return MONDAY + timedelta(**span)


def vector_of(text: str) -> bytes:
    """Return a unit vector of the text's characters: similar texts have a high cosine."""
    counts = np.zeros(DIMENSIONS, "<f4")
    for character in text:
        counts[ord(character) % DIMENSIONS] += 1
    return bytes((counts / max(1.0, float(np.linalg.norm(counts)))).astype("<f4").tobytes())


def envelope(event_id: str, at: datetime = MONDAY, *, agent_id: str | None = LUNA, owner: Owner = XIAOMING) -> Envelope:
    """Return the envelope of a message, of Xiaoming's by default."""
    return Envelope(event_id=event_id, tenant=owner.tenant, user_id=owner.user_id, agent_id=agent_id, occurred_at=at)


def piece(name: str, at: datetime = MONDAY, *, logged: datetime | None = None, by_user: bool = True) -> CoveredPiece:
    """Return a covered piece `name#0`, by default logged when it was said."""
    return CoveredPiece(piece_id=f"{name}#0", by_user=by_user, occurred_at=at, recorded_at=logged or at)


def candidate(
    content: str,
    *cites: str,
    value: str | None = None,
    about: str | None = None,
    speaker: str | None = None,
    dialogue: tuple[str, ...] = (),
    **more: Any,
) -> Candidate:
    """Return a semantic, long-term candidate that cites the pieces `name#0` of the named observations."""
    fields: dict[str, Any] = {
        "kind": "semantic",
        "category": "fact",
        "memory_type": "long_term",
        "importance": 0.5,
    } | more
    return Candidate(
        content=Sealed.clear(content),
        vector=Sealed.clear(vector_of(content)),
        value=None if value is None else Sealed.clear(value),
        about=None if about is None else Sealed.clear(about),
        speaker=None if speaker is None else Sealed.clear(speaker),
        key_dialogue=Sealed.clear(orjson.dumps(dialogue)) if dialogue else None,
        pieces=[f"{name}#0" for name in cites],
        **fields,
    )


def episode(
    content: str, *cites: str, event_type: str | None = "gift", importance: float = 0.5, **more: Any
) -> Candidate:
    """Return a candidate for an episode."""
    return candidate(content, *cites, kind="episodic", event_type=event_type, importance=importance, **more)


def extracted(*candidates: Candidate, covers: list[CoveredPiece], agent_id: str | None = LUNA) -> CandidatesExtracted:
    """Return an extractor's answer. Its id derives from the pieces that it covers, as in production."""
    names = [c.piece_id for c in covers]
    return CandidatesExtracted(
        envelope=envelope(derived_id("extraction", *names), max(c.occurred_at for c in covers), agent_id=agent_id),
        session_id="s1",
        source_type="chat",
        source_ref="s1",
        model=MODEL,
        prompt_hash=PROMPT,
        embedding_model="test",
        dropped=[],
        covered=covers,
        candidates=list(candidates),
    )


def said(
    content: str, name: str, at: datetime = MONDAY, *, logged: datetime | None = None, **more: Any
) -> CandidatesExtracted:
    """Return the answer to a window of one user turn that says one thing."""
    return extracted(candidate(content, name, **more), covers=[piece(name, at, logged=logged)])


def happened(content: str, name: str, at: datetime = MONDAY, **more: Any) -> CandidatesExtracted:
    """Return the answer to a window of one user turn that reports one event."""
    return extracted(episode(content, name, **more), covers=[piece(name, at)])


def rejected(name: str, at: datetime = MONDAY) -> ExtractionRejected:
    """Return the rejection of a window of one turn."""
    return ExtractionRejected(
        envelope=envelope(derived_id("extraction", f"{name}#0"), at),
        model=MODEL,
        prompt_hash=PROMPT,
        reason="not JSON",
        covered=[piece(name, at)],
    )


def remember(
    content: str,
    command: str,
    at: datetime = MONDAY,
    *,
    agent_id: str | None = LUNA,
    value: str | None = None,
    **more: Any,
) -> RememberFact:
    """Return the command to remember a text as it is."""
    return RememberFact(
        envelope=envelope(command, at, agent_id=agent_id),
        content=Sealed.clear(content),
        vector=Sealed.clear(vector_of(content)),
        embedding_model="test",
        value=None if value is None else Sealed.clear(value),
        **more,
    )


def imported(
    content: str,
    of: str,
    at: datetime = MONDAY,
    *,
    formed: datetime | None = None,
    agent_id: str | None = LUNA,
    value: str | None = None,
    **more: Any,
) -> ImportMemory:
    """Return the command to import the memory `of` of Evatar, by default formed when it is imported."""
    formed = formed or at
    fields: dict[str, Any] = {
        "source_system": "evatar",
        "source_user": "phone",
        "happened_at": formed,
        "formed_at": formed,
        "last_accessed_at": formed,
        "source_ids": [],
    } | more
    command = import_id(XIAOMING, fields["source_system"], fields["source_user"], of)
    return ImportMemory(
        envelope=envelope(command, at, agent_id=agent_id),
        source_memory=of,
        content=Sealed.clear(content),
        vector=Sealed.clear(vector_of(content)),
        embedding_model="test",
        value=None if value is None else Sealed.clear(value),
        **fields,
    )


def revise(
    memory_id: str, command: str, at: datetime = MONDAY, *, content: str | None = None, **more: Any
) -> ReviseMemory:
    """Return the command to change the given fields of a memory."""
    new: dict[str, Any] = (
        {} if content is None else {"content": Sealed.clear(content), "vector": Sealed.clear(vector_of(content))}
    )
    return ReviseMemory(envelope=envelope(command, at), memory_id=memory_id, **new, **more)


def share(memory_id: str, agent_id: str, command: str, at: datetime = MONDAY) -> ReviseMemory:
    """Return the command to make a memory known to another agent."""
    return ReviseMemory(envelope=envelope(command, at, agent_id=agent_id), memory_id=memory_id)


def forget(memory_id: str, command: str, at: datetime = MONDAY) -> ForgetMemory:
    """Return the command to forget a memory."""
    return ForgetMemory(envelope=envelope(command, at), memory_id=memory_id)


def restore(memory_id: str, command: str, at: datetime = MONDAY) -> RestoreMemory:
    """Return the command to bring a memory back."""
    return RestoreMemory(envelope=envelope(command, at), memory_id=memory_id)


def recalled(*memory_ids: str, command: str, at: datetime = MONDAY) -> RecordRecall:
    """Return the report that an agent was shown these memories."""
    return RecordRecall(envelope=envelope(command, at), memory_ids=list(memory_ids))


def tick(as_of: datetime, policy: str = "ladder") -> DecayDue:
    """Return the tick of partition 0."""
    owner = partition_owner(0)
    return DecayDue(
        envelope=envelope(derived_id("tick", policy, as_of.isoformat()), as_of, agent_id=None, owner=owner),
        policy=policy,
        as_of=as_of,
    )


def nested(depth: int) -> dict[str, Any]:
    """Return an object of `depth` objects and lists nested in each other."""
    inner: Any = 1
    for level in range(depth - 1):
        inner = [inner] if level % 2 else {"in": inner}
    return {"a": inner}
