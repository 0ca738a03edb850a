"""The users of benchmarks: their texts, and the decisions that form their memories."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from schemas import codec
from schemas.messages.decision import MAX_CHANGES, Decision
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.events import MemoryFormed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from schemas.identity import Owner

AGENT: Final = "luna"
MODEL: Final = "bench"
"""The name of the encoder that made the vectors."""
WORDS: Final = (
    "apple", "bakery", "balcony", "bicycle", "blanket", "boat", "bridge", "brother", "camera", "candle",
    "castle", "choir", "concert", "desert", "doctor", "echo", "engine", "festival", "forest", "garden",
    "glacier", "guitar", "harbor", "harbour", "island", "jungle", "kettle", "kitchen", "ladder", "lantern",
    "lemon", "letter", "library", "marathon", "market", "meadow", "mountain", "museum", "needle", "neighbour",
    "novel", "oasis", "orchard", "painter", "pencil", "pepper", "puppy", "quarry", "recipe", "ribbon", "river",
    "saddle", "sailor", "station", "suitcase", "tea", "teacher", "temple", "ticket", "train", "umbrella",
    "valley", "village", "violin", "willow", "window", "winter", "yogurt", "zipper",
)  # fmt: skip


def turn(number: int) -> str:
    """Return a text of nine words that is unique to its number, and the same each time."""
    return f"{' '.join(random.Random(number).sample(WORDS, 9))}, note {number}"  # noqa: S311 - they only differ


def formed(owner: Owner, number: int, content: str, vector: bytes, at: datetime) -> MemoryFormed:
    """Return the event that forms a user's memory with this number, a plain fact."""
    return MemoryFormed(
        envelope=Envelope(event_id="", tenant=owner.tenant, user_id=owner.user_id, agent_id=AGENT, occurred_at=at),
        memory_id=f"{owner.user_id}-{number:08}",
        scope="personal",
        kind="semantic",
        memory_type="long_term",
        category="fact",
        content=Sealed.clear(content),
        content_hash="",
        vector=Sealed.clear(vector),
        embedding_model=MODEL,
        importance=0.5,
        source_type="chat",
        source_ids=[],
        pieces=[],
        happened_at=at,
        formed_at=at,
    )


def import_decisions(owner: Owner, memories: Iterable[MemoryFormed], at: datetime) -> list[Decision]:
    """Return the decisions that form memories, at most MAX_CHANGES in each."""
    events, found = [codec.encode(memory) for memory in memories], []
    envelope = Envelope(event_id="", tenant=owner.tenant, user_id=owner.user_id, agent_id=AGENT, occurred_at=at)
    for version, start in enumerate(range(0, len(events), MAX_CHANGES), 1):
        decision = Decision(
            envelope=envelope,
            item_id=f"{owner.user_id}-{version}",
            item_type="ImportMemory",
            item_partition=0,
            item_offset=version,
            version=version,
            covered=[],
            outcomes=[],
            events=events[start : start + MAX_CHANGES],
        )
        found.append(decision)
    return found
