"""A lease ends with the release of its partition, and with it every right to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.workbench import Workbench

from projections.partitions.assignment import Assignment

if TYPE_CHECKING:
    from pathlib import Path


class Delivered:
    """A record as an agent received it; `rebalanced` says that a rebalance has come since."""

    def __init__(self, *, rebalanced: bool = False) -> None:
        self.rebalanced = rebalanced

    def is_current(self) -> bool:
        return not self.rebalanced


def test_a_lease_can_be_taken_before_the_partition_is_held():
    assert Assignment().lease(0).is_valid


def test_a_lease_ends_with_the_release_of_its_partition_and_no_other():
    assignment = Assignment()
    lease, other = assignment.lease(0), assignment.lease(1)
    assignment.release(0)
    assert (lease.is_valid, other.is_valid) == (False, True)


def test_a_lease_does_not_come_back_with_its_partition():
    assignment = Assignment()
    assignment.assign([0])
    lease = assignment.lease(0)
    assignment.release(0)
    assignment.assign([0])
    assert not lease.is_valid
    assert assignment.lease(0).is_valid


def test_leases_of_one_term_are_equal():
    assignment = Assignment()
    lease = assignment.lease(0)
    assert lease == assignment.lease(0)
    assignment.release(0)
    assert lease != assignment.lease(0)


def test_a_record_may_be_worked_on_under_its_lease_until_a_rebalance():
    assignment = Assignment()
    lease = assignment.lease(0)
    assert lease.is_current(Delivered())
    assert not lease.is_current(Delivered(rebalanced=True))
    assignment.release(0)
    assert not lease.is_current(Delivered())


def test_a_shard_that_a_rebuild_replaced_while_it_was_folded_does_not_come_back(tmp_path: Path):
    bench = Workbench(tmp_path)
    assignment = bench.shards.assignment
    old = assignment.take(0)
    assert old is not None
    fresh = bench.shards.generation.open(0)
    old.retired = True
    assignment.replace({**assignment.shards, 0: fresh})
    assignment.hold(0, old)
    assert assignment.shard(0) is fresh
    old.close()
    bench.close()
