"""Encryption of an embedded log that lies in clear: its records are sealed in place, each at its offset."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from mnemolog.log.connection import create_topics, opened_log
from mnemolog.log.private_files import create_privately
from mnemolog.log.sealing import given_keys, seal_log
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
"""Sealed in one transaction: what was committed stays, should this be stopped."""


LIES_IN_CLEAR: Final = frozenset({KEYS.name, WEBHOOK_PROGRESS.name})
"""Topics without a word of anybody, which are compacted by keys that a sealed record does not have."""


class NothingToRotate(Exception):
    """No master key is in use."""


async def encrypt_log(settings: Settings, progress: Callable[[int], None]) -> int:
    """Seal every record that lies in clear; return how many did. No worker may run meanwhile.

    Digests stay equal: whoever reads the log reads the same. Shards in clear are deleted, and folded anew at the next
    start. Raises LogLocked, LogError.
    """
    create_privately()
    sealed = 0
    async with opened_log(settings) as inner:
        if not isinstance(inner, SqliteLog):
            raise TypeError("only an embedded log can be rewritten")
        await create_topics(inner, settings)
        sealing = await seal_log(settings, inner, lambda _: None)
        for topic, known in inner.topics().items():
            if topic in LIES_IN_CLEAR:
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
    """Wraps every data key by a newer master key, while the worker serves; the log is not rewritten."""

    def __init__(self, settings: Settings, inner: TrimmedLog, keys: UserKeys) -> None:
        """Take the log as it lies, and the keys on it."""
        self._settings = settings
        self._inner = inner
        self._keys = keys
        self._rotating = asyncio.Lock()

    async def run(self) -> dict[str, Any]:
        """Rotate; return `{kek_id, wrapped, retired}`. It can be run again until it has come to its end.

        A master key of this data directory's own is replaced; of given ones the newest is taken, which the operator has
        put first. Raises NothingToRotate, KeysUnusable, LogError.
        """
        if not self._settings.encrypts:
            raise NothingToRotate("MNEMOLOG_ENCRYPTION is off: there is no master key in use")
        async with self._rotating:
            own = self._own_file()
            if own is not None:
                before = own.read_text("ascii").split()
                if len(before) == 1:  # else a rotation was stopped, and goes on
                    write_keys(own, [make_key(), *before])
            given = given_keys(self._settings)
            if given is None:
                raise NothingToRotate("there is no master key")
            self._keys.use(given)
            wrapped = await self._keys.rotate()
            if isinstance(self._inner, SqliteLog):  # Kafka compacts by itself
                await self._inner.compact(KEYS.name)
                await clear_stale_bytes(self._inner)  # of keys under the former master key
            if own is not None and self._keys.wrapped_by().keys() <= {given.newest}:  # else the next rotation drops it
                write_keys(own, own.read_text("ascii").split()[:1])
            return {"kek_id": given.newest, "wrapped": wrapped, "retired": [i for i in given.ids if i != given.newest]}

    def _own_file(self) -> Path | None:
        if self._settings.master_key is not None or self._settings.master_key_file is not None:
            return None
        return file_of(self._settings.data_dir)
