"""Head and body of an answer are sent together; what is much is sent as it comes."""

from __future__ import annotations

import asyncio
from typing import cast

from mnemolog.http.bounds.connections import MAX_JOINED_BYTES, JoinedWrites


class Wire:
    """A transport that notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.sent.append(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def get_write_buffer_size(self) -> int:
        return 7


def joined() -> tuple[Wire, JoinedWrites]:
    wire = Wire()
    return wire, JoinedWrites(cast("asyncio.Transport", wire), asyncio.get_running_loop())


async def test_what_is_written_in_one_turn_is_sent_together_at_its_end():
    wire, transport = joined()
    transport.write(b"head")
    transport.write(b"body")
    assert wire.sent == []
    await asyncio.sleep(0)
    assert wire.sent == [b"headbody"]


async def test_a_head_is_sent_though_its_body_comes_later():
    wire, transport = joined()
    transport.write(b"head")
    await asyncio.sleep(0)
    transport.write(b"body")
    await asyncio.sleep(0)
    assert wire.sent == [b"head", b"body"]


async def test_what_is_much_is_sent_before_the_turn_ends_so_that_it_is_not_collected():
    wire, transport = joined()
    transport.write(b"head")
    for _ in range(3):
        transport.write(b"x" * MAX_JOINED_BYTES)
    assert [len(part) for part in wire.sent] == [MAX_JOINED_BYTES + 4, 2 * MAX_JOINED_BYTES]
    await asyncio.sleep(0)
    assert sum(map(len, wire.sent)) == 3 * MAX_JOINED_BYTES + 4


async def test_what_was_written_is_sent_before_the_connection_is_closed():
    wire, transport = joined()
    transport.write(b"head")
    transport.close()
    assert (wire.sent, transport.is_closing()) == ([b"head"], True)
    await asyncio.sleep(0)
    assert wire.sent == [b"head"]


async def test_what_was_written_to_a_caller_who_hangs_up_before_the_turn_ends_is_dropped_without_a_word():
    """A stranger could fill the worker's log otherwise, a traceback for each connection that is reset."""
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))
    wire, transport = joined()
    transport.write(b"head")
    wire.close()
    await asyncio.sleep(0)
    assert (wire.sent, errors) == ([], [])


async def test_all_else_is_that_of_the_transport():
    _, transport = joined()
    assert transport.get_write_buffer_size() == 7
