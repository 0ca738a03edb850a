"""Commands about wakes: what callers ask remember to do about a user's reminders and periodic wake."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mnemolog.reminder_text import reminder_text
from schemas.envelope import Sealed
from schemas.waking import CancelReminder, ConfigureWake, ScheduleReminder

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.commands import Answer, Commands
    from mnemolog.settings import Settings
    from schemas.identity import Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """How to wake an agent again and again."""

    every_seconds: float
    text: str
    query: str | None = None
    memory_limit: int = 0
    agent_id: str | None = None


class WakeCommands:
    """Embeds what memories will be looked for with, and submits."""

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
        """Remind of a content once. Where reminders show no memories, no embedder is asked."""
        text = reminder_text(self._template, user_id=owner.user_id, channel=channel, content=content)
        item = ScheduleReminder(
            envelope=await self._commands.envelope(owner, command_id, agent_id),
            due_at=due_at,
            content=Sealed.clear(content),
            channel=channel,
            text=Sealed.clear(text),
        )
        if self._shows_memories:
            vector, model = await self._commands.vector(text), self._commands.embedding_model
            item = replace(item, vector=vector, embedding_model=model)
        return await self._commands.submit(item)

    async def cancel(self, owner: Owner, reminder_id: str, command_id: str) -> Answer:
        """Remind of it no more."""
        envelope = await self._commands.envelope(owner, command_id)
        return await self._commands.submit(CancelReminder(envelope=envelope, reminder_id=reminder_id))

    async def configure(
        self, owner: Owner, periodic: Periodic | None, command_id: str, settings_id: str | None = None
    ) -> Answer:
        """Wake the user's agent like this from now on; None: not at all."""
        agent_id = periodic.agent_id if periodic else None
        envelope = await self._commands.envelope(owner, command_id, agent_id)
        item = ConfigureWake(envelope=envelope, settings_id=settings_id)
        if periodic is not None:
            item = replace(
                item,
                every_seconds=periodic.every_seconds,
                text=Sealed.clear(periodic.text),
                query=None if periodic.query is None else Sealed.clear(periodic.query),
                memory_limit=periodic.memory_limit,
            )
        if periodic is not None and periodic.memory_limit:
            vector = await self._commands.vector(periodic.query or periodic.text)
            item = replace(item, vector=vector, embedding_model=self._commands.embedding_model)
        return await self._commands.submit(item)
