"""Reasons why a command is refused. An outcome's reason begins with one of these words; a sentence follows it."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """The closed list of words, which programs may compare."""

    UNKNOWN = "unknown"
    VERSION_MOVED = "version_moved"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"
    PROFILE_KEEPS = "profile_keeps"
    TOO_MANY = "too_many"

    def because(self, detail: str) -> str:
        """Return the reason of an outcome: this word and a detail."""
        return f"{self}: {detail}"


def refusal_of(reason: str) -> tuple[Refusal | None, str]:
    """Return the word with which a reason begins, and the detail; None and the whole reason without such a word."""
    word, _, detail = reason.partition(": ")
    known = next((refusal for refusal in Refusal if refusal == word), None)
    return (known, detail) if known and detail else (None, reason)
