"""Vectors of turns in a shard: one a turn, gone with any words that are in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING

from projections.partitions.retention import remove_expired
from projections.shard.tables import connect, name_of
from projections.shard.turn_vectors import TurnVector, remove_turn_vectors
from schemas.identity import Owner
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from support.workbench import Workbench

    from projections.shard.shard import Shard

OTHER = Owner("default", "other")
VECTORS = [TurnVector("t-1", "t-2", b"one"), TurnVector("t-3", None, b"two")]


@pytest.fixture
def shard(bench: Workbench) -> Shard:
    return bench.shards.at(0)


def kept(shard: Shard, owner: Owner = XIAOMING, model: str = "m") -> list[str]:
    return [one.event_id for one in shard.turn_vectors.of(owner, model)]


def test_a_vector_put_twice_is_there_once_and_a_newer_one_takes_its_place(shard: Shard):
    for _ in range(2):
        shard.turn_vectors.put(XIAOMING, "m", VECTORS)
    assert shard.turn_vectors.of(XIAOMING, "m") == VECTORS
    newer = TurnVector("t-3", "t-4", b"three")
    shard.turn_vectors.put(XIAOMING, "m", [newer])
    assert shard.turn_vectors.of(XIAOMING, "m") == [VECTORS[0], newer]


def test_vectors_are_of_one_user_and_of_one_encoder(shard: Shard):
    shard.turn_vectors.put(XIAOMING, "m", VECTORS)
    assert (kept(shard, OTHER), kept(shard, model="another")) == ([], [])
    shard.turn_vectors.put(XIAOMING, "another", VECTORS[1:])
    assert (kept(shard), kept(shard, model="another")) == (["t-1"], ["t-3"])


@pytest.mark.parametrize(
    ("gone", "left"), [("t-1", ["t-3"]), ("t-2", ["t-3"]), ("t-3", ["t-1"]), ("t-9", ["t-1", "t-3"])]
)
def test_a_vector_goes_with_its_turn_and_with_its_reply(tmp_path: Path, shard: Shard, gone: str, left: list[str]):
    for owner in (XIAOMING, OTHER):
        shard.turn_vectors.put(owner, "m", VECTORS)
    connection = connect(tmp_path / "one" / "0.sqlite")
    for _ in range(2):
        remove_turn_vectors(connection, [(name_of(XIAOMING), gone)])
    connection.close()
    assert (kept(shard), kept(shard, OTHER)) == (left, ["t-1", "t-3"])


async def test_retention_takes_the_vectors_that_its_words_are_in(bench: Workbench, shard: Shard):
    for number in range(1, 5):
        await bench.says(f"t-{number}")
    await shard.catch_up()
    shard.turn_vectors.put(XIAOMING, "m", [TurnVector("t-3", "t-4", b"one"), TurnVector("t-1", "t-2", b"two")])
    await bench.log.drop_before(CONVERSATIONS.name, 0, 1)
    await remove_expired(bench.log, bench.shards)
    assert kept(shard) == ["t-3"]


async def test_a_shard_that_starts_over_has_no_vector(shard: Shard):
    shard.turn_vectors.put(XIAOMING, "m", VECTORS)
    shard.start_over()
    assert kept(shard) == []
