"""A voice agent in text: what PowerMem does in TEN, on `mnemolog up`, with lines instead of speech.

A line of stdin stands for what speech recognition understood, and a line of stdout for what speech synthesis would say.
A model answers if OPENAI_API_KEY or OPENAI_BASE_URL is set; otherwise the agent repeats the prompt for the model.
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
"""Returns the answer to a context."""

MOST_MESSAGES = 1_000
"""The most messages of a request; those before them were saved earlier."""
SYSTEM = "You are a voice assistant: answer in one or two short sentences."


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration of TEN's `main_control`, with its names and defaults."""

    user_id: str = "user"
    agent_id: str = "voice_assistant_agent"
    greeting: str = "Hello! I'm your AI assistant with memory."
    enable_memorization: bool = True
    enable_user_memory: bool = True
    memory_save_interval_turns: int = 5
    memory_idle_timeout_seconds: float = 30.0


@dataclass(slots=True)
class VoiceAgent:
    """Greets, answers with what it remembers, and saves the talk regularly. It goes on while memory is unavailable."""

    config: Config
    memory: AsyncClient
    answer: Answer
    session_id: str = field(default_factory=lambda: f"voice-{uuid4()}")
    context: list[Message] = field(default_factory=lambda: [{"role": "system", "content": SYSTEM}])
    unsaved_rounds: int = 0

    async def talk(self, heard: asyncio.Queue[str | None]) -> None:
        """Talk until None is heard; save at the end, even if interrupted."""
        self.say(await self.greeting())
        try:
            while (line := await self.next_line(heard)) is not None:
                await self.reply_to(line)
        finally:
            await self.save()

    async def greeting(self) -> str:
        """Return a greeting for a known user, else the default one."""
        if self.config.enable_memorization and self.config.enable_user_memory:
            whose = self.config.user_id, self.config.agent_id
            try:
                if await self.memory.get_user_profile(*whose):
                    return await self.memory.greeting(*whose) or self.config.greeting
            except MnemologError as error:
                warn(f"greeting without memory: {error}")
        return self.config.greeting

    async def next_line(self, heard: asyncio.Queue[str | None]) -> str | None:
        """Return the next line; save the unsaved rounds if none comes for a while."""
        while True:
            idle = self.config.memory_idle_timeout_seconds if self.unsaved_rounds else None
            try:
                async with asyncio.timeout(idle):
                    return await heard.get()
            except TimeoutError:
                await self.save()

    async def reply_to(self, line: str) -> None:
        """Answer a line with what is remembered about it, and save the talk at intervals."""
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
        """Return the line inside the memories about it; the line alone if there are none."""
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
        """Send the newest messages of the context; mnemolog leaves out other roles and what was saved before."""
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
        """Print a text, and add it to the context."""
        self.context.append({"role": "assistant", "content": text})
        print(text, flush=True)


def answering(model: str) -> Answer:
    """Return the model that the environment names, else a function that repeats the prompt."""
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
    """Put each line of stdin that is not blank into the queue, then None. It blocks, so run it in a thread."""
    with suppress(RuntimeError):  # the loop is closed, and nobody listens any more
        for line in sys.stdin:
            if line.strip():
                loop.call_soon_threadsafe(heard.put_nowait, line.strip())
        loop.call_soon_threadsafe(heard.put_nowait, None)


def warn(text: str) -> None:
    """Print a warning for the operator."""
    print(text, file=sys.stderr, flush=True)


async def run(url: str, model: str, config: Config) -> None:
    """Talk over stdin and stdout."""
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    threading.Thread(target=listen, args=(heard, asyncio.get_running_loop()), daemon=True).start()
    # A speaker does not wait long: one more try, and 15 s because a greeting may take 10.
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
