"""A receiver of webhooks on a port of this machine: it records deliveries, and answers as a test wants."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping


@dataclass(frozen=True)
class Delivery:
    """A webhook's request: its headers and its body."""

    headers: Mapping[str, str]
    raw: bytes

    @property
    def items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = orjson.loads(self.raw)["items"]
        return items

    @property
    def delivery_id(self) -> str:
        return self.headers["webhook-id"]


class WebhookReceiver:
    """Answers each delivery with the next of `statuses`, or with `status` if there is none left."""

    def __init__(self) -> None:
        self.port = 0
        self.came: list[Delivery] = []
        """All deliveries, including those that were answered with a failure."""
        self.taken: list[Delivery] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.status = 204

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?from=mnemolog"

    @property
    def items(self) -> list[dict[str, Any]]:
        """The changes in the deliveries that were accepted, in order."""
        return [item for delivery in self.taken for item in delivery.items]

    async def handle(self, request: web.Request) -> web.Response:
        delivery = Delivery({name.lower(): value for name, value in request.headers.items()}, await request.read())
        self.came.append(delivery)
        status = self.statuses.pop(0) if self.statuses else self.status
        if 200 <= status < 300:
            self.taken.append(delivery)
        return web.Response(status=status, headers=self.headers)

    async def until(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        """Wait until a condition holds. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.02)


@asynccontextmanager
async def webhook_receiver() -> AsyncIterator[WebhookReceiver]:
    """Run a receiver on a free port until the block ends."""
    receiver = WebhookReceiver()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{tail:.*}", receiver.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        receiver.port = runner.addresses[0][1]
        yield receiver
    finally:
        await runner.cleanup()
