"""What an index entry is as an object in Weaviate, and back: values only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID, uuid5

from projections.index.protocol import Hit
from schemas.identity import NAMESPACE, Owner
from schemas.topics import partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from projections.index.protocol import IndexEntry, IndexQuery

Properties: TypeAlias = "Mapping[str, Any]"
COLUMNS: Final = ("agent_id", "kind", "category", "memory_type", "source_type")
_NOBODY: Final = ""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def owner_id(tenant: str, user_id: str) -> UUID:
    """Return an id of the user that any Weaviate property can hold, whatever characters the user's has."""
    return uuid5(NAMESPACE, f"index of {tenant}/{user_id}")


def object_id(entry: IndexEntry, copy: int) -> UUID:
    """Return the id of an object: the same memory at another version, or another copy of this one, is another."""
    return uuid5(owner_id(entry.tenant, entry.user_id), f"{entry.memory_id} at {entry.version}, copy {copy}")


def partition_tenant(tenant: str, user_id: str, partitions: int) -> str:
    """Return the Weaviate tenant that holds a user: one for each partition, and one for global memories."""
    owner = Owner(tenant, user_id)
    return "globals" if owner.is_global else f"p{partition_of(owner.key, partitions)}of{partitions}"


def exactly(value: str | None) -> str:
    """Return a value as it is stored: Weaviate drops white space at the ends, and None must not be a value."""
    return _NOBODY if value is None else f"={value}="


def microseconds(moment: datetime) -> int:
    """Return microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def by_tenant(entries: Iterable[IndexEntry], partitions: int, most: int) -> Iterator[tuple[str, list[IndexEntry]]]:
    """Yield the latest version of each memory in batches of one Weaviate tenant, at most so many in each."""

    def tenant(entry: IndexEntry) -> str:
        return partition_tenant(entry.tenant, entry.user_id, partitions)

    for name, some in groupby(sorted(newest(entries), key=tenant), tenant):
        theirs = list(some)
        for start in range(0, len(theirs), most):
            yield name, theirs[start : start + most]


def newest(entries: Iterable[IndexEntry]) -> list[IndexEntry]:
    """Return the latest version of each memory."""
    found: dict[tuple[str, str, str], IndexEntry] = {}
    for entry in entries:
        key = (entry.tenant, entry.user_id, entry.memory_id)
        if key not in found or found[key].version < entry.version:
            found[key] = entry
    return list(found.values())


def properties(entry: IndexEntry, copy: int) -> dict[str, Any]:
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


def wanted_of(query: IndexQuery) -> dict[str, list[str]]:
    """Return which stored values pass of each column that is filtered."""
    wanted = {name: [exactly(value)] for name in COLUMNS if (value := getattr(query, name)) is not None}
    if "agent_id" in wanted:
        wanted["agent_id"].append(_NOBODY)
    return wanted


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits by score descending, then memory_id; of copies of one version one."""
    once = {(hit.memory_id, hit.version): hit for hit in hits}.values()
    return sorted(once, key=lambda hit: (-hit.score, hit.memory_id))


def near(found: Properties, distance: float) -> Hit:
    """Return a hit of the semantic leg, rounded as in the embedded index, so that equals are told apart by id."""
    return Hit(found["memory_id"], int(found["version"]), round(1.0 - distance, 6))
