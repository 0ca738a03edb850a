"""Dead letters: records that could not be read or handled, listed, and sent back where they came from."""

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
    """The dead letters of all partitions, as the log has them."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def waiting(self) -> list[DeadLetter]:
        """Return the letters that were not sent back, oldest first in each partition.

        What stands in the topic and is no letter is one about itself.
        """
        return [letter for letter, _ in await self._waiting()]

    async def retry(self, ids: Collection[str] | None = None) -> list[str]:
        """Append letters (all, or those named) to where they came from again; return the ids of those that were.

        Two calls at once, or one that dies before its note is durable, append a record twice: its header says where it
        stood first, so that it counts once also where its bytes name no id. What is no letter stays where it is, and so
        does what the log does not take: only compressed did it come so large.
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
        """Return the letters that were not sent back, each with the record that it came in."""
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
    """Return a dead letter; a record that is none is one itself."""
    try:
        return codec.decode_as(record.value, DeadLetter)
    except codec.Undecodable as error:
        return letter_about(record, "decode", str(error))


def may_read(caller: Principal, letter: DeadLetter) -> bool:
    """Return whether a caller may see a letter's words: a reader of the user that its key names, and who needs no key.

    An operator may send back letters that only their own readers may read.
    """
    if caller.key_id is None:
        return True
    try:
        owner = Owner.of_key(letter.key or b"")
    except InvalidOwner:
        return False
    return Role.READ in caller.roles and owner.tenant == caller.tenant and caller.has_user(owner.user_id)


def view(letter: DeadLetter, *, shows_words: bool = True) -> dict[str, Any]:
    """Return a letter as JSON, with the beginning of its bytes as text where they are text, else in base64.

    Where its words are not shown the value is empty, its encoding `withheld`, and the detail too: it may name what
    stands in the record, such as a field that nobody knows.
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
