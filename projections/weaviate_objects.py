"""What an index entry is as an object in Weaviate, and back: values only.

Every token carries its user's mark, so that a word's postings are the user's own: in how many memories it occurs, and
with it its weight, follows no other user, and no search reads another user's postings.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID, uuid5

from projections.index import Hit
from schemas.identity import NAMESPACE, Owner
from schemas.topics import partition_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from projections.bm25 import Statistics
    from projections.index import IndexEntry, IndexQuery

Properties: TypeAlias = "Mapping[str, Any]"
COLUMNS: Final = ("agent_id", "kind", "category", "memory_type", "source_type")
_NOBODY: Final = ""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MARK_BYTES: Final = 9


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


def mark(tenant: str, user_id: str) -> str:
    """Return what stands before each of a user's tokens."""
    return base64.urlsafe_b64encode(owner_id(tenant, user_id).bytes[-_MARK_BYTES:]).decode() + ":"


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
    before = mark(entry.tenant, entry.user_id)
    return {
        "owner": owner_id(entry.tenant, entry.user_id).hex,
        "memory_id": entry.memory_id,
        "version": entry.version,
        "copy": copy,
        "tokens": " ".join(before + token for token in entry.tokens),
        "length": len(entry.tokens),
        "embedding_model": exactly(entry.embedding_model),
        "occurred_us": microseconds(entry.occurred_at),
        **{name: exactly(getattr(entry, name)) for name in COLUMNS},
    }


def passes(found: Properties, query: IndexQuery) -> bool:
    """Tell whether an object is the user's and passes the filters."""
    if found["owner"] != owner_id(query.tenant, query.user_id).hex:
        return False  # of another user whose mark is the same
    occurred = found["occurred_us"]
    return (
        all(found[name] in wanted for name, wanted in wanted_of(query).items())
        and (query.since is None or occurred >= microseconds(query.since))
        and (query.until is None or occurred <= microseconds(query.until))
    )


def wanted_of(query: IndexQuery) -> dict[str, list[str]]:
    """Return which stored values pass of each column that is filtered."""
    wanted = {name: [exactly(value)] for name in COLUMNS if (value := getattr(query, name)) is not None}
    if "agent_id" in wanted:
        wanted["agent_id"].append(_NOBODY)
    return wanted


def ordered(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return hits by score descending, then memory_id; of copies of one version one."""
    once = {(hit.memory_id, hit.version): hit for hit in hits}.values()
    return tuple(sorted(once, key=lambda hit: (-hit.score, hit.memory_id)))


def near(found: Properties, distance: float) -> Hit:
    """Return a hit of the semantic leg, rounded as in the embedded index, so that equals are told apart by id."""
    return Hit(found["memory_id"], int(found["version"]), round(1.0 - distance, 6))


def hits_of(found: Collection[Properties], query: IndexQuery, statistics: Statistics) -> tuple[Hit, ...]:
    """Score what is the user's and passes the filters, and return the best; `found` are all that have a word."""
    before = mark(query.tenant, query.user_id)
    words = [one["tokens"].split() for one in found]
    holding = {token: sum(token in each for each in words) for token in (before + token for token in query.tokens)}
    return ordered(
        Hit(one["memory_id"], int(one["version"]), statistics.score(each, holding))
        for one, each in zip(found, words, strict=True)
        if passes(one, query)
    )[: query.limit]
