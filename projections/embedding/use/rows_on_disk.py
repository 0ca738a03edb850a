"""A large table of which few rows are asked for: it lies in a file, and takes no memory."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RowsOnDisk:
    """The rows of a table, read as they are asked for; what is read often is in the system's cache.

    The file has no name, and is gone with the process, however it ends.
    """

    def __init__(self, table: NDArray[np.uint8]) -> None:
        """Write the table, shape (rows, width). Raises OSError."""
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as this is
        table.tofile(self._file)
        self._width = table.shape[1]

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the rows at some places, shape (len(places), width)."""
        different, back = np.unique(places, return_inverse=True)
        rows = np.empty((len(different), self._width), np.uint8)
        descriptor = self._file.fileno()
        for place, row in zip(different.tolist(), rows, strict=True):
            if os.preadv(descriptor, [row.data], place * self._width) != self._width:
                raise OSError("the encoder's table is not whole")
        found: NDArray[np.uint8] = rows[back]
        return found

    def close(self) -> None:
        """Close the file, which is gone then."""
        self._file.close()
