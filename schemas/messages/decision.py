"""The decision, the only record of the ledger: the answer to one item of the inbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schemas.messages.envelope import Envelope

MAX_CHANGES: Final = 1000
"""The most events in one part of a decision; further events are in the next part."""
REJECTED: Final = "rejected: "
"""The beginning of the reason in the outcome of a window whose extraction was rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the decision did with one subject of its inbox item, and why."""

    subject: str
    """The number of a candidate in the answer, or the id of the memory that a command names."""
    action: str
    """formed reinforced revised superseded suppressed forgotten restored refused nothing decayed expired
    scheduled cancelled configured raised kept erased"""
    reason: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcomes and events of one inbox item for one user. The fold determines whether it counts."""

    envelope: Envelope
    item_id: str
    item_type: str
    item_partition: int
    item_offset: int
    version: int
    """The user's version after this decision; before it, the user must have version - 1."""
    part: int = 1
    last_part: bool = True
    covered: list[str]
    """The pieces that need no extraction any more."""
    rejected: bool = False
    """Whether the covered pieces could not be extracted, or only provisionally."""
    outcomes: list[Outcome]
    events: list[bytes]
    """Each is the single-object encoding of a LedgerEvent."""
    previous: bytes | None = None
    """The hash of the user's previous decision as it was appended; empty for the first, None if it is not linked."""
    replaced: bytes | None = None
    """If an erasure removed words: the hashes of what was appended here, of the decision and then of the record."""

    @property
    def is_provisional(self) -> bool:
        """Whether the rules answered in place of the model, so that the model may be asked again."""
        return self.rejected and not any(outcome.reason.startswith(REJECTED) for outcome in self.outcomes)
