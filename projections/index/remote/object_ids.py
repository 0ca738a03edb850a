"""Object ids: names of users, partitions and memories on a server, in characters that any server accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from schemas.identity import NAMESPACE, Owner
from schemas.topics import partition_of

if TYPE_CHECKING:
    from projections.index.protocol import IndexEntry


def owner_id(tenant: str, user_id: str) -> UUID:
    """Return the id of a user on the server, whatever characters the user's own id has."""
    return uuid5(NAMESPACE, f"index of {tenant}/{user_id}")


def object_id(entry: IndexEntry, copy: int) -> UUID:
    """Return the id of an object. Each version of a memory, and each copy of a version, has its own.

    So even without conditional writes a newer object is never overwritten: each writer writes objects of its own and
    deletes by id those that it has read.
    """
    return uuid5(owner_id(entry.tenant, entry.user_id), f"{entry.memory_id} at {entry.version}, copy {copy}")


def partition_name(tenant: str, user_id: str, partitions: int) -> str:
    """Return the name of the partition that holds a user; global memories have one of their own."""
    owner = Owner(tenant, user_id)
    return "globals" if owner.is_global else f"p{partition_of(owner.key, partitions)}of{partitions}"
