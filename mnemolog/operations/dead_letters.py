"""Dead letters: records that could not be read or handled, to list, and to send back to their origin."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mnemolog.access.principal import Role
from schemas import codec
from schemas.identity import InvalidOwner, Owner
from schemas.instant import instant
from schemas.log import NewRecord, Position, RecordTooLarge
from schemas.messages.dead_letters import RETRIED, SENT_BACK_FROM, TOO_LARGE, DeadLetter, first_position
from schemas.topics import DEAD_LETTERS
from streams.delivery.dead_letter import letter_about

if TYPE_CHECKING:
    from collections.abc import Collection

    from mnemolog.access.principal import Principal
    from schemas.log import Log, Record

PREVIEW_BYTES: Final = 512
WITHHELD: Final = "withheld"


class DeadLetters:
    """The dead letters of all partitions, read from the log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def waiting(self) -> list[DeadLetter]:
        """Return the letters that were not sent back, oldest first in each partition.

        A record in the topic that is not a letter counts as a letter about itself.
        """
        return [letter for letter, _ in await self._waiting()]

    async def retry(self, ids: Collection[str] | None = None) -> list[str]:
        """Append letters (all, or those named) to their origins again; return the ids of those that were appended.

        Two concurrent calls, or a crash ahead of a durable note, append a record twice. Its header gives its first
        position, so that it counts once even if its bytes contain no id. Records that are not letters stay in place,
        and so do records that the log rejects, because only compression made them fit.
        """
        sent = []
        for letter, record in await self._waiting():
            if ids is not None and letter.envelope.event_id not in ids:
                continue
            if letter.topic == DEAD_LETTERS.name or letter.reason == TOO_LARGE:
                continue
            first = first_position(replace(record, position=Position(letter.topic, letter.partition, letter.offset)))
            again = NewRecord(
                topic=letter.topic,
                partition=letter.partition,
                key=letter.key,
                value=letter.value,
                headers=((SENT_BACK_FROM, first.encode()),),
            )
            note = NewRecord(
                topic=DEAD_LETTERS.name,
                partition=letter.partition % await self._log.partitions(DEAD_LETTERS.name),
                key=letter.key,
                value=codec.encode(replace(letter, reason=RETRIED, value=b"", detail="sent back")),
            )
            with suppress(RecordTooLarge):
                await self._log.append([again, note])
                sent.append(letter.envelope.event_id)
        return sent

    async def _waiting(self) -> list[tuple[DeadLetter, Record]]:
        """Return the letters that were not sent back, each with its record."""
        topic = DEAD_LETTERS.name
        waiting: dict[str, tuple[DeadLetter, Record]] = {}
        for partition in range(await self._log.partitions(topic)):
            start = await self._log.earliest(topic, partition)
            while records := await self._log.read(topic, partition, start):
                for record in records:
                    if record.is_erased:
                        continue
                    letter = letter_of(record)
                    if letter.reason == RETRIED:
                        waiting.pop(letter.envelope.event_id, None)
                    else:
                        waiting[letter.envelope.event_id] = letter, record
                start = records[-1].position.offset + 1
        return list(waiting.values())


def letter_of(record: Record) -> DeadLetter:
    """Return the dead letter in a record; a record that is not a letter becomes a letter about itself."""
    try:
        return codec.decode_as(record.value, DeadLetter)
    except codec.Undecodable as error:
        return letter_about(record, "decode", str(error))


def may_read(caller: Principal, letter: DeadLetter) -> bool:
    """Return whether a caller may see a letter's words: it reads the letter's user, or needs no key.

    An operator may send back letters that the operator may not read.
    """
    if caller.key_id is None:
        return True
    try:
        owner = Owner.of_key(letter.key or b"")
    except InvalidOwner:
        return False
    return Role.READ in caller.roles and owner.tenant == caller.tenant and caller.has_user(owner.user_id)


def view(letter: DeadLetter, *, shows_words: bool = True) -> dict[str, Any]:
    """Return a letter as JSON, with the beginning of its bytes as text if possible, else in base64.

    If its words are not shown, the value is empty, and its encoding and the detail are `withheld`, because the detail
    may quote the record, such as an unknown field.
    """
    begin = letter.value[:PREVIEW_BYTES]
    try:
        text, encoding = begin.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = b64encode(begin).decode(), "base64"
    if not shows_words:
        text, encoding = "", WITHHELD
    return {
        "id": letter.envelope.event_id,
        "position": f"{letter.topic}:{letter.partition}:{letter.offset}",
        "reason": letter.reason,
        "detail": letter.detail if shows_words else WITHHELD,
        "recorded_at": instant(letter.envelope.occurred_at),
        "key": None if letter.key is None else letter.key.decode(errors="replace"),
        "bytes": len(letter.value),
        "value": text,
        "encoding": encoding,
    }
