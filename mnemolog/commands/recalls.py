"""Recalls: the memories that searches have shown to agents, gathered by user and minute and reported to the inbox.

A killed process loses the recalls of the last few seconds, and nothing else.
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
"""How long a stopping worker waits until the log has stored the last recalls."""
MAX_IDS: Final = 1_000
"""The most memories in one report."""


class Recalls:
    """Gathers recalls and reports those of one user and minute in one command."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._pending: dict[tuple[Owner, datetime], dict[str, None]] = {}

    def note(self, owner: Owner, memory_ids: Iterable[str], at: datetime) -> None:
        """Add memories of a user that were shown to an agent."""
        minute = at.replace(second=0, microsecond=0)
        self._pending.setdefault((owner, minute), {}).update(dict.fromkeys(memory_ids))

    async def flush(self) -> None:
        """Report all pending recalls. Recalls that the log does not accept stay pending."""
        for (owner, minute), ids in list(self._pending.items()):
            reported, known = list(ids), set(ids)
            for begin in range(0, len(reported), MAX_IDS):
                batch = reported[begin : begin + MAX_IDS]
                recall_id = derived_id("recall", owner.tenant, owner.user_id, minute.isoformat(), *batch)
                try:
                    await self._commands.recall(owner, batch, minute, recall_id)
                except LogUnavailable:
                    return
            if self._pending.get((owner, minute)) is ids:
                came_meanwhile = [memory_id for memory_id in ids if memory_id not in known]
                if came_meanwhile:
                    self._pending[owner, minute] = dict.fromkeys(came_meanwhile)
                else:
                    del self._pending[owner, minute]

    async def flush_last(self) -> None:
        """Report the pending recalls before a stop; those not stored within LAST_SECONDS are lost."""
        try:
            await asyncio.wait_for(self.flush(), LAST_SECONDS)
        except (LogError, TimeoutError) as error:
            log.warning("recalls of the last seconds are lost: %s", error or "the log does not answer")

    async def run(self) -> None:
        """Flush every FLUSH_EVERY_SECONDS until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_EVERY_SECONDS)
            await self.flush()
