"""What is read beside the loop: whatever the reader meets ends the reading, with its reason."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.cli.lines.reader import ReaderFailed, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("of its own"), "the reader failed with ValueError: of its own"),
        (RuntimeError("of its own"), "the reader failed with RuntimeError: of its own"),
        (FileNotFoundError("gone"), "gone"),
    ],
)
async def test_any_error_of_the_reader_ends_the_reading(error: Exception, told: str):
    def rows() -> Iterator[tuple[BadLine, int]]:
        yield BadLine("f", 1, "bad"), 1
        raise error

    async with asyncio.timeout(120):
        with pytest.raises(OSError, match=told) as raised:
            async for _ in read_rows(rows):
                pass
    assert isinstance(raised.value, ReaderFailed) == (told != "gone")
