"""The instructions that turns bring for their own extraction, which follow those of the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from schemas.messages.observations import MAX_INSTRUCTIONS_CHARACTERS
from schemas.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streams.extraction.protocol import Piece


def with_own_instructions(policy: Policy | None, pieces: Iterable[Piece]) -> Policy | None:
    """Return a policy with the instructions of a window's pieces added to its own, each text once.

    Of all that are added, the first MAX_INSTRUCTIONS_CHARACTERS are read. What the policy forbids stays forbidden.
    """
    said = dict.fromkeys(text for piece in pieces if (text := (piece.instructions or "").strip()))
    if not said:
        return policy
    known = policy or Policy()
    own = "\n".join(said)[:MAX_INSTRUCTIONS_CHARACTERS]
    return replace(known, instructions="\n".join(filter(None, (known.instructions, own))))
