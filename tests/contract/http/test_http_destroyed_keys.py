"""A key that was destroyed, or wrapped anew, is gone from the log's file too: also where SQLite had moved it before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door

from schemas import codec
from schemas.identity import Owner
from schemas.messages.data_keys import DataKey
from schemas.topics import KEYS
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from pathlib import Path

ZARA = Owner("default", "zara")
PAGE_BYTES = 4096
LEAF = 0x0D
"""The first byte of a page with rows of a table."""


def leave_behind(file: Path, data: bytes) -> None:
    """Write into the gap of a page with rows, as SQLite does when it moves one of them to another page."""
    with file.open("r+b") as opened:
        opened.seek(PAGE_BYTES)  # the first page tells of the tables
        while page := opened.read(PAGE_BYTES):
            gap, rows = 8 + 2 * int.from_bytes(page[3:5]), int.from_bytes(page[5:7])
            if page[0] == LEAF and rows - gap >= len(data):
                opened.seek(gap - PAGE_BYTES, 1)
                opened.write(data)
                return
    raise AssertionError("no page has room")


@pytest.mark.parametrize("how", ["erased", "wrapped anew"])
async def test_of_a_key_that_no_longer_opens_anything_no_byte_stays(tmp_path: Path, how: str):
    async with front_door(tmp_path) as door:
        await door.remember("keeps a quokka", ZARA.user_id)
        [key_id] = door.worker.sealing.keys.ring.ids_of(ZARA)
        records = await SqliteLog.opened(tmp_path / "log").read(KEYS.name, 0, 0)
        [wrapped] = [codec.decode_as(one.value, DataKey).wrapped for one in records if one.key == key_id]
    leave_behind(tmp_path / "log" / LOG_FILE, wrapped)
    async with front_door(tmp_path) as door:
        if how == "erased":
            answer = await door.http.delete(f"/v1/users/{ZARA.user_id}")
        else:
            answer = await door.post("/v1/admin/keys/rotate")
        assert answer.status_code == 200, answer.text
        assert wrapped not in b"".join(path.read_bytes() for path in (tmp_path / "log").iterdir())
