"""A worker that has another worker's URL finds out when partitions are assigned."""

from __future__ import annotations

import pytest

from mnemolog.cluster.membership import find_duplicate_url

MINE = "http://one:8420"


@pytest.mark.parametrize("owners", [{0: MINE, 1: "http://two:8420", 2: f"{MINE}/"}, {2: MINE, 0: MINE}])
def test_what_the_group_says_of_this_url_is_what_this_worker_has(owners):
    assert find_duplicate_url(MINE, [0, 2], owners) is None


def test_a_worker_without_partitions_has_its_url_to_itself():
    assert find_duplicate_url(MINE, [], {0: "http://two:8420"}) is None


@pytest.mark.parametrize("owners", [{0: "http://two:8420", 1: MINE}, {1: MINE, 3: MINE}, {0: MINE}])
def test_other_partitions_at_this_url_are_those_of_another_worker(owners):
    problem = find_duplicate_url(MINE, [0, 2], owners)
    assert problem is not None
    assert "MNEMOLOG_ADVERTISED_URL=http://one:8420 is also that of another worker" in problem
