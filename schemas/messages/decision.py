"""The decision, the only record of the ledger: the answer to one item of the inbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schemas.messages.envelope import Envelope

MAX_CHANGES: Final = 1000
"""Events in one decision; more go on in the next part."""
REJECTED: Final = "rejected: "
"""What the reason of a window's outcome begins with when its extraction was rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one part of the item, and why."""

    subject: str
    """A candidate's number in the answer, or the memory that a command names."""
    action: str
    """formed reinforced revised superseded suppressed forgotten restored refused nothing decayed expired
    scheduled cancelled configured raised kept erased"""
    reason: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcomes and events of one inbox item for one user. The fold says whether it counts."""

    envelope: Envelope
    item_id: str
    item_type: str
    item_partition: int
    item_offset: int
    version: int
    """The user's version that this decision makes: it expects version - 1."""
    part: int = 1
    last_part: bool = True
    covered: list[str]
    """The pieces that need no extraction any more."""
    rejected: bool = False
    """The covered pieces could not be extracted, or only provisionally."""
    outcomes: list[Outcome]
    events: list[bytes]
    """Each the single-object encoding of a LedgerEvent."""
    previous: bytes | None = None
    """The hash of the user's previous decision as it was appended, empty for the first; None: it is not linked."""
    replaced: bytes | None = None
    """The hashes of what was appended here, where an erasure took words out: of the decision, then of the record."""

    @property
    def is_provisional(self) -> bool:
        """Return whether the rules answered in the model's place, and the model may be asked again."""
        return self.rejected and not any(outcome.reason.startswith(REJECTED) for outcome in self.outcomes)
