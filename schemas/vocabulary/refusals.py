"""Reasons why a command is refused. An outcome's reason begins with the word, for programs; a sentence follows."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """The closed list of words."""

    UNKNOWN = "unknown"
    VERSION_MOVED = "version_moved"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"
    PROFILE_KEEPS = "profile_keeps"
    TOO_MANY = "too_many"

    def because(self, detail: str) -> str:
        """Return the reason of an outcome."""
        return f"{self}: {detail}"


def refusal_of(reason: str) -> tuple[Refusal | None, str]:
    """Return the word that a reason begins with and what follows; without one of ours all of it follows."""
    word, _, detail = reason.partition(": ")
    known = next((refusal for refusal in Refusal if refusal == word), None)
    return (known, detail) if known and detail else (None, reason)
