"""Greeting of a returning user, written by the model from PowerMem's template within a time limit."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from schemas.text import on_one_line
from schemas.visible_text import visible
from streams.extraction.protocol import ExtractorError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from projections.partitions.held import Held
    from projections.queries.context import Contexts

PROMPT: Final = """You are a friendly and helpful voice assistant. Based on the following memory summary of previous \
conversations with this user, generate a warm, personalized greeting (2-3 sentences maximum). Reference specific \
details from the memories naturally, but keep it concise and friendly.

If the memory summary contains information about the user's location/region, please respond in the most commonly used \
language of that region.

Memory Summary:
{memory_summary}

Generate a personalized greeting:"""
"""PowerMem's PERSONALIZED_GREETING_TEMPLATE."""

NEWS: Final = "Plans and recent events:"
SAID: Final = "Said lately:"

log = logging.getLogger("mnemolog.greeting")


class Greeting:
    """Writes greetings. An empty greeting leaves the agent to write its own; greetings do not count as recalls."""

    def __init__(self, contexts: Contexts, write: Callable[[str], Awaitable[str]] | None, *, seconds: float) -> None:
        """`write` sends a prompt to a model, and is None without one; `seconds` is its time limit."""
        self._contexts = contexts
        self._write = write
        self._seconds = seconds

    async def _summary(self, held: Held, agent_id: str | None, now: datetime) -> str:
        """Return the profile, coming plans, and recent events and statements; empty if there are none."""
        profile = await self._contexts.profile(held, agent_id, now)
        parts = [profile["text"]] if profile is not None and profile["sources"] else []  # habits are not a profile
        news, said = await self._contexts.news(held, agent_id, now)
        for heading, memories in ((NEWS, news), (SAID, said)):
            if memories:
                parts.append("\n".join([heading, *(f"- {on_one_line(memory.content)}" for memory in memories)]))
        return "\n".join(parts)

    async def greet(self, held: Held, agent_id: str | None, now: datetime) -> str:
        """Return a greeting; empty if no memory exists, or if the model is missing, fails or takes too long."""
        if self._write is None or not (summary := await self._summary(held, agent_id, now)):
            return ""
        try:
            async with asyncio.timeout(self._seconds):
                return visible(await self._write(PROMPT.format(memory_summary=summary))).strip()
        except (TimeoutError, ExtractorError) as error:
            log.warning("no greeting: %s", error or f"the model took longer than {self._seconds:g} s")
            return ""
