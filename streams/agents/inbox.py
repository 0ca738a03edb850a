"""An inbox record as its owner and item, checked before anything is decided on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.embedding.stored_vector import NoVector, vector_of
from schemas import codec
from schemas.identity import InvalidOwner, Owner, partition_owner
from schemas.messages.inbox import INBOX_ITEMS, CandidatesExtracted, ImportMemory, RememberFact, ReviseMemory, Tick
from schemas.messages.wakes import ConfigureWake, ScheduleReminder

if TYPE_CHECKING:
    from schemas.log import Record
    from schemas.messages.inbox import InboxItem


def item_of_record(record: Record, partitions: int) -> tuple[Owner, InboxItem]:
    """Return a record's owner and item. Raises Undecodable (UnknownSchema among it) and InvalidOwner."""
    item = codec.decode_as(record.value, *INBOX_ITEMS)
    owner = Owner.of_key(record.key or b"")
    _check_owner(owner, item, partitions)
    _check_vectors(item)
    return owner, item


def _check_owner(owner: Owner, item: InboxItem, partitions: int) -> None:
    """Check that the key names the item's owner: a partition for a tick, a user otherwise. Raises InvalidOwner."""
    if owner != item.envelope.owner:
        raise InvalidOwner(f"the key is {owner.key.decode()!r}, the body says {item.envelope.owner}")
    if isinstance(item, Tick) != owner.is_partition:
        raise InvalidOwner(f"{owner.key.decode()!r} cannot have a {type(item).__name__}")
    if owner.is_partition and owner not in map(partition_owner, range(partitions)):
        raise InvalidOwner(f"there is no partition {owner.user_id!r}")


def _check_vectors(item: InboxItem) -> None:
    """Check that vectors are of finite numbers: the index could not hold others. Raises Undecodable."""
    match item:
        case CandidatesExtracted():
            vectors = [candidate.vector for candidate in item.candidates]
        case RememberFact() | ReviseMemory() | ImportMemory() | ScheduleReminder() | ConfigureWake():
            vectors = [item.vector] if item.vector else []
        case _:
            return
    for vector in vectors:
        try:
            vector_of(vector.data)
        except NoVector as error:
            raise codec.Undecodable(str(error)) from error
