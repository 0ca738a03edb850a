"""Frames: the units in which this process and a child process communicate, a length and that many bytes."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LENGTH_BYTES: Final = 4


def frame_of(body: bytes) -> bytes:
    """Return a body preceded by its length."""
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


def write_frame(pipe: BinaryIO, body: bytes) -> None:
    """Write a frame and flush it. Raises OSError if the other end of the pipe is closed."""
    pipe.write(frame_of(body))
    pipe.flush()


def read_frame(pipe: BinaryIO) -> bytes | None:
    """Return the next frame; None if the pipe has ended, even within a frame."""
    head = pipe.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    body = pipe.read(length := int.from_bytes(head, "little"))
    return body if len(body) == length else None


@contextmanager
def answers() -> Iterator[BinaryIO]:
    """Yield where a child process writes its answers, until the parent reads no more. What it prints goes to stderr."""
    with suppress(BrokenPipeError, ConnectionResetError), os.fdopen(os.dup(sys.stdout.fileno()), "wb") as pipe:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield pipe
