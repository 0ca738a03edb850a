"""The model that the workers ask: remembers each numbered line word for word, or is out of order as a row wants it."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from aiohttp import web

if TYPE_CHECKING:
    from typing import Self

Mode: TypeAlias = Literal["ok", "down", "429", "hang", "garbage"]
ANSWER_SECONDS = 0.05
LINE = re.compile(r"^\[(\d+)\] \S+ \S+ [^:]*: (.*)$", re.MULTILINE)


class Model:
    """An OpenAI-compatible chat endpoint on 127.0.0.1. `garbage` is no JSON until it is asked to mend its answer."""

    def __init__(self, port: int) -> None:
        """Serve nothing yet."""
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self.failed = 0
        """Requests that it took while it was out of order; of those that nobody took it knows nothing."""
        self._port = port
        self._mode: Mode = "ok"
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Begin to serve."""
        await self.play("ok")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Serve no more."""
        await self.play("down")

    async def play(self, mode: Mode) -> None:
        """Answer like this from now on; whoever hangs is let go."""
        self._mode = mode
        self._changed.set()
        self._changed = asyncio.Event()
        if mode == "down" and self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()
        elif mode != "down" and self._runner is None:
            app = web.Application(client_max_size=1 << 24)
            app.router.add_post("/v1/chat/completions", self._answer)
            self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()

    async def _answer(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.failed += self._mode != "ok"
        if self._mode == "hang":
            await self._changed.wait()
        if self._mode == "429":
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "1"})
        await asyncio.sleep(ANSWER_SECONDS)
        is_repair = any(message["role"] == "assistant" for message in asked["messages"])
        if self._mode == "garbage" and not is_repair:
            return web.json_response(_completion("Of course! <<< not a word of JSON"))
        return web.json_response(_completion(json.dumps({"memories": _memories(asked["messages"])})))


def _memories(messages: list[dict[str, str]]) -> list[dict[str, Any]]:
    # The last of the user's: those before are examples.
    asked = next(found for m in reversed(messages) if m["role"] == "user" and (found := LINE.findall(m["content"])))
    return [{"content": text, "memory_type": "long_term", "sources": [int(number)]} for number, text in asked]


def _completion(content: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "word-for-word",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
