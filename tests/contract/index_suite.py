"""What every index must do when it puts, removes and searches: through the protocol alone.

An adapter's test inherits IndexSuite and supplies the fixture `index`: an empty index behind a shard, as
`IndexWithShard` is. An index that finds only later what it has written waits in that wrapper. An index that outlives
the process passes SharedIndexSuite too.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from contract.index_examples import (
    ANIMALS,
    BANK,
    CAT,
    COFFEE,
    FOOD,
    FOUR,
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

from projections.index.protocol import ANY_VERSION, SCORE_DIGITS, Index, Legs
from projections.text import analyser


class IndexSuite:
    @pytest.fixture
    def index(self) -> Index:
        raise NotImplementedError

    async def test_an_unknown_user_has_empty_legs(self, index: Index):
        assert await index.search(query("咖啡", FOOD)) == Legs((), ())

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ("咖啡", ["coffee"]),
            ("猫", ["cat"]),
            ("marathons", ["marathon"]),
            ("ZÜRICH", ["bank"]),
            ("zu\u0308rich", ["bank"]),
            ("Who is running the Berlin marathon?", ["marathon"]),
            ("茶", []),
        ],
    )
    async def test_words_are_found_in_chinese_and_in_english(self, index: Index, asked, expected):
        await index.put(FOUR)
        assert expected == four((await index.search(query(asked))).keyword)

    async def test_keyword_hits_come_best_first_and_only_where_a_word_occurs(self, index: Index):
        await index.put(FOUR)
        found = (await index.search(query("Anna's marathon"))).keyword
        assert four(found) == ["marathon", "bank"]
        assert found[0].score > found[1].score > 0

    async def test_a_rare_word_weighs_more_than_a_common_one(self, index: Index):
        await index.put([entry(f"e{n}", f"tea {word}") for n, word in enumerate(("green", "black", "white", "red"))])
        found = (await index.search(query("tea white"))).keyword
        assert memory_id("e2") == found[0].memory_id
        assert len(found) == 4

    async def test_meaning_is_the_cosine_of_the_vectors(self, index: Index):
        await index.put(FOUR)
        found = (await index.search(query(vector=mixed(ANIMALS, ANIMALS, FOOD)))).semantic
        assert four(found)[:2] == ["cat", "coffee"]
        assert [hit.score for hit in found] == pytest.approx([2 / 5**0.5, 1 / 5**0.5, 0, 0], abs=1e-5)

    async def test_scores_of_meaning_are_rounded_so_that_equals_are_equal(self, index: Index):
        thirds = [entry(f"e{n}", "x", mixed(FOOD, n * WORK, SPORT)) for n in range(5)]
        await index.put(thirds)
        found = (await index.search(query(vector=mixed(FOOD, FOOD, WORK)))).semantic
        assert len(found) == 5
        for hit in found:  # an index may round in single precision
            assert hit.score == pytest.approx(round(hit.score, SCORE_DIGITS), abs=1e-7)

    async def test_closing_twice_is_no_error(self, index: Index):
        await index.put(FOUR)
        for _ in range(2):
            await index.close()

    async def test_what_was_released_or_reopened_is_found_again(self, index: Index):
        await index.put(FOUR)
        before = await index.search(query("用户 Anna", FOOD))
        index.release("default", "u1")
        index.release("default", "never seen")
        assert await index.search(query("用户 Anna", FOOD)) == before
        await index.reopen()
        await index.check()
        assert await index.search(query("用户 Anna", FOOD)) == before

    async def test_a_leg_that_is_not_asked_is_empty(self, index: Index):
        await index.put(FOUR)
        assert (await index.search(query("咖啡"))).semantic == ()
        assert (await index.search(query(vector=FOOD))).keyword == ()

    async def test_equal_scores_are_ordered_by_memory_id_also_at_the_limit(self, index: Index):
        same = [entry(f"same-{n}", "the same text", mixed(FOOD, WORK, SPORT)) for n in range(20)]
        await index.put(same)
        expected = sorted(one.memory_id for one in same)[:7]
        legs = await index.search(query("same text", mixed(FOOD, WORK, ANIMALS), limit=7))
        assert expected == [hit.memory_id for hit in legs.keyword]
        assert expected == [hit.memory_id for hit in legs.semantic]

    async def test_each_leg_has_at_most_limit_hits(self, index: Index):
        await index.put(FOUR)
        legs = await index.search(query("Anna marathon bank", FOOD, limit=1))
        assert len(legs.keyword) == len(legs.semantic) == 1

    async def test_vectors_of_another_model_are_not_compared_but_their_words_are_found(self, index: Index):
        await index.put([COFFEE, replace(CAT, embedding_model="other-4")])
        legs = await index.search(query("猫 咖啡", ANIMALS))
        assert four(legs.semantic) == ["coffee"]
        assert {"cat", "coffee"} == set(four(legs.keyword))
        assert four((await index.search(query(vector=ANIMALS, embedding_model="other-4"))).semantic) == ["cat"]
        assert (await index.search(query(vector=ANIMALS, embedding_model="unknown-4"))).semantic == ()

    @pytest.mark.parametrize(
        "matching",
        [
            {"kind": "episodic"},
            {"category": "preference"},
            {"memory_type": "short_term"},
            {"source_type": "photo"},
        ],
    )
    async def test_a_filter_leaves_only_what_is_equal(self, index: Index, matching):
        await index.put([COFFEE, replace(CAT, **matching)])
        legs = await index.search(query("用户", ANIMALS, **matching))
        assert ["cat"] == four(legs.keyword) == four(legs.semantic)

    async def test_filters_are_combined_and_an_unknown_value_finds_nothing(self, index: Index):
        await index.put([replace(COFFEE, category="habit"), replace(CAT, category="habit", kind="episodic")])
        both = await index.search(query("用户", ANIMALS, category="habit", kind="episodic"))
        assert ["cat"] == four(both.keyword) == four(both.semantic)
        assert await index.search(query("用户", ANIMALS, category="finance")) == Legs((), ())

    async def test_only_the_memories_that_are_named_take_places_of_the_limit(self, index: Index):
        near = [entry(f"near-{n}", "用户 tea", FOOD) for n in range(60)]
        far = [entry(f"far-{n}", "用户 walks far and wide", mixed(FOOD, ANIMALS, WORK)) for n in range(3)]
        await index.put([*near, *far])
        named = frozenset({one.memory_id for one in far} | {memory_id("never put")})
        legs = await index.search(query("用户 tea", FOOD, limit=3, among=named))
        expected = sorted(one.memory_id for one in far)
        assert expected == [hit.memory_id for hit in legs.keyword] == [hit.memory_id for hit in legs.semantic]
        many = named | {memory_id(f"unknown-{n}") for n in range(2_000)}
        assert legs == await index.search(query("用户 tea", FOOD, limit=3, among=many))
        assert await index.search(query("用户 tea", FOOD, among=frozenset())) == Legs((), ())

    async def test_since_and_until_include_their_instants(self, index: Index):
        hour = timedelta(hours=1)
        await index.put([replace(one, occurred_at=NOON + n * hour) for n, one in enumerate(FOUR)])

        async def between(since, until):
            return set(four((await index.search(query(vector=FOOD, since=since, until=until))).semantic))

        assert {"cat", "marathon"} == await between(NOON + hour, NOON + 2 * hour)
        assert {"coffee"} == await between(None, NOON)
        assert {"bank"} == await between(NOON + 3 * hour, None)
        assert set() == await between(NOON + 4 * hour, None)

    async def test_an_agent_sees_its_own_memories_and_those_of_no_agent(self, index: Index):
        await index.put([COFFEE, replace(CAT, agent_id="luna"), replace(BANK, agent_id="nova")])

        async def seen_by(agent_id):
            legs = await index.search(query("用户 Anna", WORK, agent_id=agent_id))
            assert set(four(legs.keyword)) == set(four(legs.semantic))
            return set(four(legs.semantic))

        assert {"coffee", "cat"} == await seen_by("luna")
        assert {"coffee", "bank"} == await seen_by("nova")
        assert {"coffee"} == await seen_by("stranger")
        assert {"coffee", "cat", "bank"} == await seen_by(None)

    async def test_users_and_tenants_do_not_see_each_other(self, index: Index):
        await index.put([COFFEE, replace(CAT, user_id="u2"), replace(BANK, tenant="acme")])
        mine = await index.search(query("用户 Anna", FOOD))
        theirs = await index.search(query("用户 Anna", FOOD, user_id="u2"))
        elsewhere = await index.search(query("用户 Anna", FOOD, tenant="acme"))
        assert [four(legs.semantic) for legs in (mine, theirs, elsewhere)] == [["coffee"], ["cat"], ["bank"]]
        assert [four(legs.keyword) for legs in (mine, theirs, elsewhere)] == [["coffee"], ["cat"], ["bank"]]

    async def test_user_ids_may_hold_any_character(self, index: Index):
        strange = ("a/b", "张三", "a b", "A", "a", "é", "e\u0301", "*")
        await index.put([entry(f"of {user}", "hello", user_id=user) for user in strange])
        for user in strange:
            found = await index.search(query("hello", ANIMALS, user_id=user))
            assert [memory_id(f"of {user}")] == [hit.memory_id for hit in found.semantic]

    async def test_delivered_twice_is_stored_once(self, index: Index):
        await index.put(FOUR)
        once = await index.search(query("用户 Anna", FOOD))
        await index.put(FOUR)
        await index.put([COFFEE, COFFEE])
        assert await index.search(query("用户 Anna", FOOD)) == once

    async def test_a_newer_version_takes_the_place_of_the_older(self, index: Index):
        await index.put(FOUR)
        await index.put([replace(COFFEE, version=2, tokens=analyser.tokens("用户喜欢喝茶"), vector=SPORT)])
        assert four((await index.search(query("咖啡"))).keyword) == []
        legs = await index.search(query("茶", SPORT))
        assert [(memory_id("coffee"), 2)] == [(hit.memory_id, hit.version) for hit in legs.keyword]
        assert len(legs.semantic) == 4
        assert {1.0} == {round(hit.score, 5) for hit in legs.semantic if hit.memory_id == memory_id("coffee")}

    async def test_an_older_version_that_comes_late_is_ignored(self, index: Index):
        newer = replace(COFFEE, version=3, category="habit")
        await index.put([newer, CAT])
        await index.put([replace(COFFEE, version=2, category="fact")])
        legs = await index.search(query("咖啡", FOOD, category="habit"))
        assert [3] == [hit.version for hit in legs.keyword] == [hit.version for hit in legs.semantic]

    async def test_of_two_versions_in_one_put_the_later_stays_whatever_their_order(self, index: Index):
        await index.put([replace(COFFEE, version=2), COFFEE, CAT, replace(CAT, version=2)])
        legs = await index.search(query("用户", FOOD))
        assert [hit.version for hit in legs.keyword] == [hit.version for hit in legs.semantic] == [2, 2]

    async def test_what_is_removed_is_no_longer_found_and_removing_again_is_no_error(self, index: Index):
        await index.put(FOUR)
        for _ in range(2):
            await index.remove("default", "u1", {memory_id("coffee"): 1, memory_id("never seen"): 1})
            legs = await index.search(query("用户", FOOD))
            assert four(legs.keyword) == ["cat"]
            assert set(four(legs.semantic)) == {"cat", "marathon", "bank"}
        await index.remove("default", "another", {memory_id("cat"): 1})
        legs = await index.search(query("用户", ANIMALS))
        assert four(legs.keyword) == ["cat"]
        assert set(four(legs.semantic)) == {"cat", "marathon", "bank"}

    async def test_a_removal_that_knows_less_than_what_is_held_removes_nothing(self, index: Index):
        await index.put([replace(COFFEE, version=3), CAT])
        await index.remove("default", "u1", {memory_id("coffee"): 2, memory_id("cat"): 1})
        legs = await index.search(query("用户", FOOD))
        for leg in (legs.keyword, legs.semantic):
            assert [(hit.memory_id, hit.version) for hit in leg] == [(memory_id("coffee"), 3)]

    async def test_what_was_removed_can_be_put_again(self, index: Index):
        await index.put(FOUR)
        await index.remove("default", "u1", {memory_id("coffee"): 2})
        assert "coffee" not in four((await index.search(query(vector=FOOD))).semantic)
        await index.put([replace(COFFEE, version=3)])
        legs = await index.search(query("咖啡", FOOD, limit=1))
        assert [hit.version for hit in legs.keyword] == [hit.version for hit in legs.semantic] == [3]

    async def test_what_was_put_again_at_its_version_is_superseded_and_removed_whole(self, index: Index):
        for _ in range(3):
            await index.put([COFFEE, CAT])
        newer = replace(COFFEE, version=2, tokens=analyser.tokens("用户喜欢喝茶"), vector=SPORT)
        for _ in range(2):
            await index.put([newer])
        legs = await index.search(query("用户", FOOD))
        for leg in (legs.keyword, legs.semantic):
            assert {(memory_id("coffee"), 2), (memory_id("cat"), 1)} == {(hit.memory_id, hit.version) for hit in leg}
            assert len(leg) == 2
        await index.remove("default", "u1", {memory_id("coffee"): 2, memory_id("cat"): 1})
        assert await index.search(query("用户", FOOD)) == Legs((), ())

    async def test_removing_all_leaves_a_user_that_can_be_searched(self, index: Index):
        await index.put(FOUR)
        await index.remove("default", "u1", {one.memory_id: ANY_VERSION for one in FOUR})
        assert await index.search(query("用户", FOOD)) == Legs((), ())

    async def test_many_memories_are_put_and_the_best_found_among_them(self, index: Index):
        many = [entry(f"m{n}", f"note number{n} about topic{n % 7}", mixed(FOOD, n * WORK)) for n in range(500)]
        await index.put(many)
        legs = await index.search(query("number321", FOOD, limit=3))
        assert [memory_id("m321")] == [hit.memory_id for hit in legs.keyword]
        assert [memory_id(f"m{n}") for n in range(3)] == [hit.memory_id for hit in legs.semantic]

    async def test_an_entry_without_words_is_found_by_meaning(self, index: Index):
        await index.put([entry("smile", "🙂", FOOD), COFFEE])
        legs = await index.search(query("🙂", FOOD))
        assert legs.keyword == ()
        assert {memory_id("smile"), memory_id("coffee")} == {hit.memory_id for hit in legs.semantic}

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
        await index.remove("default", users[0], {memory_id(f"{users[0]} {n}"): 1 for n in range(5)})
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
