"""A voice agent in text: what PowerMem does in TEN, on `mnemolog up`, with lines for speech.

A line of stdin is what speech recognition understood; what stdout gets, speech synthesis would say. A model answers
where OPENAI_API_KEY or OPENAI_BASE_URL is set; without, the agent repeats the prompt that the model would have read.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from openai import AsyncOpenAI, OpenAIError

from mnemolog import AsyncClient, MnemologError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Message: TypeAlias = dict[str, str]
Answer: TypeAlias = "Callable[[list[Message]], Awaitable[str]]"
"""Says what follows a context."""

MOST_MESSAGES = 1_000
"""A request takes no more; those before them were saved."""
SYSTEM = "You are a voice assistant: answer in one or two short sentences."


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the `main_control` of TEN is configured with, by its names and defaults."""

    user_id: str = "user"
    agent_id: str = "voice_assistant_agent"
    greeting: str = "Hello! I'm your AI assistant with memory."
    enable_memorization: bool = True
    enable_user_memory: bool = True
    memory_save_interval_turns: int = 5
    memory_idle_timeout_seconds: float = 30.0


@dataclass(slots=True)
class VoiceAgent:
    """Greets, answers with what it remembers, and saves the talk now and then. It talks on while memory is away."""

    config: Config
    memory: AsyncClient
    answer: Answer
    session_id: str = field(default_factory=lambda: f"voice-{uuid4()}")
    context: list[Message] = field(default_factory=lambda: [{"role": "system", "content": SYSTEM}])
    unsaved_rounds: int = 0

    async def talk(self, heard: asyncio.Queue[str | None]) -> None:
        """Talk until None is heard; save at the end, also when it is interrupted."""
        self.say(await self.greeting())
        try:
            while (line := await self.next_line(heard)) is not None:
                await self.reply_to(line)
        finally:
            await self.save()

    async def greeting(self) -> str:
        """Return a greeting for who is known, else the default one."""
        if self.config.enable_memorization and self.config.enable_user_memory:
            whose = self.config.user_id, self.config.agent_id
            try:
                if await self.memory.get_user_profile(*whose):
                    return await self.memory.greeting(*whose) or self.config.greeting
            except MnemologError as error:
                warn(f"greeting without memory: {error}")
        return self.config.greeting

    async def next_line(self, heard: asyncio.Queue[str | None]) -> str | None:
        """Return what is said next; save what is unsaved when nothing is said for a while."""
        while True:
            idle = self.config.memory_idle_timeout_seconds if self.unsaved_rounds else None
            try:
                async with asyncio.timeout(idle):
                    return await heard.get()
            except TimeoutError:
                await self.save()

    async def reply_to(self, line: str) -> None:
        """Answer with what is remembered about it; every so many rounds save the talk."""
        self.context.append({"role": "user", "content": await self.with_memory(line)})
        try:
            self.say(await self.answer(self.context))
        except OpenAIError as error:
            warn(f"no answer: {error}")
            self.say("Sorry, I cannot answer right now.")
        self.unsaved_rounds += 1
        if self.unsaved_rounds >= self.config.memory_save_interval_turns:
            await self.save()

    async def with_memory(self, line: str) -> str:
        """Return the line with what is remembered about it around it; the line alone when that is nothing."""
        if not self.config.enable_memorization:
            return line
        try:
            context = await self.memory.context(
                self.config.user_id, line, agent_id=self.config.agent_id, history_limit=0
            )
        except MnemologError as error:
            warn(f"answering without memory: {error}")
            return line
        return str(context["message"])

    async def save(self) -> None:
        """Send the whole context: other roles are left out, and what was saved before is known."""
        if not (self.config.enable_memorization and self.unsaved_rounds):
            return
        try:
            newest = self.context[-MOST_MESSAGES:]
            await self.memory.add(newest, self.config.user_id, self.config.agent_id, self.session_id)
        except MnemologError as error:
            warn(f"not saved yet: {error}")
        else:
            self.unsaved_rounds = 0

    def say(self, text: str) -> None:
        """Say it, and know that it was said."""
        self.context.append({"role": "assistant", "content": text})
        print(text, flush=True)


def answering(model: str) -> Answer:
    """Return the model that the environment names, else an echo."""
    key, url = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if not (key or url):

        async def echo(context: list[Message]) -> str:
            return context[-1]["content"]

        return echo
    client = AsyncOpenAI(api_key=key or "none", base_url=url)

    async def ask(context: list[Message]) -> str:
        answer = await client.chat.completions.create(model=model, messages=context)  # type: ignore[arg-type]
        return answer.choices[0].message.content or ""

    return ask


def listen(heard: asyncio.Queue[str | None], loop: asyncio.AbstractEventLoop) -> None:
    """Put each line of stdin that says something into the queue, then None: in a thread, for reading blocks."""
    with suppress(RuntimeError):  # the loop is closed: the listener is gone
        for line in sys.stdin:
            if line.strip():
                loop.call_soon_threadsafe(heard.put_nowait, line.strip())
        loop.call_soon_threadsafe(heard.put_nowait, None)


def warn(text: str) -> None:
    """Tell the operator."""
    print(text, file=sys.stderr, flush=True)


async def run(url: str, model: str, config: Config) -> None:
    """Talk over stdin and stdout."""
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    threading.Thread(target=listen, args=(heard, asyncio.get_running_loop()), daemon=True).start()
    # Who speaks does not wait long: one more try, and 15 s where a greeting may take 10.
    async with AsyncClient(url, timeout_seconds=15, retries=1) as memory:
        await VoiceAgent(config, memory, answering(model)).talk(heard)


def main() -> None:
    """Read the options and talk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    default = Config()
    parser.add_argument("--url", default="http://127.0.0.1:8420", help="of `mnemolog up`")
    parser.add_argument("--model", default="gpt-4o-mini", help="that answers")
    parser.add_argument("--user", default=default.user_id, help="who speaks")
    parser.add_argument("--agent", default=default.agent_id, help="who answers")
    parser.add_argument("--greeting", default=default.greeting, help="where nothing is known")
    parser.add_argument("--memorization", action=argparse.BooleanOptionalAction, default=True, help="remember")
    parser.add_argument("--user-memory", action=argparse.BooleanOptionalAction, default=True, help="greet by profile")
    parser.add_argument("--save-every", type=int, default=default.memory_save_interval_turns, help="rounds")
    parser.add_argument("--idle-seconds", type=float, default=default.memory_idle_timeout_seconds, help="until a save")
    asked = parser.parse_args()
    config = Config(
        user_id=asked.user,
        agent_id=asked.agent,
        greeting=asked.greeting,
        enable_memorization=asked.memorization,
        enable_user_memory=asked.user_memory,
        memory_save_interval_turns=asked.save_every,
        memory_idle_timeout_seconds=asked.idle_seconds,
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(run(asked.url, asked.model, config))


if __name__ == "__main__":
    main()
