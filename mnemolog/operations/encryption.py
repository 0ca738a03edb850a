"""Encryption of an existing embedded log in place, and rotation of the master key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from mnemolog.log.connection import create_topics, opened_log
from mnemolog.log.private_files import create_privately
from mnemolog.log.sealing import given_keys, seal_log
from mnemolog.operations.integrity.data_folder import check_folder
from schemas.topics import KEYS, WEBHOOK_PROGRESS
from streams.sealing.key_files import file_of, make_key, write_keys
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import clear_stale_bytes, replace_records, write_anew

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnemolog.settings import Settings
    from schemas.log import TrimmedLog
    from streams.sealing.user_keys import UserKeys

RECORDS_AT_ONCE: Final = 500
"""The number of records sealed in one transaction. Committed ones stay sealed if the command is interrupted."""
LIE_IN_CLEAR: Final = frozenset({KEYS.name, WEBHOOK_PROGRESS.name})
"""Topics that are never sealed: they are compacted by their message keys, and hold no user's words."""


class NothingToRotate(Exception):
    """No master key is in use, so there is nothing to rotate."""


async def encrypt_log(settings: Settings, progress: Callable[[int], None]) -> int:
    """Seal every unencrypted record in place; return the number of these. No worker may run meanwhile.

    Readers of the log see no difference, so digests stay equal. Shards are deleted, and folded again at the next start.
    It can be interrupted and run again. Raises LogLocked, LogError.
    """
    create_privately()
    await check_folder(settings)
    sealed = 0
    async with opened_log(settings) as inner:
        if not isinstance(inner, SqliteLog):
            raise TypeError("only an embedded log can be rewritten")
        await create_topics(inner, settings)
        sealing = await seal_log(settings, inner, lambda _: None)
        for topic, known in inner.topics().items():
            if topic in LIE_IN_CLEAR:
                continue
            for partition in range(known.partitions):
                start = await inner.earliest(topic, partition)
                while records := await inner.read(topic, partition, start, RECORDS_AT_ONCE):
                    changed = await sealing.log.sealed_forms(records)
                    if changed:
                        sealed_records = {offset: (None, value) for offset, value in changed.items()}
                        await replace_records(inner, topic, partition, sealed_records)
                    sealed += len(changed)
                    progress(len(records))
                    start = records[-1].position.offset + 1
        await write_anew(inner)
    shards = settings.data_dir.resolve() / "shards"
    for path in (*shards.glob("*/*.sqlite*"), *(settings.data_dir / "encodings").glob("*.sqlite*")):
        path.unlink()
    return sealed


class MasterKeyRotation:
    """Rewraps all data keys with a newer master key, while the worker serves. The log is not rewritten."""

    def __init__(self, settings: Settings, inner: TrimmedLog, keys: UserKeys) -> None:
        """Take the unsealed log, and the keys on it."""
        self._settings = settings
        self._inner = inner
        self._keys = keys
        self._rotating = asyncio.Lock()

    async def run(self) -> dict[str, Any]:
        """Rotate; return `{kek_id, wrapped, retired}`. If interrupted, run it again.

        A master key in this data directory is replaced by a new one. Among given keys, the first is the newest. Raises
        NothingToRotate, KeysUnusable, LogError.
        """
        if not self._settings.encrypts:
            raise NothingToRotate("MNEMOLOG_ENCRYPTION is off: there is no master key in use")
        async with self._rotating:
            own = self._own_file()
            if own is not None:
                before = own.read_text("ascii").split()
                if len(before) == 1:  # otherwise an interrupted rotation continues
                    write_keys(own, [make_key(), *before])
            given = given_keys(self._settings)
            if given is None:
                raise NothingToRotate("there is no master key")
            self._keys.ring.use(given)
            wrapped = await self._keys.rotate()
            if isinstance(self._inner, SqliteLog):  # Kafka compacts by itself
                await self._inner.compact(KEYS.name)
                # A gap may hold a copy that the former master key can unwrap.
                await clear_stale_bytes(self._inner)
            # If keys under another master key remain, the next rotation drops it.
            if own is not None and self._keys.ring.wrapped_by().keys() <= {given.newest}:
                write_keys(own, own.read_text("ascii").split()[:1])
            return {"kek_id": given.newest, "wrapped": wrapped, "retired": [i for i in given.ids if i != given.newest]}

    def _own_file(self) -> Path | None:
        if self._settings.master_key is not None or self._settings.master_key_file is not None:
            return None
        return file_of(self._settings.data_dir)
