"""What a worker does about wakes besides deciding: its clock, its commands, and what the settings say of `owner`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from mnemolog.commands.commands import AnotherCommand
from mnemolog.commands.wakes import Periodic, WakeCommands
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.partitions.shards import NotHeld
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner, derived_id
from schemas.inputs.decoding import DEFAULT_TENANT
from schemas.inputs.input_events import DEFAULT_USER
from schemas.log import LogUnavailable
from streams.ticks.wake_scheduler import WakeScheduler

if TYPE_CHECKING:
    from mnemolog.commands.commands import Commands
    from mnemolog.settings import Settings
    from projections.partitions.shards import Shards
    from schemas.clock import Clock
    from schemas.log import Log

log = logging.getLogger("mnemolog")
OWNER: Final = Owner(DEFAULT_TENANT, DEFAULT_USER)
"""Who is woken by the settings."""
OFF: Final = "off"
LOOK_EVERY_SECONDS: Final = 2.0


class Wakes:
    """Emits what is due, and configures what the settings say."""

    def __init__(self, log: Log, shards: Shards, commands: Commands, clock: Clock, settings: Settings) -> None:
        self.commands = WakeCommands(commands, settings)
        self.waking = WakeScheduler(log=log, shards=shards, clock=clock)
        self._embedding_model = commands.embedding_model
        self._shards = shards
        self._settings = settings

    async def run(self) -> None:
        """Look again and again, for ever."""
        await asyncio.gather(self.waking.run(), self._heed_settings())

    async def _heed_settings(self) -> None:
        while True:
            try:
                await self.heed_settings()
            except (LogUnavailable, NotHeld, ShardUnavailable, EmbedderUnavailable, AnotherCommand):
                pass  # looked at again in a moment, by whoever has the partition then
            except EmbedderRefused as error:
                log.warning("the wake of %s is not configured: %s", OWNER.user_id, error)
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def heed_settings(self) -> None:
        """Configure the wake of `owner` as the settings say, if they say something new; a request has the last word.

        Settings that are unset end what settings began.
        """
        if not self._shards.counts(OWNER):
            return
        state, periodic = self._shards.state(OWNER), self._periodic()
        if periodic is None:
            known = state.wakes.configured
            if known is None or known.settings_id is None:
                return
        settings_id = OFF if periodic is None else derived_id("wake settings", periodic, self._embedding_model)
        if settings_id != state.wakes.settings_id:
            command_id = derived_id("wake settings", settings_id, state.version)
            await self.commands.configure(OWNER, periodic, command_id, settings_id)

    def _periodic(self) -> Periodic | None:
        given = self._settings
        if given.wake_every_seconds is None:
            return None
        return Periodic(
            every_seconds=given.wake_every_seconds,
            text=given.wake_text,
            query=given.wake_query,
            memory_limit=given.wake_memory_limit,
        )
