"""Ids that are derived from words: without the keys nobody can try a guess at the words."""

from __future__ import annotations

from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING

from schemas.identity import derived_id
from schemas.topics import INBOX, INPUTS
from streams.sealing.user_keys import IDS

if TYPE_CHECKING:
    from schemas.log import Log
    from streams.sealing.user_keys import UserKeys

_PURPOSE = "ids of turns"
"""The turns' were the first, and their ids must stay."""


class WordIds:
    """Derives the same id of the same words in the same place, at every worker, also after the master key changed.

    A key goes in where one was prepared, which is so with `ENCRYPTION=strict`: ids, and with them digests, are then
    those of this installation alone. One that has turns or commands goes on with the ids that it has: whoever sends a
    whole context or a file again would else have everything twice.
    """

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys
        self._key: bytes | None = None

    async def prepare(self, log: Log) -> None:
        """Make the key, if there is none and there are nothing in the log yet. Raises LogError."""
        if self._keys.has_key(IDS):
            return
        for topic in (*INPUTS, INBOX):
            for partition in range(await log.partitions(topic.name)):
                if await log.end(topic.name, partition):
                    return
        await self._keys.make([IDS])

    def derive(self, kind: str, *cause: object) -> str:
        """Return the id of a turn or a line from its kind, its place, its words, and which of these it is there."""
        key = self._secret()
        return derived_id(kind, *cause) if key is None else derived_id(kind, _hash(key, "\x1f".join(map(str, cause))))

    def hide(self, name: str) -> str:
        """Return a name that may be words, or be derived from some; where there is a key, a hash stands for it."""
        key = self._secret()
        return name if key is None else _hash(key, f"name\x1f{name}")

    def _secret(self) -> bytes | None:
        if self._key is None and self._keys.has_key(IDS):
            self._key = self._keys.derive(_PURPOSE, of=IDS)
        return self._key


def _hash(key: bytes, words: str) -> str:
    return digest(key, words.encode(), sha256).hex()
