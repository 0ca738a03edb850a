"""Stale bytes: copies of moved cells that SQLite leaves behind. `secure_delete` overwrites only deleted cells.

SQLite fills a page from its end, with a gap between the list of cells and the cells. When a page is full, half of its
cells move to another page, and their bytes stay in the gap. If such a record is overwritten later, only its new copy
is.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES_AT_ONCE: Final = 4_096
"""The pages that are cleared in one transaction, during which no other connection can write to the file."""
PATIENCE_SECONDS: Final = 30.0
"""How long a complete checkpoint is tried while others write or read."""
PAUSES_SECONDS: Final = (0.001, 0.05)
"""The first and the longest pause between two attempts; each is twice as long as the previous one."""
MOMENT_MILLISECONDS: Final = 50
"""How long one attempt waits for readers; meanwhile no other connection can write to the file."""
_HEAD: Final = 100
_PAGE_SIZE, _RESERVED, _LARGEST_ROOT = slice(16, 18), 20, slice(52, 56)
_LENGTHS: Final = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}
"""The header lengths of table and index pages, by their first byte. Other pages begin with a page number."""
_opened: Final[dict[Path, int]] = {}
"""Files kept open: closing one would drop the locks that SQLite holds on it in this process."""
_opening: Final = threading.Lock()


class StillWritten(Exception):
    """Others keep writing the file, or reading an old state of it."""


def clear_gaps(path: Path, connection: Any, ending: threading.Event | None = None) -> int:  # noqa: ANN401 - of whichever build of SQLite the process opens it with
    """Overwrite the gaps in the pages of an unencrypted file in WAL mode; return how many pages had stale bytes.

    `connection` belongs to the caller, and must not be in a transaction. Others may read and write the file meanwhile.
    Raises StillWritten (also once `ending` is set), OSError and the connection's errors; gaps cleared until then stay
    cleared.
    """
    ending = ending or threading.Event()
    descriptor, cleared, first = _descriptor(path), 0, 0
    head = os.pread(descriptor, _HEAD, 0)
    if len(head) < _HEAD or any(head[_LARGEST_ROOT]):
        return 0  # empty, or with pointer-map pages, which our files do not have
    size = int.from_bytes(head[_PAGE_SIZE]) if head[_PAGE_SIZE] != b"\0\1" else 1 << 16
    while first * size < os.fstat(descriptor).st_size:
        _begin_alone(path, connection, ending)
        try:
            cleared += _clear(descriptor, first, size, size - head[_RESERVED])
            # A commit makes all connections drop their cached pages, including the old bytes.
            (version,) = connection.execute("pragma user_version").fetchone()
            connection.execute(f"pragma user_version={version}")
        finally:
            connection.execute("commit")
        first += PAGES_AT_ONCE
    empty_log(connection)
    return cleared


def empty_log(connection: Any) -> bool:  # noqa: ANN401
    """Empty a file's write-ahead log; return False if it is being read or written. Writers are delayed only briefly.

    SQLite holds the writers' lock while it waits for readers, by default for the busy timeout of the connection: other
    writers would meanwhile get the error that the file is busy.
    """
    (usual,) = connection.execute("pragma busy_timeout").fetchone()
    connection.execute(f"pragma busy_timeout={MOMENT_MILLISECONDS}")
    try:
        return not connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
    finally:
        connection.execute(f"pragma busy_timeout={usual}")


def _begin_alone(path: Path, connection: Any, ending: threading.Event) -> None:  # noqa: ANN401
    """Begin a write transaction while everything committed is in the file itself. Raises StillWritten."""
    write_ahead = path.with_name(f"{path.name}-wal")
    until, (pause, longest) = time.monotonic() + PATIENCE_SECONDS, PAUSES_SECONDS
    while True:
        empty_log(connection)
        connection.execute("begin immediate")
        if not write_ahead.exists() or not write_ahead.stat().st_size:
            return
        connection.execute("rollback")
        # While another connection checkpoints, SQLite refuses ours at once, whatever the busy timeout is.
        if time.monotonic() >= until or ending.wait(pause):
            raise StillWritten(f"{path} is constantly written or read")
        pause = min(2 * pause, longest)


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
    """Yield the unused spans of a page: the gap before its cells, and the places of deleted cells."""

    def number(at: int) -> int:
        return int.from_bytes(page[at : at + 2])

    length = _LENGTHS.get(page[head])
    if length is None:
        return
    begin, end = head + length + 2 * number(head + 3), number(head + 5) or 1 << 16
    if begin < end <= usable:
        yield slice(begin, end)
    free, last = number(head + 1), 0
    while last < free <= usable - 4:  # a list in page order; each block names the next one, and its own length
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
