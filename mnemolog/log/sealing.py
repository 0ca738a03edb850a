"""The keys of an installation, and the log that is encrypted with them."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mnemolog.log.connection import opened_log
from mnemolog.log.word_ids import WordIds
from projections.encrypted_files import unlock
from schemas import codec
from schemas.log import UnknownTopic
from schemas.messages.data_keys import DataKey
from schemas.topics import INBOX, KEYS
from streams.sealing import sealed_record
from streams.sealing.key_files import KeysUnusable, file_of, make_key, read_file, read_keys, write_keys
from streams.sealing.key_ring import INSTALLATION, KeysMissing
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import LEASE_SECONDS, UserKeys
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.settings import Settings
    from schemas.log import Log, TrimmedLog
    from streams.sealing.master_key import MasterKeys

log = logging.getLogger("mnemolog")
SHARDS: Final = "shards"
"""The purpose of the derived key that encrypts the files of shards."""
MISSING: Final = (
    "the log is encrypted with the master key {}, which is missing: put keys/master back from a copy, or set "
    "MNEMOLOG_MASTER_KEY_FILE to it; the log cannot be read without it"
)
OF_VARIABLE: Final = (
    "set MNEMOLOG_MASTER_KEY to it (several keys are separated by commas, the newest first), or unset the variable if "
    "the key is in keys/master"
)
OF_FILE_SET: Final = "put it into that file, or let MNEMOLOG_MASTER_KEY_FILE name the file that holds it"
SWITCHED_OFF: Final = (
    "MNEMOLOG_ENCRYPTION is off, but the log was encrypted before: new records are written in clear; earlier ones and "
    "the shards stay encrypted, and need the master key as before"
)


@dataclass(frozen=True, slots=True)
class KeyedLog:
    """The unsealed log, and the keys on it."""

    log: TrimmedLog
    keys: UserKeys


@dataclass(frozen=True, slots=True)
class Sealing:
    """The encrypted log, read and written in clear, and its keys."""

    log: SealedLog
    keys: UserKeys
    word_ids: WordIds


async def seal_log(settings: Settings, inner: TrimmedLog, counted: Callable[[str], None]) -> Sealing:
    """Read or create the keys of the installation, and unlock its files. Its topics must exist.

    Raises KeysUnusable, KeysMissing or MasterKeyUnknown, which say what to do, and LogUnavailable. Nothing was changed
    then.
    """
    seals = settings.encrypts
    masters = await _masters(settings, inner, seals=seals)
    keys = UserKeys(inner, masters, lease_seconds=None if settings.is_embedded else LEASE_SECONDS)
    await keys.follow()
    if keys.ring.is_empty and await _is_sealed(inner):
        raise KeysMissing(f"the log is encrypted, but {KEYS.name} is empty: restore that topic from a copy")
    word_ids = WordIds(keys)
    if seals:
        await keys.make([INSTALLATION])
        if settings.encryption == "strict":
            await word_ids.prepare(inner)
    key = keys.ring.derive(SHARDS)
    if key is not None and not seals:
        log.warning(SWITCHED_OFF)
    unlock(settings.data_dir, key)
    replacements = None if settings.is_embedded else Replacements(inner, keys)
    return Sealing(SealedLog(inner, keys, seals=seals, counted=counted, replacements=replacements), keys, word_ids)


async def unlock_files(settings: Settings) -> None:
    """Unlock the encrypted files of a data directory that no worker uses; create nothing.

    Raises KeysUnusable, KeysMissing, MasterKeyUnknown, LogError.
    """
    if settings.is_embedded and not (settings.data_dir / "log" / LOG_FILE).exists():
        return
    async with opened_log(settings) as inner:
        try:
            await inner.partitions(KEYS.name)
        except UnknownTopic:
            return
        keys = UserKeys(inner, given_keys(settings))
        await keys.follow()
    if (key := keys.ring.derive(SHARDS)) is not None:
        unlock(settings.data_dir, key)


def given_keys(settings: Settings) -> MasterKeys | None:
    """Return the master keys given by the settings, or those in the data directory. Raises KeysUnusable."""
    if settings.master_key is not None:
        return read_keys(settings.master_key.get_secret_value(), "MNEMOLOG_MASTER_KEY", OF_VARIABLE)
    if settings.master_key_file is not None:
        path = settings.master_key_file
        return read_file(path, f"{path}, which MNEMOLOG_MASTER_KEY_FILE names,", OF_FILE_SET)
    own = file_of(settings.data_dir)
    return read_file(own) if own.exists() else None


def source_of_keys(settings: Settings) -> str:
    """Return what the master keys are read from: a variable, or a file."""
    if settings.master_key is not None:
        return "MNEMOLOG_MASTER_KEY"
    return str(settings.master_key_file or file_of(settings.data_dir))


async def read_user_keys(settings: Settings, inner: Log) -> UserKeys:
    """Read the data keys of a log whose topics exist, and create none.

    Raises KeysUnusable, KeysMissing or MasterKeyUnknown where the master keys are not those of this log.
    """
    keys = UserKeys(inner, await _own_masters(settings, inner))
    await keys.follow()
    return keys


async def _own_masters(settings: Settings, inner: Log) -> MasterKeys | None:
    """Return the given master keys. Raises KeysMissing where there are none, and the log has keys."""
    found = given_keys(settings)
    if found is None and settings.encrypts and await inner.end(KEYS.name, 0):
        raise KeysMissing(MISSING.format(await _newest_kek_id(inner)))
    return found


async def _masters(settings: Settings, inner: Log, *, seals: bool) -> MasterKeys | None:
    found = await _own_masters(settings, inner)
    if found is not None or not seals:
        return found
    path = file_of(settings.data_dir)
    try:
        write_keys(path, [make_key()])
    except OSError as error:
        raise KeysUnusable(f"the master key {path} cannot be written: {error.strerror}") from error
    log.warning("created the master key %s: keep a copy apart from the log, which cannot be read without it", path)
    return read_file(path)


async def _newest_kek_id(inner: Log) -> str:
    """Return the id of the master key that wraps the newest data key."""
    found, start = "that wrapped its keys", 0
    while records := await inner.read(KEYS.name, 0, start):
        for record in records:
            with suppress(codec.Undecodable):  # a tombstone, or not written by mnemolog
                found = codec.decode_as(record.value, DataKey).kek_id
        start = records[-1].position.offset + 1
    return found


async def _is_sealed(inner: Log) -> bool:
    """Return whether the log has sealed records, judging by the newest record of each inbox partition."""
    for partition in range(await inner.partitions(INBOX.name)):
        end = await inner.end(INBOX.name, partition)
        for record in await inner.read(INBOX.name, partition, end - 1, 1) if end else ():
            if sealed_record.key_id_of(record.value) is not None:
                return True
    return False
