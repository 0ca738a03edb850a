"""Validity: from when to when what a memory says was so, as far as what the user said tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from projections.queries.views import memory_view
from projections.state.memory import SUPERSEDED
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from projections.state.memory import Memory
    from schemas.identity import Owner


def validity(memory: Memory, memories: Mapping[str, Memory]) -> tuple[datetime | None, datetime | None]:
    """Return from when a memory is true and until when; `memories` are the user's, by id.

    From when it was said, or happened; until the memory that superseded it begins, and from then at the latest: what
    began before the older one was said ended it before that. Only of memories with an attribute, and of superseded
    ones: of others nothing is known. None for an end that has not come, or that is not known here any more.
    """
    if memory.stated is None and memory.status != SUPERSEDED:
        return None, None
    newer = memories.get(memory.superseded_by) if memory.status == SUPERSEDED and memory.superseded_by else None
    if newer is None:
        return memory.occurred_at, None
    return min(memory.occurred_at, newer.occurred_at), newer.occurred_at


def dated_view(owner: Owner, memory: Memory, memories: Mapping[str, Memory], as_of: datetime) -> dict[str, Any]:
    """Return a memory as `memory_view` shows it, with the instants between which it is true."""
    begin, end = validity(memory, memories)
    return memory_view(owner, memory, as_of) | {"valid_from": instant(begin), "valid_to": instant(end)}
