"""What is said: numbered facts, each once, each session ended by its own event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container

USERS = 100
FULL, SHORT = 4_000, 400
TURNS_IN_SESSION = 10
BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
MODEL_SETTINGS = {
    "EXTRACTOR": "model",
    "LLM_MODEL": "word-for-word",
    "LLM_API_KEY": "none",
    "DECAY_POLICY": "off",
    "IDLE_SECONDS": "600",
    "LOG_LEVEL": "info",
}
"""Of every run that is compared: each turn answered by itself, no tick, no session that ends by waiting."""


@dataclass(frozen=True)
class Workload:
    """So many observations, evenly of all users."""

    observations: int
    users: int = USERS

    @property
    def facts(self) -> int:
        """Return how many facts each user states."""
        return self.observations // self.users

    @property
    def is_short(self) -> bool:
        """Tell whether this is the form for every day."""
        return self.observations <= SHORT

    def user(self, number: int) -> str:
        """Return the id of a user, from 0."""
        return f"user-{number}"

    def said(self, number: int, turns: Container[str]) -> set[str]:
        """Return the facts that a user has stated in these turns."""
        return {text(number, fact) for fact in range(self.facts) if event_id(number, fact) in turns}

    def sessions(self, number: int) -> list[list[dict[str, Any]]]:
        """Return the sessions of a user in order, each its turns and its end."""
        user, found = self.user(number), list[list[dict[str, Any]]]()
        for first in range(0, self.facts, TURNS_IN_SESSION):
            facts = range(first, min(first + TURNS_IN_SESSION, self.facts))
            session = f"{user}-s{first}"
            turns = [
                {
                    "type": "TurnRecorded",
                    "event_id": event_id(number, fact),
                    "user_id": user,
                    "session_id": session,
                    "role": "user",
                    "content": text(number, fact),
                    "occurred_at": (BEGIN + timedelta(seconds=fact)).isoformat(),
                }
                for fact in facts
            ]
            end = {
                "type": "SessionEnded",
                "event_id": f"{session}-end",
                "user_id": user,
                "session_id": session,
                "occurred_at": (BEGIN + timedelta(seconds=facts[-1])).isoformat(),
            }
            found.append([*turns, end])
        return found


def text(user: int, fact: int) -> str:
    """Return a fact; another number is another fact, for the check of near duplicates too."""
    return f"Fact {fact} of user {user}: the box {fact} on shelf {user} holds {fact * 100 + user} stones"


def event_id(user: int, fact: int) -> str:
    """Return the id of the turn that states a fact."""
    return f"u{user}-f{fact}"


def place_of(turn: str) -> tuple[int, int]:
    """Return the user and the number of the fact that a turn of that id states."""
    user, _, fact = turn.removeprefix("u").partition("-f")
    return int(user), int(fact)
