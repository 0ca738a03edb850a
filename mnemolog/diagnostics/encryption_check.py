"""The check of encryption: whether it is on, its master key, and the numbers of encrypted and unencrypted users."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mnemolog.diagnostics.check import Check
from mnemolog.log.connection import opened_log
from mnemolog.log.sealing import KeyedLog, given_keys, source_of_keys
from schemas.identity import SYSTEM_TENANT, InvalidOwner, Owner
from schemas.log import LogError, LogLocked, UnknownTopic
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, KEYS, LEDGER
from streams.sealing.key_files import KeysUnusable
from streams.sealing.key_ring import KeysMissing
from streams.sealing.master_key import MasterKeyUnknown
from streams.sealing.user_keys import UserKeys
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import keys_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mnemolog.settings import Settings

_NAME: Final = "encryption"
_OF_USERS: Final = (*INPUTS, INBOX, LEDGER, DEAD_LETTERS)
"""The topics with the words of users."""
COUNT_SECONDS: Final = 3.0
"""The time limit of the search for unencrypted records, which reads the file: seconds for each GiB not cached."""


async def check_encryption(
    settings: Settings, log_away: str | None, own: KeyedLog | None, count_seconds: float = COUNT_SECONDS
) -> Check:
    """Report whether encryption is on, its master key, and how many users are encrypted or unencrypted.

    `own` is the log that this process has open; without it, the log is opened for a moment, and nothing is created. If
    the search for unencrypted users takes longer than `count_seconds`, the report says so.
    """
    state: str = settings.encryption
    try:
        masters = given_keys(settings)
        if masters is None:
            state += ": no key yet" if settings.encrypts else ""
        else:
            state += f": the master key in force is {masters.newest}, of {source_of_keys(settings)}"
        if log_away is not None and own is None:
            return Check(_NAME, ok=True, detail=f"{state}; users are not counted: {log_away}")
        async with _keyed_log(settings, own) as found:
            if found is None:
                return Check(_NAME, ok=True, detail=f"{state}; nothing is written yet")
            return await _counted(settings, state, found, time.monotonic() + count_seconds)
    except (KeysUnusable, KeysMissing, MasterKeyUnknown) as error:
        advice = "give the master key that the log was encrypted with; nothing is lost meanwhile"
        return Check(_NAME, ok=False, detail=f"{settings.encryption}: {error}", advice=advice)
    except LogLocked:
        detail = f"{state}; users are not counted, for the log is in use: its worker counts them for `doctor --url`"
        return Check(_NAME, ok=True, detail=detail)
    except (LogError, TimeoutError, OSError):
        return Check(_NAME, ok=True, detail=f"{state}; users are not counted: the log cannot be read, see its row")


async def _counted(settings: Settings, state: str, found: KeyedLog, until: float) -> Check:
    encrypted = sum(map(_is_user, found.keys.ring.owners))
    detail = f"{state}; users encrypted: {encrypted}"
    if isinstance(found.log, SqliteLog):
        try:
            in_clear = len(await _in_clear(found.log, until))
        except TimeoutError:
            detail += "; users with records in clear are not counted, for the log is too long to be read through now"
        else:
            detail += f", with records in clear: {in_clear}"
            if in_clear and settings.encrypts:
                detail += " (`mnemolog encrypt` encrypts those too, while no worker runs)"
    elif settings.encrypts:
        detail += "; records that other programs publish in clear are not counted on Kafka"
    if encrypted and not settings.encrypts:
        detail += "; new records are written in clear, and the master key is still needed for the others"
    masters = given_keys(settings)
    if masters is not None and (older := sorted(found.keys.ring.wrapped_by().keys() - {masters.newest})):
        detail += f"; {' and '.join(older)} wrap some too, until `mnemolog keys rotate`"
    return Check(_NAME, ok=True, detail=detail)


@asynccontextmanager
async def _keyed_log(settings: Settings, own: KeyedLog | None) -> AsyncIterator[KeyedLog | None]:
    """Yield the log and its keys; None if there is none yet. Raises LogError, OSError."""
    if own is not None:
        await own.keys.follow()  # other workers create keys too
        yield own
        return
    if settings.is_embedded and not (settings.data_dir.resolve() / "log" / LOG_FILE).exists():
        yield None
        return
    async with opened_log(settings) as log:
        keys = UserKeys(log, given_keys(settings))
        try:
            await log.partitions(KEYS.name)
        except UnknownTopic:  # the log of a version without encryption
            yield KeyedLog(log, keys)
            return
        await keys.follow()
        yield KeyedLog(log, keys)


async def _in_clear(log: SqliteLog, until: float) -> set[Owner]:
    """Return the users with unencrypted records. Raises TimeoutError at `until`, by `time.monotonic`."""
    found: set[bytes] = set()
    topics = log.topics()
    for topic in _OF_USERS:
        if topic.name in topics:
            for partition in range(topics[topic.name].partitions):
                found |= await keys_in(log, topic.name, partition, until)
    owners = set()
    for key in found:
        try:
            owners.add(Owner.of_key(key))
        except InvalidOwner:
            continue
    return {owner for owner in owners if _is_user(owner)}


def _is_user(owner: Owner) -> bool:
    return not owner.is_global and owner.tenant != SYSTEM_TENANT
