"""What every index must do, besides `index_suite`, where users, filters and versions meet. Inherit both."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from contract.index_suite import (
    BANK,
    CAT,
    COFFEE,
    FOOD,
    MARATHON,
    NOON,
    SPORT,
    WORK,
    entry,
    four,
    memory_id,
    mixed,
    query,
)

from projections import analyser
from projections.index import Legs

if TYPE_CHECKING:
    from projections.index import Index


class IndexUsersSuite:
    async def test_an_older_version_put_again_leaves_the_newer_words_and_vector(self, index: Index):
        newer = replace(COFFEE, version=2, tokens=analyser.tokens("用户喜欢喝茶"), vector=SPORT)
        await index.put([newer])
        await index.put([COFFEE, CAT])
        assert four((await index.search(query("茶"))).keyword) == ["coffee"]
        assert four((await index.search(query("咖啡"))).keyword) == []
        assert four((await index.search(query(vector=SPORT, limit=1))).semantic) == ["coffee"]

    async def test_the_same_words_of_two_users_weigh_by_each_users_own_memories(self, index: Index):
        mine = [entry(f"mine {n}", f"tea {word}") for n, word in enumerate(("green", "black", "white"))]
        await index.put(mine)
        alone = await index.search(query("tea green", FOOD))
        await index.put([entry(f"theirs {n}", "green green tea", user_id="u2") for n in range(30)])
        assert alone == await index.search(query("tea green", FOOD))
        theirs = await index.search(query("tea green", FOOD, user_id="u2"))
        assert len({hit.score for hit in theirs.keyword}) == 1
        assert len(theirs.keyword) == 10

    async def test_each_of_many_users_finds_only_what_is_theirs(self, index: Index):
        users = [f"user-{n}" for n in range(60)]
        await index.put([entry(f"{u} {n}", f"喜欢 note{n}", FOOD, user_id=u) for u in users for n in range(5)])
        for user in users[::7]:
            legs = await index.search(query("note3 喜欢", FOOD, user_id=user))
            assert memory_id(f"{user} 3") == legs.keyword[0].memory_id
            assert {memory_id(f"{user} {n}") for n in range(5)} == {hit.memory_id for hit in legs.semantic}
        await index.remove("default", users[0], [memory_id(f"{users[0]} {n}") for n in range(5)])
        assert await index.search(query("喜欢", FOOD, user_id=users[0])) == Legs((), ())
        assert len((await index.search(query("喜欢", user_id=users[1]))).keyword) == 5

    async def test_filters_meet_in_both_legs_in_chinese_and_in_english(self, index: Index):
        hour = timedelta(hours=1)
        await index.put(
            [
                replace(COFFEE, agent_id="luna", kind="episodic", occurred_at=NOON),
                replace(CAT, agent_id="luna", kind="episodic", occurred_at=NOON + hour),
                replace(MARATHON, agent_id="luna", occurred_at=NOON + hour),
                replace(BANK, agent_id="nova", kind="episodic", occurred_at=NOON + hour),
            ]
        )
        asked = query("用户 Anna", mixed(FOOD, WORK), agent_id="luna", kind="episodic", since=NOON + hour)
        legs = await index.search(asked)
        assert ["cat"] == four(legs.keyword) == four(legs.semantic)
        legs = await index.search(replace(asked, agent_id=None, until=NOON + hour))
        assert {"cat", "bank"} == set(four(legs.keyword)) == set(four(legs.semantic))
        assert await index.search(replace(asked, kind="semantic", until=NOON)) == Legs((), ())

    async def test_values_that_differ_only_in_case_or_white_space_are_different(self, index: Index):
        await index.put(
            [replace(COFFEE, agent_id="luna"), replace(CAT, agent_id=" luna"), replace(BANK, agent_id="Luna")]
        )
        for agent_id, expected in (("luna", ["coffee"]), (" luna", ["cat"]), ("Luna", ["bank"]), ("luna ", [])):
            assert expected == four((await index.search(query(vector=FOOD, agent_id=agent_id))).semantic)
