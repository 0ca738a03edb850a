"""Puts aside what cannot be read or handled, with its bytes and why, so that nothing is lost and nothing stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas import codec
from schemas.dead_letters import DeadLetter
from schemas.envelope import Envelope
from schemas.identity import InvalidOwner, Owner, derived_id
from schemas.log import NewRecord
from schemas.topics import DEAD_LETTERS
from streams.patience import append_patiently

if TYPE_CHECKING:
    from schemas.log import Log, Record


def letter_about(record: Record, reason: str, detail: str) -> DeadLetter:
    """Return the letter about a record: the same position always has the same id."""
    position = record.position
    try:
        owner = Owner.of_key(record.key or b"")
    except InvalidOwner:
        owner = Owner("default", "")
    return DeadLetter(
        envelope=Envelope(
            event_id=derived_id("dead-letter", position),
            tenant=owner.tenant,
            user_id=owner.user_id,
            occurred_at=record.recorded_at,
        ),
        topic=position.topic,
        partition=position.partition,
        offset=position.offset,
        key=record.key,
        value=record.value,
        reason=reason,
        detail=detail[:2000],
    )


async def put_aside(log: Log, record: Record, reason: str, detail: str) -> None:
    """Append a record to the dead letters; return when it is durable there."""
    letter = letter_about(record, reason, detail)
    topic, key = DEAD_LETTERS.name, record.key
    where = record.position.partition % await log.partitions(topic)
    await append_patiently(log, [NewRecord(topic=topic, partition=where, key=key, value=codec.encode(letter))])
