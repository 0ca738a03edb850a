"""Giving many commands at once: how they stand in the inbox, and waiting until all are decided."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from schemas import codec
from schemas.log import NewRecord
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.worker.worker import Worker
    from schemas.identity import Owner
    from schemas.messages.inbox import UserItem

WAITING: Final = "waiting"
"""The action of what the log has and remember has not decided yet."""


def inbox_record(worker: Worker, item: UserItem) -> NewRecord:
    """Return a command as it is appended. Raises NotHeld."""
    owner = item.envelope.owner
    partition = worker.shards.partition(owner)
    return NewRecord(topic=INBOX.name, partition=partition, key=owner.key, value=codec.encode(item))


async def wait_for(worker: Worker, commands: Sequence[tuple[Owner, str]], until: float) -> None:
    """Wait for decisions, not longer than until a moment of the monotonic clock."""
    seconds = until - time.monotonic()
    if seconds <= 0 or not commands:
        return
    deciding = [asyncio.ensure_future(worker.remember.decided(owner, id_)) for owner, id_ in commands]
    try:
        await asyncio.wait(deciding, timeout=seconds)
    finally:
        for waiter in deciding:
            waiter.cancel()
        await asyncio.gather(*deciding, return_exceptions=True)
