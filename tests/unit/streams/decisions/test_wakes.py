"""What remember decides about wakes: reminders are due once, missed slots raise one wake, memories take turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.examples import MONDAY, XIAOMING, forget, later, remember, tick
from support.given import Given, given
from support.tables import each
from support.wake_examples import ROUTINE, cancelled, reminder, wake_tick, woken

from projections.state.digest import digests
from projections.state.memory import UserState
from projections.state.wakes import due_slot, evolve_wakes, next_due
from schemas import codec
from schemas.identity import Owner, reminder_id_of
from schemas.messages.envelope import Sealed
from schemas.messages.wakes import WakeConfigured, WakeRaised
from schemas.vocabulary.words import CLOCK
from streams.decisions.draft import PART_BYTES
from streams.decisions.parameters import Parameters
from streams.decisions.wakes import MAX_REMINDERS
from streams.ticks.scheduler import decay_due

if TYPE_CHECKING:
    from collections.abc import Iterable

TEN = later(hours=2)
THINGS = ("喜欢喝咖啡", "works at Siemens", "flies to Rome", "has a cat")


def raised(after: Given) -> list[WakeRaised]:
    return [event for event in after.events if isinstance(event, WakeRaised)]


def known(*contents: str, parameters: Parameters | None = None) -> Given:
    return given(*(remember(content, f"c-{content}") for content in contents), parameters=parameters)


def shown(after: Given, ids: Iterable[str]) -> set[str]:
    return {after.state.memories[i].content for i in ids}


# -- reminders


def test_a_reminder_is_raised_when_its_time_has_come_and_only_once():
    waiting = given(reminder("call mum", "r-1", TEN))
    assert raised(waiting.when(wake_tick(TEN - timedelta(microseconds=1)))) == []
    after = waiting.when(wake_tick(TEN))
    [wake] = raised(after.then("raised"))
    assert (wake.kind, wake.text.text, wake.channel, wake.due_at) == ("reminder", "remind of call mum", "telegram", TEN)
    assert wake.content is not None
    assert (wake.content.text, wake.envelope.agent_id, wake.raised_at) == ("call mum", "luna", TEN)
    assert raised(after.when(wake_tick(later(days=1)))) == []
    assert next_due(after.state.wakes) is None


def test_a_reminder_in_the_past_is_raised_at_the_next_look():
    [wake] = raised(given(reminder("call mum", "r-1", MONDAY - timedelta(days=900))).when(wake_tick(MONDAY)))
    assert wake.raised_at == MONDAY


def test_a_cancelled_reminder_is_not_raised_and_cannot_be_cancelled_again():
    reminder_id = reminder_id_of(XIAOMING, "r-1")
    after = given(reminder("call mum", "r-1", TEN)).when(cancelled(reminder_id, "x-1")).then("cancelled")
    assert raised(after.when(wake_tick(later(days=1)))) == []
    again = after.when(cancelled(reminder_id, "x-2")).then("refused")
    assert again.reasons[0].startswith("unknown: ")


def test_what_was_raised_cannot_be_cancelled_any_more():
    after = given(reminder("call mum", "r-1", TEN), wake_tick(TEN))
    after.when(cancelled(reminder_id_of(XIAOMING, "r-1"), "x-1")).then("refused")


def test_reminders_come_in_the_order_of_their_times_and_each_has_its_number():
    after = given(
        reminder("b", "r-2", later(hours=1)), reminder("a", "r-1", later(minutes=1)), reminder("c", "r-3", TEN)
    )
    wakes = raised(after.when(wake_tick(later(days=365))))
    assert [(w.content.text if w.content else None, w.number) for w in wakes] == [("a", 1), ("b", 2), ("c", 3)]


def test_there_is_a_most_of_waiting_reminders():
    full = given(*(reminder(f"n {n}", f"r-{n}", TEN) for n in range(MAX_REMINDERS)))
    assert full.when(reminder("one more", "r-more", TEN)).then("refused").reasons[0].startswith("too_many: ")
    full.when(cancelled(reminder_id_of(XIAOMING, "r-0"), "x-0")).when(reminder("one more", "r-more-2", TEN)).then(
        "scheduled"
    )


def test_long_reminders_are_raised_in_parts_that_fit_into_a_record():
    words = "x" * (PART_BYTES // 4)
    after = given(*(reminder(words + str(n), f"r-{n}", TEN) for n in range(6))).when(wake_tick(TEN))
    assert len(raised(after)) == 6
    assert len(after.decisions) > 1
    assert [d.last_part for d in after.decisions] == [False] * (len(after.decisions) - 1) + [True]


def test_reminders_that_show_many_memories_are_raised_in_parts_that_fit_into_a_record():
    shows = known(*map(str, range(100)), parameters=Parameters(wake_memory_limit=100))
    for number in range(300):
        shows = shows.when(reminder(str(number), f"r-{number}", TEN))
    after = shows.when(wake_tick(TEN))
    assert len({wake.wake_id for wake in raised(after)}) == 300
    assert {len(wake.memory_ids) for wake in raised(after)} == {100}
    assert max(len(codec.encode(decision)) for decision in after.decisions) < 700_000


# -- periodic wakes


def test_a_periodic_wake_is_due_at_the_next_multiple_of_its_period():
    after = given(woken("w-1", later(minutes=20)))
    assert next_due(after.state.wakes) == later(hours=1)
    assert raised(after.when(wake_tick(later(minutes=59)))) == []
    [wake] = raised(after.when(wake_tick(later(minutes=61))))
    assert (wake.kind, wake.text.text, wake.due_at) == ("periodic", ROUTINE, later(hours=1))
    assert (wake.channel, wake.content, wake.memory_ids) == (None, None, [])


def test_missed_slots_raise_one_wake():
    after = given(woken("w-1")).when(wake_tick(later(days=400, minutes=5)))
    [wake] = raised(after)
    assert wake.due_at == later(days=400)
    assert next_due(after.state.wakes) == later(days=400, hours=1)
    assert raised(after.when(wake_tick(later(days=400, minutes=59)))) == []


def test_after_the_last_slot_of_the_calendar_no_wake_is_due():
    last = datetime.max.replace(tzinfo=UTC) - timedelta(minutes=1)
    after = given(woken("w-1", every=3600)).when(wake_tick(last))
    [wake] = raised(after)
    following = next_due(after.state.wakes)
    assert following is not None
    assert wake.due_at < last < following


def test_a_period_may_have_a_fraction_of_a_second():
    after = given(woken("w-1", every=1.25)).when(wake_tick(later(seconds=2.6)))
    assert [wake.due_at for wake in raised(after)] == [later(seconds=2.5)]


@each("every", [5e-7, 0.0, 0.999, -60.0, 1e300, float("inf"), float("nan")])
def test_a_period_that_no_slots_can_be_counted_by_is_refused_and_wakes_nobody_if_the_log_has_it(every: float):
    known_before = given(woken("w-1"))
    assert known_before.when(replace(woken("w-2"), every_seconds=every)).then("refused").events == []
    [event] = known_before.events
    assert isinstance(event, WakeConfigured)
    wakes = evolve_wakes(known_before.state.wakes, replace(event, every_seconds=every))
    assert (wakes.configured, next_due(wakes), due_slot(wakes, TEN)) == (None, None, None)


def test_a_wake_without_a_text_is_refused_and_is_never_due():
    known_before = given(woken("w-1"))
    assert known_before.when(replace(woken("w-2"), text=None)).then("refused").events == []
    [event] = known_before.events
    assert isinstance(event, WakeConfigured)
    assert next_due(evolve_wakes(known_before.state.wakes, replace(event, text=None))) is None


def test_the_same_configuration_again_changes_nothing_and_another_one_starts_anew():
    after = given(woken("w-1"), wake_tick(later(hours=1)))
    assert raised(after.when(woken("w-2", later(hours=1, minutes=1))).then("nothing").when(wake_tick(TEN)))
    other = after.when(woken("w-3", later(hours=1, minutes=1), every=600)).then("configured")
    assert next_due(other.state.wakes) == later(hours=1, minutes=10)


def test_a_wake_that_was_removed_is_not_raised():
    after = given(woken("w-1"), woken("w-2", every=None)).then("configured")
    assert raised(after.when(wake_tick(later(days=1)))) == []
    after.when(woken("w-3", every=None)).then("nothing")


def test_two_slots_of_one_configuration_and_one_slot_of_two_are_different_wakes():
    first = given(woken("w-1"), wake_tick(later(hours=1)))
    again = given(woken("w-1"), wake_tick(later(hours=1)), wake_tick(TEN))
    other = given(woken("w-2"), wake_tick(later(hours=1)))
    assert len({raised(each)[0].wake_id for each in (first, again, other)}) == 3


# -- what a wake shows


def test_a_periodic_wake_shows_no_memories_unless_it_is_told_to():
    assert raised(known(*THINGS).when(woken("w-1")).when(wake_tick(TEN)))[0].memory_ids == []


def test_a_periodic_wake_never_shows_the_same_memories_while_others_are_unseen():
    """Section 5 and 6: with a query that never changes the same memories came each time."""
    after, rounds = known(*THINGS).when(woken("w-1", memory_limit=2)), []
    for hour in range(1, 5):
        after = after.when(wake_tick(later(hours=hour)))
        rounds.append(shown(after, raised(after)[0].memory_ids))
    assert len(rounds[0]) == len(rounds[1]) == 2
    assert rounds[0] | rounds[1] == set(THINGS)
    assert rounds[2:] == rounds[:2]


def test_what_is_new_is_shown_before_what_was_seen():
    after = known(*THINGS[:2]).when(woken("w-1", memory_limit=2)).when(wake_tick(later(hours=1)))
    after = after.when(remember("has a dog", "c-dog", later(hours=1))).when(wake_tick(TEN))
    assert shown(after, raised(after)[0].memory_ids) == {"has a dog"}


def test_a_round_ends_with_what_is_left_and_the_next_begins_with_all():
    after = known(*THINGS[:3]).when(woken("w-1", memory_limit=2))
    sizes = []
    for hour in range(1, 5):
        after = after.when(wake_tick(later(hours=hour)))
        sizes.append((raised(after)[0].round, len(raised(after)[0].memory_ids)))
    assert sizes == [(0, 2), (0, 1), (1, 2), (1, 1)]


def test_the_nearest_to_the_query_come_first_and_the_query_is_not_the_text():
    after = known(*THINGS).when(woken("w-1", memory_limit=1, query="works at Siemens")).when(wake_tick(TEN))
    [wake] = raised(after)
    assert shown(after, wake.memory_ids) == {"works at Siemens"}
    assert wake.text.text == ROUTINE


def test_without_a_query_a_periodic_wake_searches_with_its_text():
    after = known(*THINGS).when(woken("w-1", memory_limit=1, text="flies to Rome!")).when(wake_tick(TEN))
    assert shown(after, raised(after)[0].memory_ids) == {"flies to Rome"}


def test_a_reminder_searches_with_its_text_and_leaves_the_turns_of_periodic_wakes_alone():
    """Section 5: a reminder's query changes with what it says."""
    after = known(*THINGS, parameters=Parameters(wake_memory_limit=1))
    after = after.when(reminder("has a cat, has a cat", "r-1", later(hours=1)))
    after = after.when(reminder("喜欢喝咖啡喜欢喝咖啡", "r-2", TEN)).when(wake_tick(TEN))
    assert [shown(after, wake.memory_ids) for wake in raised(after)] == [{"has a cat"}, {"喜欢喝咖啡"}]
    assert not after.state.wakes.shown


