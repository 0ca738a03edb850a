"""Ids that are derived from words, optionally with a secret key, so that they reveal nothing about the words."""

from __future__ import annotations

import logging
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING, Final

from schemas.identity import derived_id
from schemas.topics import INBOX, INPUTS
from streams.sealing.key_ring import IDS

if TYPE_CHECKING:
    from schemas.log import Log
    from streams.sealing.user_keys import UserKeys

logger = logging.getLogger("mnemolog")
UNKEYED: Final = (
    "MNEMOLOG_ENCRYPTION=strict was set after the first record: ids of turns and of imported memories stay unkeyed "
    "hashes of words, by which guesses at the words can be checked"
)
_PURPOSE = "ids of turns"
"""Ids of turns came first; the name must stay, or they would change."""


class WordIds:
    """Derives the same id from the same words in the same place, on every worker, also after a rotation of master keys.

    With `ENCRYPTION=strict` a secret key goes in, so ids, and with them digests, differ between installations. An
    installation that already has turns or commands keeps unkeyed ids: otherwise sending a whole context or a file again
    would store everything twice.
    """

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys
        self._key: bytes | None = None

    async def prepare(self, log: Log) -> None:
        """Create the key, if the log is still empty; else warn that ids stay unkeyed. Raises LogError."""
        if self._keys.ring.has_key(IDS):
            return
        for topic in (*INPUTS, INBOX):
            for partition in range(await log.partitions(topic.name)):
                if await log.end(topic.name, partition):
                    logger.warning(UNKEYED)
                    return
        await self._keys.make([IDS])

    def derive(self, kind: str, *cause: object) -> str:
        """Return the id of a turn or a line: of its kind, place and words, and which occurrence of them it is."""
        key = self._secret()
        return derived_id(kind, *cause) if key is None else derived_id(kind, _hash(key, "\x1f".join(map(str, cause))))

    def hide(self, name: str) -> str:
        """Return a name that may consist of words, or be derived from some; where there is a key, its keyed hash."""
        key = self._secret()
        return name if key is None else _hash(key, f"name\x1f{name}")

    def _secret(self) -> bytes | None:
        if self._key is None:
            self._key = self._keys.ring.derive(_PURPOSE, of=IDS)
        return self._key


def _hash(key: bytes, words: str) -> str:
    return digest(key, words.encode(), sha256).hex()
