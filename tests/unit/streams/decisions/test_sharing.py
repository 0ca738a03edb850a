"""What remember makes of sharing with another agent: one memory, known to both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.examples import LUNA, MONDAY, candidate, episode, extracted, forget, later, piece, remember, revise, share
from support.given import Given, given

from projections.index.entries import index_entry
from projections.profile.profile import profile
from projections.shard.rows.memories import memory_of_row, row_of_memory
from projections.state.digest import digests

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import Memory

COFFEE, ARIA, NOVA = "用户喜欢喝咖啡", "aria", "nova"
KNOWN = given(remember(COFFEE, "c-1", attribute="likes", value="咖啡"))
ID = KNOWN.only.memory_id
SHARED = KNOWN.when(share(ID, ARIA, "c-2", later(hours=1))).then("revised")


def knows(memory: Memory) -> list[str]:
    return [agent for agent in (LUNA, ARIA, NOVA) if memory.visible_to(agent)]


def test_a_shared_memory_is_one_memory_that_both_agents_know():
    assert knows(KNOWN.only) == [LUNA]
    assert knows(SHARED.only) == [LUNA, ARIA]
    assert (SHARED.only.agent_id, SHARED.only.shared_with) == (LUNA, (ARIA,))


def test_sharing_changes_nothing_else():
    before, after = KNOWN.only, SHARED.only
    kept = ("content", "importance", "access_count", "last_accessed_at", "formed_at", "said_at", "attribute", "value")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert after.version == before.version + 1


def test_sharing_twice_is_once():
    assert SHARED.when(share(ID, ARIA, "c-3", later(hours=2))).then("nothing").events == []
    assert SHARED.when(share(ID, LUNA, "c-3", later(hours=2))).then("nothing").events == []


def test_a_memory_is_shared_with_one_agent_after_the_other():
    assert knows(SHARED.when(share(ID, NOVA, "c-3", later(hours=2))).then("revised").only) == [LUNA, ARIA, NOVA]


def test_what_belongs_to_no_agent_need_not_be_shared():
    free = given(remember(COFFEE, "c-1", agent_id=None))
    free.when(share(free.only.memory_id, ARIA, "c-2")).then("nothing")


def test_what_the_other_agent_knows_word_for_word_stays_its_own():
    both = KNOWN.when(remember(COFFEE + "。", "c-2", agent_id=ARIA, attribute="likes", value="咖啡"))
    again = both.when(share(ID, ARIA, "c-3")).then("nothing")
    own = next(m for m in again.memories if m.agent_id == ARIA)
    assert (again.events, again.decisions[0].outcomes[0].memory_id) == ([], own.memory_id)


def test_events_of_one_wording_that_happened_at_different_times_are_both_shared():
    first, second = "t-1", "t-2"
    luna = given(extracted(episode(COFFEE, first, occurred_on="2026-01-01"), covers=[piece(first)]))
    both = luna.when(
        extracted(episode(COFFEE, second, occurred_on="2025-06-01"), covers=[piece(second)], agent_id=ARIA)
    )
    one = next(m for m in both.memories if m.agent_id == LUNA)
    both.when(share(one.memory_id, ARIA, "c-1")).then("revised")


def test_what_is_said_to_the_other_agent_again_is_the_shared_memory():
    told_aria = extracted(candidate(COFFEE, "t-1"), covers=[piece("t-1", later(hours=2))], agent_id=ARIA)
    assert len(KNOWN.when(told_aria).then("formed").memories) == 2
    again = SHARED.when(told_aria).then("reinforced")
    assert again.only.access_count == 1


def test_a_newer_value_said_to_the_other_agent_takes_the_place_of_a_shared_one():
    berlin = given(remember("lives in Berlin", "c-1", attribute="city", value="Berlin"))
    shared = berlin.when(share(berlin.only.memory_id, ARIA, "c-2", later(hours=1)))
    paris = remember("lives in Paris", "c-3", later(hours=2), agent_id=ARIA, attribute="city", value="Paris")
    shared.when(paris).then("formed", "superseded")
    berlin.when(paris).then("formed")


def test_the_other_agents_profile_has_the_shared_value():
    def likes(of: Given, agent: str) -> list[str]:
        found: list[str] = profile(of.memories, later(days=1), agent)["likes"]
        return found

    assert (likes(KNOWN, ARIA), likes(SHARED, ARIA), likes(SHARED, NOVA)) == ([], ["咖啡"], [])


def test_what_is_forgotten_is_forgotten_for_both():
    gone = SHARED.when(forget(ID, "c-3", later(hours=2))).then("forgotten")
    assert gone.only.shared_with == (ARIA,)
    gone.when(share(ID, NOVA, "c-4", later(hours=3))).then("refused")


@pytest.mark.parametrize(("memory_id", "at"), [("no-such", MONDAY), (ID, later(days=3))])
def test_only_what_is_active_is_shared(memory_id: str, at: datetime):
    short = given(remember(COFFEE, "c-1", memory_type="short_term"))
    assert short.when(share(memory_id, ARIA, "c-2", at)).then("refused").events == []


def test_a_revision_that_changes_something_shares_nothing():
    assert KNOWN.when(revise(ID, "c-2", later(hours=1), importance=0.9)).only.shared_with == ()


def test_a_shared_memory_is_found_in_the_index_whoever_asks_and_its_owner_says_who_sees_it():
    alone, shared = (index_entry(of.state.owner, of.only, b"") for of in (KNOWN, SHARED))
    assert (alone.agent_id, shared.agent_id) == (LUNA, None)
    assert shared.version > alone.version


def test_who_knows_a_memory_is_in_the_digest_and_in_the_shards_row():
    one, two = digests([KNOWN.state]), digests([SHARED.state])
    assert one["memories"] != two["memories"]
    assert memory_of_row(row_of_memory(SHARED.only)) == SHARED.only
    row = row_of_memory(KNOWN.only)
    assert memory_of_row(row.replace(b',"shared_with":[]', b"")) == KNOWN.only
