"""Stale bytes: what SQLite leaves of cells that it has moved; `secure_delete` overwrites only those that it deletes.

A page of a table is filled from its end; between the cells and the list of them lies a gap. When a page is full, half
of its cells go to another one, and their bytes stay in the gap. A record that is overwritten later is so at its new
place alone.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES_AT_ONCE: Final = 4_096
"""Nobody else writes the file meanwhile."""
TRIES: Final = 100
"""Of a checkpoint that leaves nothing behind, beside others who write."""
_HEAD: Final = 100
_PAGE_SIZE, _RESERVED, _LARGEST_ROOT = slice(16, 18), 20, slice(52, 56)
_LENGTHS: Final = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}
"""Of the header of a page of a table or an index, by its first byte. Other pages begin with the number of a page."""
_opened: Final[dict[Path, int]] = {}
"""Files that stay open: to close one would drop the locks that SQLite has on it in this process."""
_opening: Final = threading.Lock()


class StillWritten(Exception):
    """Others write the file all the while, or read an old state of it."""


def clear_gaps(path: Path, connection: Any) -> int:  # noqa: ANN401 - of whichever build of SQLite the process opens it with
    """Overwrite what lies between the cells of a file in clear, in WAL mode; return how many pages had something there.

    `connection` is the caller's own, without a transaction. Others may read and write the file. Raises StillWritten,
    OSError and the connection's errors; what was done until then is done.
    """
    descriptor, cleared, first = _descriptor(path), 0, 0
    head = os.pread(descriptor, _HEAD, 0)
    if len(head) < _HEAD or any(head[_LARGEST_ROOT]):
        return 0  # nothing in it, or pages that only say where others are: we make no such files
    size = int.from_bytes(head[_PAGE_SIZE]) if head[_PAGE_SIZE] != b"\0\1" else 1 << 16
    while first * size < os.fstat(descriptor).st_size:
        _begin_alone(path, connection)
        try:
            cleared += _clear(descriptor, first, size, size - head[_RESERVED])
            # With a commit, everybody drops the pages that they keep in memory, old bytes and all.
            (version,) = connection.execute("pragma user_version").fetchone()
            connection.execute(f"pragma user_version={version}")
        finally:
            connection.execute("commit")
        first += PAGES_AT_ONCE
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    return cleared


def _begin_alone(path: Path, connection: Any) -> None:  # noqa: ANN401
    """Begin to write while all that was committed lies in the file itself. Raises StillWritten."""
    write_ahead = path.with_name(f"{path.name}-wal")
    for _ in range(TRIES):
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        connection.execute("begin immediate")
        if not write_ahead.exists() or not write_ahead.stat().st_size:
            return
        connection.execute("rollback")
    raise StillWritten(f"{path} is written or read all the while")


def _clear(descriptor: int, first: int, size: int, usable: int) -> int:
    data, cleared = os.pread(descriptor, PAGES_AT_ONCE * size, first * size), 0
    for start in range(0, len(data), size):
        page = data[start : start + size]
        spots = [spot for spot in _gaps(page, _HEAD if first + start == 0 else 0, usable) if any(page[spot])]
        for spot in spots:
            os.pwrite(descriptor, bytes(spot.stop - spot.start), first * size + start + spot.start)
        cleared += bool(spots)
    if cleared:
        os.fsync(descriptor)
    return cleared


def _gaps(page: bytes, head: int, usable: int) -> Iterator[slice]:
    """Yield where a page has nothing that counts: before its cells, and where single ones were deleted."""

    def number(at: int) -> int:
        return int.from_bytes(page[at : at + 2])

    length = _LENGTHS.get(page[head])
    if length is None:
        return
    begin, end = head + length + 2 * number(head + 3), number(head + 5) or 1 << 16
    if begin < end <= usable:
        yield slice(begin, end)
    free, last = number(head + 1), 0
    while last < free <= usable - 4:  # in the order of the page; each says where the next is, and how long it is itself
        yield slice(free + 4, min(free + number(free + 2), usable))
        free, last = number(free), free


def _descriptor(path: Path) -> int:
    with _opening:
        for known, descriptor in list(_opened.items()):
            if not os.fstat(descriptor).st_nlink:
                os.close(descriptor)
                del _opened[known]
        if path not in _opened:
            _opened[path] = os.open(path, os.O_RDWR)
        return _opened[path]
