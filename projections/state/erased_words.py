"""Removal of the words of erased memories from messages that contain more than these words.

A decision concerns several memories, and a model's answer several turns. Such messages stay, without the words but
with the ids, numbers and times that the fold needs. The fold of `MemoryErased` removes the words from the decisions in
a shard, and the erasure itself from the records of the log. Both produce the same bytes, however often they run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from schemas import codec
from schemas.identity import event_of_piece
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.decision import Decision
from schemas.messages.envelope import Sealed
from schemas.messages.events import MEMORY_EVENTS
from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected, ImportMemory, RememberFact, ReviseMemory
from schemas.messages.observations import OBSERVATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from schemas.messages.inbox import CoveredPiece

ERASED: Final = "erased"
"""The replacement of a reason, which may quote words."""
_NOTHING: Final = Sealed(data=b"")
_Any = TypeVar("_Any")


@dataclass(frozen=True, slots=True)
class ErasedWords:
    """The memories to erase, with their observations and the commands that formed or changed them."""

    memory_ids: frozenset[str]
    event_ids: frozenset[str]
    item_ids: frozenset[str] = frozenset()
    versions: Mapping[str, int] = field(default_factory=dict)
    """The ledger version of each memory's erasure. Later decisions state that the memory is unknown, and must not
    depend on when the words were removed."""
    counted: frozenset[int] = frozenset()
    """The offsets of the decisions that count. Void ones may have any content and version."""
    known: int | None = None
    """The ledger offset up to which `counted` is known: records at or after it are left as they are."""

    def without(self, message: _Any, offset: int | None = None) -> _Any:
        """Return a message without the words; the same object if it has none.

        `offset`: the position of a decision in the ledger; None for one that counts.
        """
        match message:
            case Decision() if offset is None or self.known is None or offset < self.known:
                counts = offset is None or offset in self.counted
                return self._decision(message, counts=counts)  # type: ignore[return-value]
            case CandidatesExtracted() if self._covers(message.covered):
                candidates = [self._blank(c) if self._is_of(c.pieces) else c for c in message.candidates]
                return replace(message, answer=None, dropped=[], candidates=candidates)
            case ExtractionRejected() if self._covers(message.covered):
                return replace(message, answer=None, reason=ERASED)
            case RememberFact() | ImportMemory() if message.envelope.event_id in self.item_ids:
                return self._blank(message)
            case ReviseMemory() if message.memory_id in self.memory_ids:
                return self._blank(message)
        return message

    def is_whole(self, message: object) -> bool:
        """Return whether a message must be erased as a whole: an observation, or a dead letter that contains words."""
        if isinstance(message, DeadLetter):
            try:
                held: object = codec.decode(message.value)
            except codec.Undecodable:
                return _event_of_json(message.value) in self.event_ids
            return self.is_whole(held) or self.without(held) is not held
        return isinstance(message, OBSERVATIONS) and message.envelope.event_id in self.event_ids

    def _decision(self, decision: Decision, *, counts: bool) -> Decision:
        gone = self.memory_ids
        if counts:
            gone = frozenset(one for one in gone if decision.version <= self.versions.get(one, decision.version))
        outcomes = [
            replace(one, reason=ERASED) if not gone.isdisjoint((one.memory_id, one.subject)) else one
            for one in decision.outcomes
        ]
        events = [self._event(event) for event in decision.events]
        if (outcomes, events) == (decision.outcomes, decision.events):
            return decision
        return replace(decision, outcomes=outcomes, events=events)

    def _event(self, data: bytes) -> bytes:
        event = codec.decode(data)
        if not isinstance(event, MEMORY_EVENTS) or event.memory_id not in self.memory_ids:
            return data
        blank = self._blank(event)
        return data if blank == event else codec.encode(blank)

    def _covers(self, covered: Iterable[CoveredPiece]) -> bool:
        return self._is_of(one.piece_id for one in covered)

    def _is_of(self, pieces: Iterable[str]) -> bool:
        return any(event_of_piece(piece) in self.event_ids for piece in pieces)

    def _blank(self, message: _Any) -> _Any:
        """Return a message with its sealed fields, and the hashes derived from them, emptied."""
        changes: dict[str, Any] = {}
        for one in fields(message):  # type: ignore[arg-type]
            if isinstance(getattr(message, one.name), Sealed):
                changes[one.name] = _NOTHING if one.default is not None else None
            elif one.name == "content_hash" and message.content_hash is not None:  # type: ignore[attr-defined]
                changes[one.name] = ""
        return replace(message, **changes)  # type: ignore[type-var]


def _event_of_json(data: bytes) -> object:
    """Return the id of an event that was published as JSON; None for anything else."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    event_id = found.get("event_id") if isinstance(found, dict) else None
    return event_id if isinstance(event_id, str) else None
