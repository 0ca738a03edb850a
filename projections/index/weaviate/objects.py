"""Objects in Weaviate: the properties of an index entry, and the values that pass a filter. Pure functions only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from projections.index.remote.object_ids import owner_id
from schemas.instant import microseconds

if TYPE_CHECKING:
    from projections.index.protocol import IndexEntry, IndexQuery

COLUMNS: Final = ("agent_id", "kind", "category", "memory_type", "source_type")
_NO_VALUE: Final = ""


def exactly(value: str | None) -> str:
    """Return a value as it is stored: Weaviate drops white space at the ends, and None must not be a value."""
    return _NO_VALUE if value is None else f"={value}="


def object_properties(entry: IndexEntry, copy: int) -> dict[str, Any]:
    """Return the properties of an entry's object."""
    return {
        "owner": owner_id(entry.tenant, entry.user_id).hex,
        "memory_id": entry.memory_id,
        "version": entry.version,
        "copy": copy,
        "embedding_model": exactly(entry.embedding_model),
        "occurred_us": microseconds(entry.occurred_at),
        **{name: exactly(getattr(entry, name)) for name in COLUMNS},
    }


def accepted_values(query: IndexQuery) -> dict[str, list[str]]:
    """Return the stored values that pass the query, for each column that it filters."""
    accepted = {name: [exactly(value)] for name in COLUMNS if (value := getattr(query, name)) is not None}
    if "agent_id" in accepted:
        accepted["agent_id"].append(_NO_VALUE)
    return accepted
