"""A table of which few rows are asked for: the file answers as the table would."""

from __future__ import annotations

import tempfile
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from projections.embedding.use.rows_on_disk import RowsOnDisk

if TYPE_CHECKING:
    from pathlib import Path


def test_the_rows_are_those_of_the_table_in_the_order_that_was_asked_for():
    table = np.random.default_rng(3).integers(0, 256, (1_000, 512), np.uint8)
    with closing(RowsOnDisk(table)) as rows:
        for places in ([7, 999, 7, 0], [], list(range(999, -1, -1))):
            asked = np.array(places, np.int64)
            assert np.array_equal(rows[asked], table[asked])


def test_a_disk_without_room_is_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(OSError, match="missing"):
        RowsOnDisk(np.zeros((2, 2), np.uint8))