def test_what_is_forgotten_or_belongs_to_another_agent_is_not_chosen():
    after = known("likes tea").when(remember("secret of aria", "c-aria", agent_id="aria"))
    after = after.when(forget(after.of("likes tea").memory_id, "f-1")).when(woken("w-1", memory_limit=5))
    assert raised(after.when(wake_tick(TEN)))[0].memory_ids == []


def test_a_memory_past_its_expiry_is_not_chosen_tick_or_no_tick():
    after = given(remember("meets Ann tonight", "c-1", memory_type="short_term"), woken("w-1", memory_limit=5))
    assert len(raised(after.when(wake_tick(TEN)))[0].memory_ids) == 1
    assert raised(after.when(wake_tick(later(days=3))))[0].memory_ids == []


def test_global_memories_are_chosen_too():
    everyone = Given(state=UserState(owner=Owner("default", "*")))
    rule = remember("the office closes at six", "c-all", agent_id=None, scope="global")
    everyone = everyone.when(replace(rule, envelope=replace(rule.envelope, user_id="*")))
    after = replace(known("likes tea"), everyone=everyone.state).when(woken("w-1", memory_limit=5))
    after = replace(after, vectors=after.vectors | everyone.vectors)
    assert set(raised(after.when(wake_tick(TEN)))[0].memory_ids) == {everyone.only.memory_id, after.only.memory_id}


