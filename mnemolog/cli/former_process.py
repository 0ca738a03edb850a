"""The former process of a data directory: the group removes it while the new process still starts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mnemolog.cluster.membership import member_file
from mnemolog.environment import SettingsError
from mnemolog.log.connection import kafka_security, lock_directory
from schemas.log import LogError
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from mnemolog.settings import Settings

FORGET_SECONDS: Final = 3.0
"""The time limit for this; a worker repeats it after its start."""


async def forget_former_process(settings: Settings) -> bool:
    """Remove this directory's former process from the group; return whether it was still a member.

    The other workers take over its partitions at once, while this process still loads its program, which takes seconds.
    Nothing is done on the embedded engine, or while another process uses the directory. The start reports any errors.
    """
    if settings.is_embedded or not member_file(settings).exists():
        return False
    try:
        lock = lock_directory(settings)  # a locked directory proves that the former process is dead
        try:
            return await _forget(settings)
        finally:
            lock.release()
    except (LogError, SettingsError, OSError, TimeoutError):
        return False


async def _forget(settings: Settings) -> bool:
    kafka = KafkaLog(settings.broker.removeprefix("kafka://").split(","), security=kafka_security(settings))
    try:
        async with asyncio.timeout(FORGET_SECONDS):
            await kafka.start()
            return await kafka.forget_member(member_file(settings).read_text("utf-8"))
    finally:
        await kafka.stop()
