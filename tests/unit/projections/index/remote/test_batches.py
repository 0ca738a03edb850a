"""Batches of a put: one partition each, never more than a server takes, and each memory once."""

from __future__ import annotations

from dataclasses import replace

from contract.index_examples import CAT, COFFEE, FOUR, entry

from projections.index.remote.batches import by_partition, newest
from projections.index.remote.object_ids import object_id, partition_name
from schemas.identity import GLOBAL_USER


def test_of_several_versions_the_latest_is_kept_whatever_their_order():
    later = replace(COFFEE, version=2)
    assert newest([COFFEE, CAT, later]) == [later, CAT] == newest([later, CAT, COFFEE])


def test_one_memory_id_of_two_users_is_two_memories():
    theirs = replace(COFFEE, user_id="u2")
    assert newest([COFFEE, theirs]) == [COFFEE, theirs]


def test_a_batch_holds_one_partition_and_at_most_so_many():
    entries = [entry(f"{user} {n}", "x", user_id=user) for user in ("a", "b", "c", "d") for n in range(5)]
    batches = list(by_partition(entries, 4, 3))
    assert all(len(batch) <= 3 for _, batch in batches)
    assert all(partition_name(one.tenant, one.user_id, 4) == name for name, batch in batches for one in batch)
    assert sorted(one.memory_id for _, batch in batches for one in batch) == sorted(one.memory_id for one in entries)


def test_global_memories_have_a_partition_of_their_own():
    assert partition_name("default", "u1", 8).endswith("of8")
    assert partition_name("default", GLOBAL_USER, 8) == "globals"


def test_an_object_is_of_one_version_and_one_copy_of_one_memory():
    ids = [object_id(one, copy) for one in (*FOUR, replace(COFFEE, version=2)) for copy in (0, 1)]
    assert len(set(ids)) == len(ids) == 10
    assert object_id(COFFEE, 0) == object_id(replace(COFFEE, category="habit"), 0)
