"""Results of an import: what each line led to, as the answer shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.messages.decision import Decision, Outcome

Result: TypeAlias = dict[str, Any]
"""`{memory_id, action, reason}` of one line."""

WAITING: Final = "waiting"
"""The action of a line that the log has and that is not decided yet."""
WAITING_REASON: Final = "the log has it; it will be decided"
BEFORE: Final = "imported before"


def result(memory_id: str | None, action: str, reason: str) -> Result:
    """Return what a line led to."""
    return {"memory_id": memory_id, "action": action, "reason": reason}


def outcome_of(decisions: Iterable[Decision]) -> Outcome | None:
    """Return the first outcome of a command's decisions, None while it has none."""
    return next((outcome for decision in decisions for outcome in decision.outcomes), None)
