"""An encoder as a separate program: texts come in on stdin, vectors go out on stdout, until stdin ends.

Its argument is the encoder, as JSON: `{"kind": "builtin"}`, or `onnx` with the fields of an OnnxFolder, or `fastembed`
with a name and the location of its files.

A frame is a length, 4 bytes little-endian, and that many bytes. The first output frame is empty if the model is loaded;
otherwise it holds the error. Then each input frame is a JSON array of texts, and the output frame holds their vectors,
little-endian float32. The parent process holds the other end of stdin: when it dies, for whatever reason, the file
ends, and so does this process.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.embedding.embedder import unit_vectors
from schemas.frames import answers, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from projections.embedding.embedder import Vectors

DIMENSIONS: Final = 512
THREADS: Final = min(4, max(1, (os.cpu_count() or 1) - 1))
"""The number of threads. One core is left to the event loop: two processes that compete for it are slower than one."""


def main() -> None:
    """Answer each frame in turn. The model is loaded at once, which takes about a second."""
    with answers() as pipe:
        try:
            encode = _load(**orjson.loads(sys.argv[1]))
        except Exception as error:  # noqa: BLE001 - an operator must see any error of a library
            write_frame(pipe, f"{type(error).__name__}: {error}".encode())
            return
        _release_free_memory()
        write_frame(pipe, b"")
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            vectors: Vectors = unit_vectors(encode(orjson.loads(frame)))
            write_frame(pipe, vectors.astype("<f4", copy=False).tobytes())


def _release_free_memory() -> None:
    """Return the memory that malloc keeps after loading to the system, which only glibc supports."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _load(kind: str, **given: Any) -> Callable[[list[str]], ArrayLike]:  # noqa: ANN401 - as JSON has them
    """Load an encoder. Only this program needs the packages, not its parent."""
    if kind == "onnx":
        from projections.embedding.onnx.encoder import OnnxEncoder  # noqa: PLC0415
        from projections.embedding.onnx.folder import OnnxFolder  # noqa: PLC0415

        given |= {name: Path(given[name]) for name in ("model", "tokenizer")}
        return OnnxEncoder(OnnxFolder(**given), THREADS).encode
    if kind == "fastembed":
        from projections.embedding.onnx.fastembed_encoder import FastembedEncoder  # noqa: PLC0415

        return FastembedEncoder(threads=THREADS, **given).encode
    from projections.embedding.use.encoder import loaded  # noqa: PLC0415

    encode: Callable[[list[str]], ArrayLike] = loaded(THREADS).encode
    return encode


if __name__ == "__main__":
    main()
