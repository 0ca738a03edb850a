"""Puts aside what cannot be read or handled, with its bytes and why, so that nothing is lost and nothing stops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas import codec
from schemas.identity import InvalidOwner, Owner, derived_id
from schemas.log import NewRecord, RecordTooLarge
from schemas.messages.dead_letters import SENT_BACK_FROM, TOO_LARGE, DeadLetter
from schemas.messages.envelope import Envelope
from schemas.topics import DEAD_LETTERS
from streams.delivery.retry import append_patiently

if TYPE_CHECKING:
    from schemas.log import Log, Record

KEPT_BYTES: Final = 64 * 1024
"""Of a record that no letter can hold."""


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
    where = record.position.partition % await log.partitions(DEAD_LETTERS.name)
    try:
        await append_patiently(log, [_spelt(letter, where, record)])
    except RecordTooLarge:  # it came compressed
        await append_patiently(log, [_spelt(_shortened(letter), where, record)])


def _spelt(letter: DeadLetter, partition: int, record: Record) -> NewRecord:
    sent_back = tuple(header for header in record.headers if header[0] == SENT_BACK_FROM)
    value = codec.encode(letter)
    return NewRecord(topic=DEAD_LETTERS.name, partition=partition, key=letter.key, value=value, headers=sent_back)


def _shortened(letter: DeadLetter) -> DeadLetter:
    key, size = letter.key and letter.key[:KEPT_BYTES], len(letter.value)
    detail = f"{letter.reason}, and its {size} bytes do not fit in a letter, which holds the first: {letter.detail}"
    return replace(letter, key=key, value=letter.value[:KEPT_BYTES], reason=TOO_LARGE, detail=detail[:2000])
