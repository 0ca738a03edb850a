"""Validity: the span in which the statement of a memory was true, as far as the user's statements tell."""

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
    """Return the begin and end of the validity of a memory; `memories` are the user's, by id.

    A memory is valid from when it was said or happened until the memory that superseded it begins. If that one begins
    earlier, both ends are its begin. Only memories with an attribute and superseded ones have a validity; others return
    (None, None). The end is None if it has not come, or if the newer memory is no longer known.
    """
    if memory.stated is None and memory.status != SUPERSEDED:
        return None, None
    newer = memories.get(memory.superseded_by) if memory.status == SUPERSEDED and memory.superseded_by else None
    if newer is None:
        return memory.occurred_at, None
    return min(memory.occurred_at, newer.occurred_at), newer.occurred_at


def dated_view(owner: Owner, memory: Memory, memories: Mapping[str, Memory], as_of: datetime) -> dict[str, Any]:
    """Return the `memory_view` of a memory, with the begin and end of its validity."""
    begin, end = validity(memory, memories)
    return memory_view(owner, memory, as_of) | {"valid_from": instant(begin), "valid_to": instant(end)}
