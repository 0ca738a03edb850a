"""A queue's parties have turns, and each its own order."""

from __future__ import annotations

import pytest

from streams.delivery.fair_queue import FairQueue


def taken(queue: FairQueue[int]) -> list[int]:
    """Return everything that is in a queue, as it comes."""
    found = []
    while queue:
        found.append(queue.take())
    return found


def test_who_has_one_item_waits_for_one_of_each_other():
    queue = FairQueue[int]()
    for number in range(4):
        queue.put("a", number)
    queue.put("b", 10)
    queue.put("c", 20)
    queue.put("c", 21)
    assert taken(queue) == [0, 10, 20, 1, 21, 2, 3]


def test_who_comes_back_goes_behind_those_who_wait():
    queue = FairQueue[int]()
    queue.put("a", 0)
    queue.put("b", 10)
    assert queue.take() == 0
    queue.put("a", 1)
    assert taken(queue) == [10, 1]


def test_what_is_removed_is_not_given():
    queue = FairQueue[int]()
    queue.put("a", 0)
    queue.put("b", 10)
    queue.put("b", 11)
    queue.remove("a", 0)
    queue.remove("b", 10)
    queue.remove("c", 20)
    assert taken(queue) == [11]


def test_an_empty_queue_gives_nothing():
    with pytest.raises(KeyError, match="nothing waits"):
        FairQueue[int]().take()
