"""States that are known before they are folded: who makes a decision knows what it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from projections.state.memory import UserState
    from schemas.messages.decision import Decision

MOST: Final = 1_000
"""Decisions that wait for their fold."""


class _Foreseen(NamedTuple):
    state: UserState
    decision: Decision
    after: UserState


class ForeseenStates:
    """The states after decisions that are not folded yet, so that folding need not compute them again.

    One serves if the very same decision is folded on the very same state; else, and when it was asked for, it is gone.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._by_decision: dict[str, _Foreseen] = {}

    def add(self, state: UserState, decision: Decision, after: UserState) -> None:
        """Keep the state after a decision on a state."""
        if len(self._by_decision) >= MOST:
            self._by_decision.clear()
        self._by_decision[decision.envelope.event_id] = _Foreseen(state, decision, after)

    def take(self, state: UserState, decision: Decision) -> UserState | None:
        """Return the state after a decision on a state, and forget it; None where it is not known."""
        found = self._by_decision.pop(decision.envelope.event_id, None)
        return found.after if found is not None and found.state is state and found.decision is decision else None

    def clear(self) -> None:
        """Forget all: they may hold what was erased."""
        self._by_decision.clear()
