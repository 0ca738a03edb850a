"""Hits of a server's answer, rounded and ordered as the embedded index does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.index.protocol import SCORE_DIGITS, Hit

if TYPE_CHECKING:
    from collections.abc import Iterable


def semantic_hit(memory_id: str, version: int, cosine: float) -> Hit:
    """Return a hit of the semantic leg; its score is rounded, so that ties are broken by id."""
    return Hit(memory_id, version, round(cosine, SCORE_DIGITS))


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits by score descending, then memory_id, without further copies of the same version."""
    once = {(hit.memory_id, hit.version): hit for hit in hits}.values()
    return sorted(once, key=lambda hit: (-hit.score, hit.memory_id))
