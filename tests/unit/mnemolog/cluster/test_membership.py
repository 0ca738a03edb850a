"""A worker that shares its URL with another one hears of it when partitions are given."""

from __future__ import annotations

import pytest

from mnemolog.cluster.membership import shared_url

MINE = "http://one:8420"


@pytest.mark.parametrize("told", [{0: MINE, 1: "http://two:8420", 2: f"{MINE}/"}, {2: MINE, 0: MINE}])
def test_what_the_group_says_of_this_url_is_what_this_worker_has(told):
    assert shared_url(MINE, [0, 2], told) is None


def test_a_worker_without_partitions_shares_its_url_with_nobody():
    assert shared_url(MINE, [], {0: "http://two:8420"}) is None


@pytest.mark.parametrize("told", [{0: "http://two:8420", 1: MINE}, {1: MINE, 3: MINE}, {0: MINE}])
def test_other_partitions_at_this_url_are_those_of_another_worker(told):
    found = shared_url(MINE, [0, 2], told)
    assert found is not None
    assert "MNEMOLOG_ADVERTISED_URL=http://one:8420 is also that of another worker" in found
