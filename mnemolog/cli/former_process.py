"""The process that had a data directory before: its group is told that it is dead while this one still starts."""

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
"""How long that may take; the worker does it again when it has started."""


async def forget_former_process(settings: Settings) -> bool:
    """Have the group forget the process that had this directory before; return whether it was still in the group.

    The others take over its partitions at once, while this one still loads its program, which takes seconds. Nothing is
    done on the embedded engine, and where another process lives in the directory. What is wrong the start says.
    """
    if settings.is_embedded or not member_file(settings).exists():
        return False
    try:
        lock = lock_directory(settings)  # who holds it knows that the former process is dead
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