def test_memories_of_another_embedding_model_come_last_by_importance():
    after = known("works at Siemens", "has a cat", "flies to Rome")
    wake = replace(woken("w-1", memory_limit=3, text="works at Siemens"), embedding_model="another")
    after = after.when(remember("the important one", "c-9", importance=0.9)).when(wake).when(wake_tick(TEN))
    assert after.state.memories[raised(after)[0].memory_ids[0]].content == "the important one"


# -- what a wake leaves as it was


def test_a_wake_changes_no_memory_and_counts_as_no_recall():
    before = known(*THINGS).when(woken("w-1", memory_limit=4))
    after = before.when(wake_tick(TEN))
    assert after.state.memories == before.state.memories
    assert len(raised(after)[0].memory_ids) == 4


def test_ticks_of_decay_and_of_wakes_leave_each_other_alone():
    after = known("likes tea").when(woken("w-1")).when(reminder("x", "r-1", later(days=20)))
    decayed = after.when(tick(later(days=10)))
    assert decayed.state.wakes == after.state.wakes
    assert raised(decayed.when(wake_tick(later(days=10))))


def test_the_digest_moves_with_wakes_and_not_with_how_vectors_are_spelt():
    empty = digests([given().state])["total"]
    one = given(woken("w-1", memory_limit=1)).state
    assert digests([one])["total"] != empty
    assert one.wakes.configured is not None
    other = replace(one.wakes.configured, vector=Sealed.clear(b"\x00" * 256))
    assert digests([replace(one, wakes=replace(one.wakes, configured=other))]) == digests([one])


@pytest.mark.parametrize("at", [datetime.fromisoformat("2031-07-01T00:00:00+00:00"), MONDAY])
def test_a_tick_for_somebody_without_wakes_decides_nothing(at: datetime):
    assert known("likes tea").when(wake_tick(at)).decisions == ()


def test_a_periodic_wake_that_a_wrong_clock_dated_ahead_starts_anew_when_the_time_is_confirmed():
    misdated = given(woken("w-1", later(days=400))).when(wake_tick(later(days=401)))
    assert raised(misdated.when(wake_tick(later(days=2)))) == []
    confirmed = misdated.when(decay_due(0, CLOCK, later(days=2)))
    assert confirmed.actions == ["configured"]
    [wake] = raised(confirmed.when(wake_tick(later(days=3))))
    assert wake.due_at <= later(days=3)
    assert confirmed.when(decay_due(0, CLOCK, later(days=4))).decisions == ()
