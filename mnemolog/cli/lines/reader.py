"""Reads files of event lines off the event loop: an idle pipe blocks neither the engine nor Ctrl-C."""

from __future__ import annotations

import asyncio
import codecs
import errno
import gzip
import sys
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias, cast

from mnemolog.cli.lines.event_lines import BadLine, EventLine, event_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from io import BufferedReader

STDIN: Final = "-"
_GZIP: Final = b"\x1f\x8b"
LINES_AT_ONCE: Final = 200
PARTS_AHEAD: Final = 4
PAUSE_SECONDS: Final = 0.5
"""The time without a line after which the reader reports that there are none for now."""

Part: TypeAlias = "tuple[list[EventLine | BadLine], int] | OSError | None"
"""Lines and their size in bytes, or the error that ended reading, or None at the end."""


class ReaderFailed(OSError):
    """The reader met what it does not know; the message says what."""


class _NobodyReads(Exception):
    """The loop is gone, and needs no more lines."""


def read_files(names: Sequence[str]) -> AsyncIterator[tuple[list[EventLine | BadLine], int]]:
    """Give the lines of all files in portions, with their size in bytes; [] if no line arrives for a while.

    Raises OSError.
    """
    return _beside(lambda give: _read_all(names, give))


def read_rows(
    rows: Callable[[], Iterator[tuple[EventLine | BadLine, int]]],
) -> AsyncIterator[tuple[list[EventLine | BadLine], int]]:
    """Give rows in portions, each with its share of the whole. `rows` runs off the loop. Raises OSError."""

    def read(give: Callable[[Part], None]) -> None:
        ready: list[EventLine | BadLine] = []
        far = 0
        for row, size in rows():
            ready.append(row)
            far += size
            if len(ready) >= LINES_AT_ONCE:
                give((ready, far))
                ready, far = [], 0
        give((ready, far))

    return _beside(read)


async def _beside(
    read: Callable[[Callable[[Part], None]], None],
) -> AsyncIterator[tuple[list[EventLine | BadLine], int]]:
    loop, parts = asyncio.get_running_loop(), asyncio.Queue[Part](PARTS_AHEAD)

    def give(part: Part) -> None:
        try:
            asyncio.run_coroutine_threadsafe(parts.put(part), loop).result()
        except (RuntimeError, CancelledError) as error:
            raise _NobodyReads from error

    # A daemon, because a read from a terminal or a pipe cannot be cancelled, and must not keep the process alive.
    threading.Thread(target=_run, args=(read, give), name="reading", daemon=True).start()
    while True:
        try:
            part = await asyncio.wait_for(parts.get(), PAUSE_SECONDS)
        except TimeoutError:
            yield [], 0
            continue
        if part is None:
            return
        if isinstance(part, OSError):
            raise part
        yield part


def _run(read: Callable[[Callable[[Part], None]], None], give: Callable[[Part], None]) -> None:
    """Read to the end, and pass on the error that ended it, so that no caller waits forever for more lines."""
    with suppress(_NobodyReads):
        try:
            read(give)
            give(None)
        except _NobodyReads:
            raise
        except OSError as error:
            give(error)
        except Exception as error:  # noqa: BLE001 - raised where the lines are awaited
            failed = ReaderFailed(f"the reader failed with {type(error).__name__}: {error}")
            failed.__cause__ = error
            give(failed)


def sizes(names: Sequence[str]) -> int | None:
    """Return the size of all files in bytes; None if stdin or a pipe is among them. Raises OSError."""
    if STDIN in names:
        return None
    found = [Path(name).stat() for name in names]
    return sum(one.st_size for one in found) if all(S_ISREG(one.st_mode) for one in found) else None


def missing(names: Sequence[str]) -> str | None:
    """Return the fault of the first name that is not a file's; None if all are."""
    for name in names:
        if name != STDIN and Path(name).is_dir():
            return f"{name} is a folder, not a file"
        if name != STDIN and not Path(name).exists():
            return f"there is no file {name}"
    return None


def _read_all(names: Sequence[str], give: Callable[[Part], None]) -> None:
    for name in names:
        _read(name, give)


def _read(name: str, give: Callable[[Part], None]) -> None:
    if name == STDIN and sys.stdin is None:
        raise OSError(errno.EBADF, "stdin is closed")
    # stdin by its number: the lock of sys.stdin, which this thread may hold, would block the end of the process
    with open(sys.stdin.fileno() if name == STDIN else name, "rb", closefd=name != STDIN) as stream:
        is_file = name != STDIN and stream.seekable()  # the lines of a pipe are passed on as they arrive
        ready: list[EventLine | BadLine] = []
        seen = 0
        for line in event_lines(name, _plain(stream), datetime.now(UTC)):
            ready.append(line)
            if not is_file or len(ready) >= LINES_AT_ONCE:
                here = stream.tell() if is_file else 0
                give((ready, here - seen))
                ready, seen = [], here
        give((ready, stream.tell() - seen if is_file else 0))


def _plain(stream: BufferedReader) -> BinaryIO:
    """Return a stream of UTF-8 from one in gzip or, as PowerShell writes it, in UTF-16."""
    beginning = stream.peek(2)[:2]
    if beginning == _GZIP:
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    if beginning in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return cast("BinaryIO", codecs.EncodedFile(stream, "utf-8", "utf-16"))
    return stream
