"""Forgetting, what it suppresses, and restoring."""

from __future__ import annotations

from support.examples import candidate, extracted, forget, happened, later, piece, remember, restore, said, tick
from support.given import Given, given

COFFEE, COFFEE_TOO = "用户喜欢喝咖啡", "用户很喜欢喝咖啡"
PARAPHRASE = "用户喜欢每天喝咖啡提神"
HOUR = later(hours=1)


def forgotten(*, days: float = 1) -> Given:
    known = given(said(COFFEE, "t-1"))
    return known.when(forget(known.only.memory_id, "forget-1", later(days=days))).then("forgotten")


def test_a_forgotten_memory_is_not_active_and_says_when_it_was_forgotten():
    memory = forgotten().only
    assert (memory.status, memory.forgotten_at, memory.content) == ("forgotten", later(days=1), COFFEE)


def test_forgetting_twice_is_once():
    known = forgotten()
    after = known.when(forget(known.only.memory_id, "forget-2", later(days=2))).then("nothing")
    assert after.only.forgotten_at == later(days=1)


def test_an_unknown_memory_cannot_be_forgotten():
    given().when(forget("no-such", "forget-1")).then("refused")


def test_what_was_logged_before_the_forgetting_is_suppressed():
    late = said(COFFEE, "t-2", HOUR, logged=HOUR)
    after = forgotten().when(late, logged=later(days=2)).then("suppressed")
    assert (after.active(later(days=3)), len(after.memories)) == ([], 1)


def test_words_that_the_log_took_at_the_very_instant_of_forgetting_are_suppressed():
    forgotten().when(said(COFFEE, "t-2", HOUR, logged=later(days=1))).then("suppressed")


def test_a_near_duplicate_logged_before_the_forgetting_is_suppressed():
    forgotten().when(said(COFFEE_TOO, "t-2", HOUR)).then("suppressed")


def test_what_is_said_after_the_forgetting_is_a_new_memory():
    after = forgotten().when(said(COFFEE, "t-2", later(days=2))).then("formed")
    assert len(after.memories) == 2
    assert after.active(later(days=3)) == [COFFEE]


def test_log_time_decides_not_what_the_words_claim_to_be():
    """The clock of the client may be wrong: what the log took after the forgetting is said afterwards."""
    forgotten().when(said(COFFEE, "t-2", HOUR, logged=later(days=2))).then("formed")


def test_a_paraphrase_of_the_same_words_is_suppressed():
    covers = [piece("t-1"), piece("t-2", HOUR)]
    known = given(extracted(candidate(COFFEE, "t-1"), covers=covers[:1]))
    known = known.when(forget(known.only.memory_id, "forget-1", later(days=1)))
    paraphrase = extracted(candidate(PARAPHRASE, "t-2", "t-1"), covers=covers)
    known.when(paraphrase).then("suppressed")
    known.when(said(PARAPHRASE, "t-3", HOUR)).then("formed")


def test_what_merely_expired_is_never_suppressed():
    known = given(said(COFFEE, "t-1", memory_type="short_term"), tick(later(days=4)))
    assert known.only.status == "expired"
    known.when(said(COFFEE, "t-2", HOUR)).then("formed")


def test_a_forgotten_episode_told_in_a_late_window_is_suppressed():
    known = given(happened("用户送给露娜一束玫瑰", "t-1"))
    known = known.when(forget(known.only.memory_id, "forget-1", later(days=1)))
    known.when(happened("用户送给露娜一束玫瑰", "t-2", HOUR)).then("suppressed")


def test_a_forgotten_single_value_is_suppressed_by_its_value_and_by_its_text():
    known = given(said("用户住在北京", "t-1", attribute="city", value="北京"))
    known = known.when(forget(known.only.memory_id, "forget-1", later(days=1)))
    known.when(said("他家在北京", "t-2", HOUR, attribute="city", value="北京")).then("suppressed")
    known.when(said("用户住在北京", "t-2", HOUR, attribute="city", value="北京市")).then("suppressed")
    known.when(said("用户住在上海", "t-2", HOUR, attribute="city", value="上海")).then("formed")


