"""Recalls: what searches showed to agents, gathered for each user and minute, and reported to the inbox.

The only thing that a kill may lose: at most the last few seconds of it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from schemas.identity import derived_id
from schemas.log import LogError, LogUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from mnemolog.commands.commands import Commands
    from schemas.identity import Owner

log = logging.getLogger("mnemolog")
FLUSH_EVERY_SECONDS: Final = 10.0
LAST_SECONDS: Final = 5.0
"""How long a worker that stops waits for the log."""
MAX_IDS: Final = 1_000
"""Memories in one report."""


class Recalls:
    """Coalesces recalls by user and minute."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._noted: dict[tuple[Owner, datetime], dict[str, None]] = {}

    def note(self, owner: Owner, memory_ids: Iterable[str], at: datetime) -> None:
        """Take note that an agent was shown memories of a user."""
        minute = at.replace(second=0, microsecond=0)
        self._noted.setdefault((owner, minute), {}).update(dict.fromkeys(memory_ids))

    async def flush(self) -> None:
        """Report everything noted. What the log does not take stays noted."""
        for (owner, minute), ids in list(self._noted.items()):
            listed = list(ids)
            for begin in range(0, len(listed), MAX_IDS):
                some = listed[begin : begin + MAX_IDS]
                recall_id = derived_id("recall", owner.tenant, owner.user_id, minute.isoformat(), *some)
                try:
                    await self._commands.recall(owner, some, minute, recall_id)
                except LogUnavailable:
                    return
            if self._noted.get((owner, minute)) is ids:
                left = [i for i in ids if i not in set(listed)]
                if left:
                    self._noted[owner, minute] = dict.fromkeys(left)
                else:
                    del self._noted[owner, minute]

    async def flush_last(self) -> None:
        """Report what was noted before a stop, for LAST_SECONDS; what the log does not take by then is lost."""
        try:
            await asyncio.wait_for(self.flush(), LAST_SECONDS)
        except (LogError, TimeoutError) as error:
            log.warning("recalls of the last seconds are lost: %s", error or "the log does not answer")

    async def run(self) -> None:
        """Flush again and again, for ever."""
        while True:
            await asyncio.sleep(FLUSH_EVERY_SECONDS)
            await self.flush()
