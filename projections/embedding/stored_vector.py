"""A vector as the log and the shards hold it: a byte a dimension.

    int8 of each dimension, the largest being 127 | 0x80, and once more where the length were a multiple of four

That is a quarter of float32, and moves a cosine by a thousandth or two at most. Vectors that others append,
and those of older versions, are little-endian float32; their length is a multiple of four, which tells them apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from projections.embedding.embedder import Vectors

_LARGEST: Final = 127
_PADDING: Final = b"\x80"
"""-128, which no dimension has."""
_FLOAT_BYTES: Final = 4


class NoVector(ValueError):
    """The bytes hold no vector of finite numbers."""


def vector_bytes(vector: ArrayLike) -> bytes:
    """Return a unit vector, shape (dimensions,), as it is stored. Raises NoVector where a number is not finite."""
    exact = np.asarray(vector, np.float64)
    largest = np.abs(exact).max(initial=0.0) or 1.0
    if not np.isfinite(largest):
        raise NoVector("a vector has finite numbers")
    return _padded(np.rint(exact * (_LARGEST / largest)).astype(np.int8).tobytes())


def vector_of(data: bytes) -> Vectors:
    """Return the vector that is stored, float32: what was rounded has the length 1 again. Raises NoVector.

    Equal bytes give equal vectors on every machine: the length is that of whole numbers.
    """
    if len(data) % _FLOAT_BYTES == 0:
        found: Vectors = np.frombuffer(data, "<f4")
        if not np.isfinite(found).all():
            raise NoVector(f"{len(data)} bytes are no vector of finite float32")
        return found
    rounded = data.rstrip(_PADDING)
    if _padded(rounded) != data or _PADDING in rounded:
        raise NoVector(f"{len(data)} bytes are no vector: neither float32 nor a padded int8")
    whole = np.frombuffer(rounded, np.int8).astype(np.int32)
    length = math.sqrt(int(whole @ whole)) or 1.0
    unit: Vectors = whole.astype(np.float32) / np.float32(length)
    return unit


def _padded(rounded: bytes) -> bytes:
    if not rounded:
        return b""
    data = rounded + _PADDING
    return data if len(data) % _FLOAT_BYTES else data + _PADDING
