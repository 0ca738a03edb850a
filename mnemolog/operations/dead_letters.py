"""Dead letters: what could not be read or handled, listed, and sent back where it came from."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from schemas import codec
from schemas.instant import instant
from schemas.log import NewRecord, Position, RecordTooLarge
from schemas.messages.dead_letters import RETRIED, SENT_BACK_FROM, TOO_LARGE, DeadLetter, first_position
from schemas.topics import DEAD_LETTERS
from streams.delivery.dead_letter import letter_about

if TYPE_CHECKING:
    from collections.abc import Collection

    from schemas.log import Log, Record

PREVIEW_BYTES: Final = 512


async def letters(log: Log) -> list[DeadLetter]:
    """Return the dead letters that were not sent back, oldest first in each partition.

    What stands in the topic and is no letter is one about itself.
    """
    return [letter for letter, _ in await _waiting(log)]


async def _waiting(log: Log) -> list[tuple[DeadLetter, Record]]:
    """Return the letters that were not sent back, each with the record that it came in."""
    topic = DEAD_LETTERS.name
    found: dict[str, tuple[DeadLetter, Record]] = {}
    for partition in range(await log.partitions(topic)):
        start = await log.earliest(topic, partition)
        while records := await log.read(topic, partition, start):
            for record in records:
                letter = letter_of(record)
                if letter.reason == RETRIED:
                    found.pop(letter.envelope.event_id, None)
                else:
                    found[letter.envelope.event_id] = letter, record
            start = records[-1].position.offset + 1
    return list(found.values())


def letter_of(record: Record) -> DeadLetter:
    """Return a dead letter; a record that is none is one itself."""
    try:
        return codec.decode_as(record.value, DeadLetter)
    except codec.Undecodable as error:
        return letter_about(record, "decode", str(error))


def view(letter: DeadLetter) -> dict[str, Any]:
    """Return a letter as JSON, with the beginning of its bytes as text where they are text, else in base64."""
    begin = letter.value[:PREVIEW_BYTES]
    try:
        text, encoding = begin.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = b64encode(begin).decode(), "base64"
    return {
        "id": letter.envelope.event_id,
        "position": f"{letter.topic}:{letter.partition}:{letter.offset}",
        "reason": letter.reason,
        "detail": letter.detail,
        "recorded_at": instant(letter.envelope.occurred_at),
        "key": None if letter.key is None else letter.key.decode(errors="replace"),
        "bytes": len(letter.value),
        "value": text,
        "encoding": encoding,
    }


async def retry(log: Log, ids: Collection[str] | None = None) -> list[str]:
    """Append letters (all, or those named) to where they came from again; return the ids of those that were.

    Two that do this at once, or one that dies before its note is durable, append a record twice: it says where it stood
    first, so that it counts once also where its bytes name no id.
    What is no letter stays where it is, and so does what the log does not take: only compressed did it come so large.
    """
    sent = []
    for letter, record in await _waiting(log):
        if ids is not None and letter.envelope.event_id not in ids:
            continue
        if letter.topic == DEAD_LETTERS.name or letter.reason == TOO_LARGE:
            continue
        first = first_position(replace(record, position=Position(letter.topic, letter.partition, letter.offset)))
        headers = ((SENT_BACK_FROM, first.encode()),)
        note = replace(letter, reason=RETRIED, value=b"", detail="sent back")
        where = letter.partition % await log.partitions(DEAD_LETTERS.name)
        with suppress(RecordTooLarge):
            await log.append(
                [
                    NewRecord(
                        topic=letter.topic,
                        partition=letter.partition,
                        key=letter.key,
                        value=letter.value,
                        headers=headers,
                    ),
                    NewRecord(topic=DEAD_LETTERS.name, partition=where, key=letter.key, value=codec.encode(note)),
                ]
            )
            sent.append(letter.envelope.event_id)
    return sent
