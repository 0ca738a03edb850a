"""Instructions that observations bring for their own extraction, behind those of the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from schemas.messages.observations import INSTRUCTIONS
from schemas.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streams.extraction.protocol import Piece

MAX_CHARACTERS: Final = 4_000
"""Of all instructions of a window together, as many as a policy may have; what is beyond is not read."""


def with_own_instructions(policy: Policy | None, pieces: Iterable[Piece]) -> Policy | None:
    """Return a policy with what the metadata of a window's pieces say to the model besides, each text once.

    What the policy forbids stays forbidden.
    """
    said = dict.fromkeys(text for piece in pieces if (text := _instructions(piece.metadata)))
    if not said:
        return policy
    known = policy or Policy()
    own = "\n".join(said)[:MAX_CHARACTERS]
    return replace(known, instructions="\n".join(filter(None, (known.instructions, own))))


def _instructions(metadata: str) -> str:
    if INSTRUCTIONS not in metadata:
        return ""
    said = orjson.loads(metadata).get(INSTRUCTIONS)
    return said.strip() if isinstance(said, str) else ""
