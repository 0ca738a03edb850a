"""An answer is written as few times as it can be."""

from __future__ import annotations

import asyncio
from typing import cast

from mnemolog.http.bounds.connections import OneWrite


class Written(asyncio.Transport):
    """Keeps what is written, by the call."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append(bytes(data))

    def writelines(self, list_of_data: object) -> None:
        self.calls.append(b"".join(cast("tuple[bytes, ...]", list_of_data)))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


async def test_head_and_body_are_written_together_and_what_follows_by_itself():
    written = Written()
    answer = OneWrite(written, asyncio.get_running_loop())
    answer.write(b"head ")
    assert written.calls == []
    answer.write(b"body")
    answer.write(b"more")
    await asyncio.sleep(0)
    assert written.calls == [b"head body", b"more"]


async def test_a_streams_head_does_not_wait_for_its_first_line():
    written = Written()
    answer = OneWrite(written, asyncio.get_running_loop())
    answer.write(b"head")
    await asyncio.sleep(0)
    assert written.calls == [b"head"]
    answer.write(b"line")
    assert written.calls == [b"head", b"line"]


async def test_a_connection_is_closed_behind_a_head_that_waits():
    written = Written()
    answer = OneWrite(written, asyncio.get_running_loop())
    answer.write(b"head")
    answer.close()
    assert answer.is_closing()
    assert written.calls == [b"head"]
