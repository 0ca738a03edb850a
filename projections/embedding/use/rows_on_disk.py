"""A large table of which few rows are needed, kept in a file instead of memory."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RowsOnDisk:
    """The rows of a table, read on demand; rows that are read often are in the system's cache.

    The file has no name, and disappears with the process, however it ends.
    """

    def __init__(self, table: NDArray[np.uint8]) -> None:
        """Write the table, shape (rows, width). Raises OSError."""
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as this is
        table.tofile(self._file)
        self._width = table.shape[1]

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the rows at the given places, shape (len(places), width)."""
        different, back = np.unique(places, return_inverse=True)
        rows = np.empty((len(different), self._width), np.uint8)
        descriptor = self._file.fileno()
        for place, row in zip(different.tolist(), rows, strict=True):
            if os.preadv(descriptor, [row.data], place * self._width) != self._width:
                raise OSError("the encoder's table is not whole")
        found: NDArray[np.uint8] = rows[back]
        return found

    def close(self) -> None:
        """Close the file, which removes it."""
        self._file.close()