def test_the_command_to_remember_is_never_suppressed():
    forgotten().when(remember(COFFEE, "c-1", later(days=2))).then("formed")


def test_an_expired_and_a_superseded_memory_can_be_forgotten():
    expired = given(said(COFFEE, "t-1", memory_type="short_term"), tick(later(days=4)))
    expired.when(forget(expired.only.memory_id, "f-1", later(days=5))).then("forgotten")
    moved = given(*(said(c, c, at, attribute="city", value=c) for c, at in (("北京", later()), ("上海", HOUR))))
    moved.when(forget(moved.of("北京").memory_id, "f-1", later(days=5))).then("forgotten")


def test_restoring_brings_a_forgotten_memory_back_as_it_was():
    known = forgotten()
    memory = known.when(restore(known.only.memory_id, "r-1", later(days=2))).then("restored").only
    assert (memory.status, memory.forgotten_at, memory.content) == ("active", None, COFFEE)
    assert (memory.last_accessed_at, memory.access_count) == (later(days=2), 0)


def test_restoring_gives_an_expired_short_term_memory_48_hours():
    known = given(said(COFFEE, "t-1", memory_type="short_term"), tick(later(days=4)))
    memory = known.when(restore(known.only.memory_id, "r-1", later(days=5))).then("restored").only
    assert (memory.status, memory.expires_at) == ("active", later(days=7))


def test_restoring_keeps_an_expiry_that_was_set_unless_it_has_passed():
    known = given(remember(COFFEE, "c-1", expires_at=later(days=30)))
    memory_id = known.only.memory_id
    gone = known.when(forget(memory_id, "f-1", later(days=1)))
    assert gone.when(restore(memory_id, "r-1", later(days=2))).only.expires_at == later(days=30)
    assert gone.when(restore(memory_id, "r-1", later(days=31))).only.expires_at is None


def test_restoring_what_is_active_is_nothing_and_what_is_unknown_is_refused():
    known = given(said(COFFEE, "t-1"))
    known.when(restore(known.only.memory_id, "r-1", HOUR)).then("nothing")
    known.when(restore("no-such", "r-1", HOUR)).then("refused")


def test_restoring_where_the_same_text_is_active_reinforces_that():
    known = forgotten()
    first = known.only
    after = known.when(said(COFFEE, "t-2", later(days=2))).when(restore(first.memory_id, "r-1", later(days=3)))
    after.then("reinforced")
    assert after.state.memories[first.memory_id].status == "forgotten"
    assert [m.access_count for m in after.memories] == [0, 1]


def test_a_restored_memory_can_be_reinforced_and_forgotten_again():
    known = forgotten()
    again = known.when(restore(known.only.memory_id, "r-1", later(days=2))).when(said(COFFEE, "t-2", later(days=3)))
    again.then("reinforced").when(forget(known.only.memory_id, "f-2", later(days=4))).then("forgotten")


def test_words_of_before_and_after_the_forgetting_together_are_said_afterwards():
    covers = [piece("t-2", HOUR), piece("t-3", later(days=2))]
    forgotten().when(extracted(candidate(COFFEE, "t-2", "t-3"), covers=covers)).then("formed")
    both_before = [piece("t-2", HOUR), piece("t-3", later(hours=2))]
    forgotten().when(extracted(candidate(COFFEE, "t-2", "t-3"), covers=both_before)).then("suppressed")


def test_a_forgetting_that_a_wrong_clock_dated_years_ahead_suppresses_nothing():
    known = given(said(COFFEE, "t-1"))
    known = known.when(forget(known.only.memory_id, "forget-1"), logged=later(days=400)).then("forgotten")
    known.when(said(COFFEE, "t-2", later(days=2))).then("formed")
