"""A user's vectors take a byte a dimension where they can, and are the same to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from support.tables import each

from projections.embedding.stored_vector import vector_bytes, vector_of
from projections.index.embedded.vector_block import FEW_VECTORS, VectorBlock

DIMENSIONS = 64


def stored(count, seed=1):
    chance = np.random.default_rng(seed)
    return [vector_of(vector_bytes(vector)) for vector in chance.standard_normal((count, DIMENSIONS))]


def block_of(vectors):
    block = VectorBlock(DIMENSIONS, 0)
    for row, vector in enumerate(vectors):
        block.append(row, vector)
    block.pack()
    return block


@each("count", [0, 1, 20, FEW_VECTORS, FEW_VECTORS + 1])
def test_vectors_are_those_that_were_appended(count):
    vectors = stored(count)
    block = block_of(vectors)
    np.testing.assert_array_equal(block.vectors(), np.array(vectors, np.float32).reshape(count, DIMENSIONS))
    assert block.rows.tolist() == list(range(count))


def test_few_vectors_take_a_byte_a_dimension_and_many_four():
    few, many = block_of(stored(100)), block_of(stored(FEW_VECTORS + 1))
    assert few.nbytes == 100 * (DIMENSIONS + 4)
    assert many.nbytes >= 4 * DIMENSIONS * len(many.rows)


def test_vectors_appended_later_stand_behind_the_others_until_they_are_many():
    vectors = stored(2 * FEW_VECTORS)
    block = block_of(vectors[:5])
    for row, vector in enumerate(vectors[5:], 5):
        block.append(row, vector)
        if row % 7 == 0:
            block.pack()
        np.testing.assert_array_equal(block.vectors(), vectors[: row + 1])


@pytest.mark.parametrize("strange", [np.zeros(DIMENSIONS), np.linspace(0.001, 0.2, DIMENSIONS)])
def test_vectors_that_bytes_do_not_hold_exactly_stay_as_they_are(strange):
    vectors = [*stored(3), strange.astype(np.float32)]
    np.testing.assert_array_equal(block_of(vectors).vectors(), vectors)
