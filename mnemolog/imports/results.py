"""Results of an import: the outcome of each line, as the answer shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.messages.decision import Decision, Outcome

Result: TypeAlias = dict[str, Any]
"""The result of one line: `{memory_id, action, reason}`."""

WAITING: Final = "waiting"
"""The action of a line whose command is in the log but not decided yet."""
WAITING_REASON: Final = "the log has it; it will be decided"
BEFORE: Final = "imported before"


def result(memory_id: str | None, action: str, reason: str) -> Result:
    """Return the result of a line."""
    return {"memory_id": memory_id, "action": action, "reason": reason}


def outcome_of(decisions: Iterable[Decision]) -> Outcome | None:
    """Return the first outcome in the decisions of a command; None if there is none yet."""
    return next((outcome for decision in decisions for outcome in decision.outcomes), None)
