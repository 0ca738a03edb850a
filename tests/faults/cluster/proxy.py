"""A TCP proxy whose wire can be cut: then nothing goes through, and nobody is told."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

CHUNK_BYTES = 1 << 16


class Proxy:
    """Leads from one port of 127.0.0.1 to another while entered."""

    def __init__(self, port: int, behind: int) -> None:
        """Lead nowhere yet."""
        self._port = port
        self._behind = behind
        self._whole = asyncio.Event()
        self._whole.set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self) -> None:
        """Let nothing through: connections stay open, bytes wait, new connections get no answer."""
        self._whole.clear()

    def mend(self) -> None:
        """Let everything through again, also what waited."""
        self._whole.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there: asyncio.StreamWriter | None = None
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        try:
            await self._whole.wait()
            back, there = await asyncio.open_connection("127.0.0.1", self._behind)
            ways = [asyncio.create_task(self._carry(reader, there)), asyncio.create_task(self._carry(back, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # one end is gone: so is the other
        finally:
            self._carrying.discard(task)
            for end in (writer, there):
                if end is not None:
                    end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while some := await reader.read(CHUNK_BYTES):
                await self._whole.wait()
                writer.write(some)
                await writer.drain()
