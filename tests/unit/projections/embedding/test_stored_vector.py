"""A stored vector takes a byte a dimension, and finds what the exact one finds."""

from __future__ import annotations

import numpy as np
import pytest
from support.tables import each

from projections.embedding.embedder import Vectors, unit_vectors
from projections.embedding.stored_vector import NoVector, vector_bytes, vector_of, vectors_of

TOPICS, MEMORIES_OF_A_TOPIC, QUERIES = 100, 20, 200


def around_topics(count: int, dimensions: int, spread: float, seed: int) -> Vectors:
    """Return unit vectors that lie about topics, as sentences do: some close to each other, most far apart."""
    topics = np.random.default_rng(7).standard_normal((TOPICS, dimensions))
    noise = np.random.default_rng(seed).standard_normal((count, dimensions))
    return unit_vectors(topics[np.arange(count) % TOPICS] + spread * noise)


@each(("dimensions", "stored"), [(1, 2), (2, 3), (3, 5), (4, 5), (511, 513), (512, 513), (768, 769)])
def test_a_byte_a_dimension_and_never_the_length_of_float32(dimensions: int, stored: int) -> None:
    [vector] = unit_vectors([np.arange(1, dimensions + 1)])

    data = vector_bytes(vector)

    assert len(data) == stored
    assert len(data) % 4
    assert vector_of(data).shape == (dimensions,)
    assert vector_bytes(vector_of(data)) == data


def test_a_cosine_moves_by_a_thousandth_or_two_and_the_length_stays_one() -> None:
    exact = around_topics(2_000, 512, 0.7, 1)
    stored = np.stack([vector_of(vector_bytes(vector)) for vector in exact])

    assert np.abs(stored @ exact[:200].T - exact @ exact[:200].T).max() < 0.0025
    assert np.abs(stored @ exact[:200].T - exact @ exact[:200].T).mean() < 0.0005
    assert np.linalg.norm(stored, axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("dimensions", [384, 512, 1024])
def test_the_ten_nearest_are_those_of_the_exact_vectors(dimensions: int) -> None:
    exact = around_topics(TOPICS * MEMORIES_OF_A_TOPIC, dimensions, 0.7, 1)
    queries = around_topics(QUERIES, dimensions, 0.7, 2)
    stored = np.stack([vector_of(vector_bytes(vector)) for vector in exact])

    wanted = np.argsort(-(queries @ exact.T), axis=1)[:, :10]
    found = np.argsort(-(queries @ stored.T), axis=1)[:, :10]

    shared = [len(set(a) & set(b)) for a, b in zip(wanted.tolist(), found.tolist(), strict=True)]
    assert sum(shared) / (10 * QUERIES) >= 0.97
    assert np.mean(wanted[:, 0] == found[:, 0]) >= 0.97


def test_float32_of_others_and_of_older_versions_is_read_as_it_is() -> None:
    vector = np.array([0.6, -0.8, 0.0], "<f4")

    assert np.array_equal(vector_of(vector.tobytes()), vector)
    assert vector_of(b"").size == 0
    assert vector_bytes([]) == b""


def test_the_form_is_for_ever() -> None:
    assert vector_bytes([0.6, -0.8, 0.0]) == bytes([95, 0x81, 0, 0x80, 0x80])
    assert vector_of(bytes([3, 0xFC, 0, 0x80, 0x80])).tolist() == pytest.approx([0.6, -0.8, 0.0])
    assert vector_of(b"\x00\x80").tolist() == [0.0]


@each("data", [b"\x01\x02\x03", b"\x80", b"\x01\x80\x80", b"\x01\x80\x01\x02\x80", b"\x01\x02\x03\x04\x05"])
def test_what_is_no_vector_is_refused(data: bytes) -> None:
    with pytest.raises(NoVector):
        vector_of(data)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(NoVector):
        vector_bytes([number, 1.0])
    with pytest.raises(NoVector):
        vector_of(np.array([number, 1.0], "<f4").tobytes())


@each("dimensions", [1, 2, 3, 4, 511, 512, 1536])
def test_several_are_read_as_each_alone(dimensions: int) -> None:
    chance = np.random.default_rng(dimensions)
    stored = [vector_bytes(vector) for vector in chance.standard_normal((9, dimensions))]
    stored += [vector_bytes(np.zeros(dimensions))]
    others = [vector_bytes(chance.standard_normal(dimensions + 1)), chance.standard_normal(8).astype("<f4").tobytes()]
    for some in (stored, stored[:1], [*stored, *others], others, []):
        found = vectors_of(some)
        assert len(found) == len(some)
        for vector, data in zip(found, some, strict=True):
            np.testing.assert_array_equal(vector, vector_of(data))
            assert vector.dtype == np.float32


@each("data", [b"\x80" * 5, b"\x01\x80\x01\x80\x80", b"\x01\x02\x80\x80\x80", b"\x01\x02\x03\x04\x05"])
def test_what_is_no_vector_is_refused_among_others(data: bytes) -> None:
    whole = vector_bytes(np.ones(4))
    assert len(whole) == len(data)
    for some in ([data], [whole, data], [data, whole]):
        with pytest.raises(NoVector):
            vectors_of(some)
