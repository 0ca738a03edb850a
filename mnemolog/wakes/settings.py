"""The periodic wake that the settings configure, for the default user."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from mnemolog.commands.commands import AnotherCommand
from mnemolog.commands.wakes import Periodic
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable
from schemas.identity import DEFAULT_TENANT, Owner, derived_id
from schemas.inputs.input_events import DEFAULT_USER
from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from mnemolog.commands.wakes import WakeCommands
    from mnemolog.settings import Settings
    from projections.partitions.shards import Shards

log = logging.getLogger("mnemolog")
OWNER: Final = Owner(DEFAULT_TENANT, DEFAULT_USER)
"""The user whose agent the settings wake."""
OFF: Final = "off"
APPLY_EVERY_SECONDS: Final = 2.0


class WakeSettings:
    """Configures the wake of OWNER according to the settings, on the worker that holds this user."""

    def __init__(self, shards: Shards, commands: WakeCommands, settings: Settings, embedding_model: str) -> None:
        self._shards = shards
        self._commands = commands
        self._settings = settings
        self._embedding_model = embedding_model

    async def run(self) -> None:
        """Apply the settings periodically until cancelled, because the user may move to this worker at any time."""
        while True:
            try:
                await self.apply()
            except (LogUnavailable, NotHeld, ShardUnavailable, EmbedderUnavailable, AnotherCommand):
                pass  # retried soon, by the worker that holds the user then
            except EmbedderRefused as error:
                log.warning("the wake of %s is not configured: %s", OWNER.user_id, error)
            await asyncio.sleep(APPLY_EVERY_SECONDS)

    async def apply(self) -> None:
        """Configure the wake if the settings have changed since they were last applied.

        A later request overrides the settings until they change. If the settings are unset, a wake that settings
        configured ends.
        """
        if not self._shards.counts(OWNER):
            return
        state, periodic = self._shards.state(OWNER), self._periodic()
        if periodic is None:
            configured = state.wakes.configured
            if configured is None or configured.settings_id is None:
                return
        settings_id = OFF if periodic is None else derived_id("wake settings", periodic, self._embedding_model)
        if settings_id != state.wakes.settings_id:
            command_id = derived_id("wake settings", settings_id, state.version)
            await self._commands.configure(OWNER, periodic, command_id, settings_id)

    def _periodic(self) -> Periodic | None:
        settings = self._settings
        if settings.wake_every_seconds is None:
            return None
        return Periodic(
            every_seconds=settings.wake_every_seconds,
            text=settings.wake_text,
            query=settings.wake_query,
            memory_limit=settings.wake_memory_limit,
        )
