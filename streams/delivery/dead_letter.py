"""Dead letters: records that cannot be read or handled, kept with their bytes and the reason. Agents skip them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas import codec
from schemas.identity import InvalidOwner, Owner, derived_id
from schemas.inputs.decoding import speaker
from schemas.log import NewRecord, RecordTooLarge
from schemas.messages.dead_letters import TOO_LARGE, DeadLetter, headers_in_clear
from schemas.messages.envelope import Envelope
from schemas.topics import DEAD_LETTERS, INPUTS
from streams.delivery.retry import append_with_retry

if TYPE_CHECKING:
    from schemas.log import Log, Record

_INPUTS: Final = frozenset(topic.name for topic in INPUTS)
KEPT_BYTES: Final = 64 * 1024
"""How many bytes a letter keeps of a record that is too large for it."""


def letter_about(record: Record, reason: str, detail: str) -> DeadLetter:
    """Return the dead letter for a record; the same position always gives the same id."""
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
    """Append a record to the dead letters; return when it is durable there. Waits while the log is down."""
    letter = letter_about(record, reason, detail)
    partition = record.position.partition % await log.partitions(DEAD_LETTERS.name)
    try:
        await append_with_retry(log, [_record_of(letter, partition, record)])
    except RecordTooLarge:  # it arrived compressed, and is larger uncompressed
        await append_with_retry(log, [_record_of(_truncated(letter), partition, record)])


def _record_of(letter: DeadLetter, partition: int, record: Record) -> NewRecord:
    """Return a letter as a record, with the original position in its headers if it was sent back before.

    Its key is that of the user whose words it contains, whatever key the record had, so that it is erased with the
    user.
    """
    sent_back = headers_in_clear(record.headers)
    value, key = codec.encode(letter), letter.key
    if record.position.topic in _INPUTS and (owner := speaker(record)) is not None:
        key = owner.key
    return NewRecord(topic=DEAD_LETTERS.name, partition=partition, key=key, value=value, headers=sent_back)


def _truncated(letter: DeadLetter) -> DeadLetter:
    key = letter.key and letter.key[:KEPT_BYTES]
    size = len(letter.value)
    detail = f"{letter.reason}, and its {size} bytes do not fit in a letter, which holds the first: {letter.detail}"
    return replace(letter, key=key, value=letter.value[:KEPT_BYTES], reason=TOO_LARGE, detail=detail[:2000])
