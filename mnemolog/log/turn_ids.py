"""Ids of turns that are derived from their words: without the keys nobody can try a guess at the words."""

from __future__ import annotations

from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING

from schemas.identity import derived_id
from schemas.topics import CONVERSATIONS
from streams.sealing.user_keys import IDS

if TYPE_CHECKING:
    from schemas.log import Log
    from streams.sealing.user_keys import UserKeys

_PURPOSE = "ids of turns"


class TurnIds:
    """Derives the same id of the same words in the same session, at every worker, also after the master key changed.

    A key goes in where one was prepared, which is so with `ENCRYPTION=strict`: ids, and with them digests, are then
    those of this installation alone. One that has turns goes on with the ids that it has: whoever sends a whole context
    again would else have every turn twice.
    """

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys
        self._key: bytes | None = None

    async def prepare(self, log: Log) -> None:
        """Make the key, if there is none and there are no turns yet. Raises LogError."""
        if self._keys.has_key(IDS):
            return
        for partition in range(await log.partitions(CONVERSATIONS.name)):
            if await log.end(CONVERSATIONS.name, partition):
                return
        await self._keys.make([IDS])

    def derive(self, *cause: object) -> str:
        """Return the id of a turn from its agent, session, role, words, and which of these it is in the request."""
        if self._key is None and self._keys.has_key(IDS):
            self._key = self._keys.derive(_PURPOSE, of=IDS)
        if self._key is None:
            return derived_id("turn", *cause)
        said = "\x1f".join(map(str, cause)).encode()
        return derived_id("turn", digest(self._key, said, sha256).hex())
