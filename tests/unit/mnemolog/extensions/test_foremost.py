"""What mem0's protocol is asked of many users is gathered in little memory."""

from __future__ import annotations

import random
from operator import itemgetter

from mnemolog.extensions.mem0.memories import Foremost


def test_of_the_memories_of_many_users_no_more_are_held_than_are_wanted():
    chance = random.Random(1)  # noqa: S311 - test data
    found, all_of_them = Foremost(itemgetter("score"), 10), []
    for user in range(50):
        some = [{"memory_id": f"{user} {n}", "score": chance.choice((0.1, 0.5, 0.9))} for n in range(20)]
        all_of_them += some
        found.add(some)
        assert len(found.items) == 10
    best = sorted(all_of_them, key=lambda one: (one["score"], one["memory_id"]), reverse=True)
    assert found.in_order() == best[:10]
