"""Commands about the reminders and the periodic wake of a user, which the remember agent decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from mnemolog.reminder_template import reminder_text
from schemas.messages.envelope import Sealed
from schemas.messages.wakes import CancelReminder, ConfigureWake, ScheduleReminder

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.commands.commands import Answer, Commands
    from mnemolog.settings import Settings
    from schemas.identity import Owner
    from schemas.messages.envelope import Envelope


MAX_WAKE_CHARACTERS: Final = 16_384
MAX_WAKE_MEMORIES: Final = 100
MAX_REMINDER_BYTES: Final = 4 * 1024
DEFAULT_CHANNEL: Final = "dm"
WakeCommand = TypeVar("WakeCommand", bound=ScheduleReminder | ConfigureWake)


def fits_a_reminder(text: str) -> str:
    """Return the text of a reminder unchanged. Raises ValueError if it is too long."""
    if len(text.encode()) > MAX_REMINDER_BYTES:
        raise ValueError(f"has {len(text.encode())} bytes: a reminder has at most {MAX_REMINDER_BYTES}")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """The configuration of a periodic wake."""

    every_seconds: float
    text: str
    query: str | None = None
    memory_limit: int = 0
    agent_id: str | None = None


class WakeCommands:
    """Builds and submits commands about wakes, and embeds the queries with which wakes will search memories."""

    def __init__(self, commands: Commands, settings: Settings) -> None:
        self._commands = commands
        self._template = settings.reminder_template
        self._shows_memories = settings.wake_memory_limit > 0

    async def schedule(
        self,
        owner: Owner,
        due_at: datetime,
        content: str,
        *,
        channel: str,
        agent_id: str | None,
        command_id: str,
    ) -> Answer:
        """Schedule one reminder. If reminders show no memories, nothing is embedded."""
        envelope = await self._commands.envelope(owner, command_id, agent_id)
        return await self._submit(self.reminder(envelope, due_at, content, channel))

    async def cancel(self, owner: Owner, reminder_id: str, command_id: str) -> Answer:
        """Cancel a reminder."""
        envelope = await self._commands.envelope(owner, command_id)
        return await self._commands.submit(CancelReminder(envelope=envelope, reminder_id=reminder_id))

    async def configure(
        self, owner: Owner, periodic: Periodic | None, command_id: str, settings_id: str | None = None
    ) -> Answer:
        """Set the periodic wake of the user's agent from now on; None ends it."""
        agent_id = periodic.agent_id if periodic else None
        envelope = await self._commands.envelope(owner, command_id, agent_id)
        if periodic is None:
            return await self._submit(ConfigureWake(envelope=envelope, settings_id=settings_id))
        return await self._submit(replace(self.periodic(envelope, periodic), settings_id=settings_id))

    def reminder(self, envelope: Envelope, due_at: datetime, content: str, channel: str) -> ScheduleReminder:
        """Return the command of a reminder, with the text of the template, and without a vector."""
        text = reminder_text(self._template, user_id=envelope.user_id, channel=channel, content=content)
        return ScheduleReminder(
            envelope=envelope,
            due_at=due_at,
            content=Sealed.clear(content),
            channel=channel,
            text=Sealed.clear(text),
        )

    def periodic(self, envelope: Envelope, periodic: Periodic) -> ConfigureWake:
        """Return the command of a periodic wake, without a vector."""
        return ConfigureWake(
            envelope=envelope,
            every_seconds=periodic.every_seconds,
            text=Sealed.clear(periodic.text),
            query=None if periodic.query is None else Sealed.clear(periodic.query),
            memory_limit=periodic.memory_limit,
        )

    def query_of(self, item: ScheduleReminder | ConfigureWake) -> str | None:
        """Return the text with which the wake will search memories, None if it shows none."""
        if isinstance(item, ScheduleReminder):
            return item.text.text if self._shows_memories else None
        query = item.query or item.text
        return query.text if query is not None and item.memory_limit else None

    def with_vector(self, item: WakeCommand, vector: Sealed) -> WakeCommand:
        """Return the command with the vector of its query."""
        return replace(item, vector=vector, embedding_model=self._commands.embedding_model)

    async def _submit(self, item: WakeCommand) -> Answer:
        query = self.query_of(item)
        if query is not None:
            item = self.with_vector(item, await self._commands.vector(query, urgent=True))
        return await self._commands.submit(item)
