"""Facts about anybody: one key, whom it is about and the attribute, has one present value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from support.examples import candidate, extracted, forget, imported, later, piece, remember, revise, said, tick
from support.given import given
from support.tables import each

from projections.profile.profile import profile
from projections.queries.conditions.parser import condition_of
from projections.queries.entities import entities
from projections.queries.filters import Filters
from projections.state.time_travel import state_at
from schemas.messages.envelope import Sealed
from schemas.vocabulary.facts import subject_of
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from datetime import datetime

    from support.given import Given

    from schemas.messages.decision import Decision
    from schemas.messages.inbox import CandidatesExtracted

IN_PARIS, IN_LYON = "The user's mother lives in Paris", "The user's mother lives in Lyon now"
PARIS = said(IN_PARIS, "t-1", about="my mother", attribute="city", value="Paris")
LYON = said(IN_LYON, "t-2", later(days=1), about="the user's Mother", attribute="city", value="Lyon")
HOME = said("The user lives in Berlin", "t-0", attribute="city", value="Berlin")


@each("spelt", ["my mother", "MY  MOTHER", "the user's mother", "User’s mother", "our mother", "mother"])
def test_a_subject_is_the_same_in_any_spelling(spelt: str):
    assert subject_of(spelt) == "mother"


@each("spelt", ["我的妈妈", "用户的妈妈", "用户家的妈妈", "妈妈"])
def test_a_subject_is_the_same_in_any_spelling_in_chinese(spelt: str):
    assert subject_of(spelt) == "妈妈"


@each("spelt", [None, "", "user", "The user", "me", "我", "用户"])
def test_the_user_is_no_other_subject(spelt: str | None):
    assert subject_of(spelt) is None


def test_a_fact_about_another_has_its_own_slot_and_is_not_in_the_profile():
    after = given(HOME).when(PARIS).then("formed")
    assert sorted(after.active(later(days=1))) == ["The user lives in Berlin", IN_PARIS]
    shown = profile(after.memories, later(days=1))
    assert (shown["city"], shown["other"]) == ("Berlin", {})
    mother = after.of(IN_PARIS)
    assert (mother.about, mother.attribute, mother.value, mother.slot) == ("my mother", "city", "Paris", None)


def test_a_newer_value_of_a_key_supersedes_the_older_one():
    after = given(HOME, PARIS).when(LYON).then("formed", "superseded")
    assert (after.of(IN_PARIS).status, after.of(IN_PARIS).superseded_by) == ("superseded", after.of(IN_LYON).memory_id)
    assert after.of("The user lives in Berlin").status == "active"


def test_history_of_a_key_that_arrives_late_is_born_superseded():
    after = given(LYON).when(PARIS).then("superseded")
    assert after.active(later(days=2)) == [IN_LYON]


def test_the_same_value_of_a_key_in_other_words_reinforces():
    again = said("She is in Paris", "t-3", later(days=1), about="mother", attribute="city", value="paris")
    given(PARIS).when(again).then("reinforced")


def test_the_same_attribute_of_somebody_else_is_another_key():
    other = said(
        "The user's sister lives in Lyon", "t-2", later(days=1), about="sister", attribute="city", value="Lyon"
    )
    after = given(PARIS).when(other).then("formed")
    assert len(after.active(later(days=2))) == 2


def test_the_same_words_about_two_are_two_facts():
    one = said("She lives in Paris", "t-1", about="Lena", attribute="city", value="Paris")
    other = said("She lives in Paris", "t-2", later(days=1), about="Mia", attribute="city", value="Paris")
    given(one).when(other).then("formed")


def test_the_same_words_that_nobody_told_apart_are_one():
    plain = said(IN_PARIS, "t-1", about="my mother")
    given(plain).when(said(IN_PARIS, "t-2", later(days=1))).then("reinforced")
    given(said(IN_PARIS, "t-1")).when(said(IN_PARIS, "t-2", later(days=1), about="my mother")).then("reinforced")


def test_words_without_a_key_give_way_to_the_same_words_with_one():
    after = given(said(IN_PARIS, "t-0", later(days=-1))).when(PARIS).then("formed", "superseded")
    assert [m.key for m in after.memories if m.status == "active"] == ["mother\ncity"]


def test_a_word_of_ones_own_about_another_has_one_value():
    red = said("The car is red", "t-1", about="the car", attribute="colour", value="red")
    blue = said("The car is blue", "t-2", later(days=1), about="my car", attribute="colour", value="blue")
    given(red).when(blue).then("formed", "superseded")


def test_lists_about_another_accumulate_and_opposites_do_not_stand_together():
    tea = said("Lena likes tea", "t-1", about="Lena", attribute="likes", value="tea")
    cake = said("Lena likes cake", "t-2", later(days=1), about="Lena", attribute="likes", value="cake")
    no_tea = said("Lena hates tea", "t-3", later(days=2), about="Lena", attribute="dislikes", value="tea")
    mine = said("The user likes tea", "t-0", attribute="likes", value="tea")
    after = given(mine, tea, cake).when(no_tea).then("formed", "superseded")
    assert sorted(after.active(later(days=3))) == ["Lena hates tea", "Lena likes cake", "The user likes tea"]


def test_of_a_map_about_another_each_name_has_one_date():
    first = said("Lena marries in May", "t-1", about="Lena", attribute="important_dates", value="wedding: 2026-05-02")
    moved = said("It is in June", "t-2", later(days=1), about="Lena", attribute="important_dates", value="wedding: 6-2")
    other = said("Her exam", "t-3", later(days=1), about="Lena", attribute="important_dates", value="exam: 6-3")
    given(first).when(moved).then("formed", "superseded").when(other).then("formed")


def test_a_forgotten_value_of_a_key_counts_and_an_expired_one_does_not():
    known = given(PARIS, LYON)
    forgotten = known.when(forget(known.of(IN_LYON).memory_id, "c-1", later(days=2)))
    older = said("She lived in Nice", "t-4", later(hours=1), about="mother", attribute="city", value="Nice")
    forgotten.when(older).then("superseded")
    brief = said(
        IN_LYON, "t-2", later(days=1), about="mother", attribute="city", value="Lyon", memory_type="short_term"
    )
    given(brief, tick(later(days=5))).when(replace_time(PARIS, later(hours=1))).then("formed")


def replace_time(item: CandidatesExtracted, at: datetime) -> CandidatesExtracted:
    """Return an answer whose words were said at another time."""
    covered = [replace(one, occurred_at=at, recorded_at=later(days=5)) for one in item.covered]
    return replace(item, covered=covered)


def test_what_another_says_of_themselves_is_about_them():
    lena = said("Lena lives in Rome", "t-1", speaker="Lena", attribute="city", value="Rome")
    after = given(HOME).when(lena).then("formed")
    assert (after.of("Lena lives in Rome").about, after.of("Lena lives in Rome").speaker) == ("Lena", "Lena")
    assert profile(after.memories, later(days=1))["city"] == "Berlin"


def test_the_user_by_another_word_is_the_user():
    after = given(said("The user lives in Rome", "t-1", about="the user", speaker="me", attribute="city", value="Rome"))
    assert (after.only.about, after.only.speaker, after.only.slot) == (None, None, "city")


def test_only_own_words_say_the_value_of_a_key():
    entry = candidate(IN_PARIS, "t-1", about="my mother", attribute="city", value="Paris")
    after = given().when(extracted(entry, covers=[piece("t-1", by_user=False)])).then("formed")
    assert (after.only.attribute, after.only.about) == (None, "my mother")
    known = given(LYON).when(extracted(entry, covers=[piece("t-3", later(days=3), by_user=False)]))
    assert known.of(IN_LYON).status == "active"


def test_a_speakers_words_of_themselves_are_own_words_though_their_turn_is_not_the_users():
    rome = extracted(
        candidate("Lena lives in Rome", "t-1", speaker="Lena", attribute="city", value="Rome"),
        covers=[piece("t-1", by_user=False)],
    )
    oslo = extracted(
        candidate("Lena lives in Oslo", "t-2", speaker="Lena", attribute="city", value="Oslo"),
        covers=[piece("t-2", later(days=1), by_user=False)],
    )
    given(rome).when(oslo).then("formed", "superseded")


def test_an_assistants_name_is_no_speaker():
    entry = candidate("The assistant is blue", "t-1", speaker="Assistant", attribute="colour", value="blue")
    after = given().when(extracted(entry, covers=[piece("t-1", by_user=False)]))
    assert after.only.attribute is None


def test_the_profile_that_keeps_its_values_keeps_those_of_others():
    given(PARIS, parameters=Parameters(profile_keeps=True)).when(LYON).then("nothing")


def test_who_is_spoken_of_and_who_speaks_are_entities():
    lena = said("Lives in Rome", "t-1", about="Lena", attribute="city", value="Rome")
    known = given(lena, said("Rome is loud", "t-2", later(days=1), speaker="Mia"), PARIS)
    found = {one.name: [m.content for m in one.memories] for one in entities(known.state.owner, known.memories)}
    assert (found["Lena"], found["Mia"]) == (["Lives in Rome"], ["Rome is loud"])


def test_filters_take_whom_a_memory_is_about_and_what_it_states():
    known = given(HOME, PARIS)
    wanted = Filters(attribute="city", condition=condition_of({"about": "my mother", "confirmed": True}))
    assert [m.content for m in known.memories if wanted.passes(m, known.state.owner, later(days=1))] == [IN_PARIS]


# -- named by their ids


def test_what_an_answer_replaces_is_superseded():
    known = given(said("The user drives an old Volvo", "t-1"))
    new = said("The user drives a bus", "t-2", later(days=1), replaces=[known.only.memory_id])
    after = known.when(new).then("formed", "superseded")
    assert after.reasons[1] == "it takes the place of what was known"
    assert after.of("The user drives an old Volvo").superseded_by == after.of("The user drives a bus").memory_id


def test_what_an_answer_ends_is_superseded_by_what_tells_the_end():
    known = given(said("The user is in a choir", "t-1"))
    after = known.when(said("The choir was dissolved", "t-2", later(days=1), ends=[known.only.memory_id]))
    after.then("formed", "superseded")
    assert after.reasons[1] == "it is no longer so"


def test_a_wrong_id_is_ignored_and_said():
    after = given().when(said("The choir was dissolved", "t-1", ends=["nobody" * 20])).then("formed", "nothing")
    assert after.reasons[1] == "it cannot be ended: no such memory"


def test_what_was_said_later_or_is_over_is_not_ended():
    known = given(said("The user is in a choir", "t-2", later(days=2)))
    late = said("The user left the choir", "t-1", ends=[known.only.memory_id])
    after = known.when(late).then("formed", "nothing")
    assert after.reasons[1] == "it cannot be ended: it was said later"
    gone = known.when(forget(known.only.memory_id, "c-1", later(days=3)))
    ended = said("The user left the choir", "t-3", later(days=4), ends=[known.only.memory_id])
    assert gone.when(ended).reasons[1] == "it cannot be ended: it is forgotten"


def test_what_the_agent_does_not_know_is_not_ended():
    known = given(remember("The user is in a choir", "c-1", agent_id="another"))
    after = known.when(said("The user left the choir", "t-1", later(days=1), ends=[known.only.memory_id]))
    after.then("formed", "nothing")
    assert after.of("The user is in a choir").status == "active"


def test_only_own_words_end_anything():
    known = given(said("The user is in a choir", "t-1"))
    entry = candidate("The choir was dissolved", "t-2", ends=[known.only.memory_id])
    known.when(extracted(entry, covers=[piece("t-2", later(days=1), by_user=False)])).then("formed")
    shown = replace(extracted(entry, covers=[piece("t-2", later(days=1))]), source_type="photo")
    known.when(shown).then("formed")


def test_a_speaker_ends_only_what_is_about_them():
    known = given(said("The user is in a choir", "t-1"), said("Lena is in a band", "t-2", about="Lena"))
    choir, band = known.of("The user is in a choir"), known.of("Lena is in a band")
    entry = candidate("Lena left the band", "t-3", speaker="Lena", ends=[choir.memory_id, band.memory_id])
    after = known.when(extracted(entry, covers=[piece("t-3", later(days=1), by_user=False)]))
    after.then("formed", "nothing", "superseded")
    assert (after.of(choir.content).status, after.of(band.content).status) == ("active", "superseded")


def test_a_duplicate_still_ends_what_it_names_but_never_itself():
    known = given(said("The user is in a choir", "t-1"), said("The user sings at home only", "t-2"))
    choir, home = known.of("The user is in a choir"), known.of("The user sings at home only")
    again = said(home.content, "t-3", later(days=1), replaces=[home.memory_id], ends=[choir.memory_id])
    after = known.when(again).then("reinforced", "superseded")
    assert after.of(choir.content).superseded_by == home.memory_id
    assert after.of(home.content).status == "active"


def test_what_its_slot_superseded_is_not_superseded_twice():
    known = given(PARIS)
    named = said(IN_LYON, "t-2", later(days=1), about="mother", attribute="city", value="Lyon", replaces=ids(known))
    known.when(named).then("formed", "superseded")


def ids(known: Given) -> list[str]:
    """Return the ids of all memories."""
    return [m.memory_id for m in known.memories]


def test_where_the_profile_keeps_its_values_no_id_ends_one():
    known = given(HOME, parameters=Parameters(profile_keeps=True))
    after = known.when(said("The user moved out", "t-2", later(days=1), ends=ids(known))).then("formed", "nothing")
    assert after.of("The user lives in Berlin").status == "active"


# -- unconfirmed


def test_what_is_unconfirmed_ends_nothing_and_takes_no_place():
    known = given(HOME)
    entry = said("The user lives in Rome", "t-2", later(days=1), attribute="city", value="Rome", confirmed=False)
    unsure = replace(entry, candidates=[replace(entry.candidates[0], replaces=ids(known), importance=0.2)])
    after = known.when(unsure).then("formed")
    rome = after.of("The user lives in Rome")
    assert (rome.attribute, rome.confirmed, rome.importance) == (None, False, 0.2)
    assert after.of("The user lives in Berlin").status == "active"


def test_what_is_unconfirmed_fills_an_empty_slot_until_it_is_met_again():
    unsure = said("The user lives in Rome", "t-1", attribute="city", value="Rome", confirmed=False)
    known = given(unsure)
    assert (known.only.slot, known.only.confirmed) == ("city", False)
    after = known.when(said("The user lives in Rome", "t-2", later(days=1), attribute="city", value="Rome"))
    after.then("reinforced")
    assert after.only.confirmed


def test_what_is_unconfirmed_contradicts_nothing():
    known = given(said("The user likes tea", "t-1", attribute="likes", value="tea"))
    entry = said("The user no longer likes tea", "t-2", later(days=1), confirmed=False)
    known.when(entry).then("formed")
    certain = said("The user no longer likes tea", "t-2", later(days=1))
    known.when(certain).then("formed", "superseded")


# -- commands, and the past


def test_an_import_keeps_whom_it_is_about_and_takes_its_place():
    there = imported(
        IN_LYON, "m-2", later(days=2), attribute="city", value="Lyon", about=Sealed.clear("my mother"), confirmed=False
    )
    after = given(HOME, PARIS).when(there).then("formed", "superseded")
    lyon = after.of(IN_LYON)
    assert (lyon.about, lyon.confirmed, after.of(IN_PARIS).status) == ("my mother", False, "superseded")


def test_an_edited_text_changes_the_value_of_a_key():
    known = given(PARIS)
    after = known.when(
        revise(known.only.memory_id, "c-1", later(days=1), content="The user's mother lives in Nice")
    ).then("revised")
    assert after.only.value == "Nice"


def test_as_of_an_instant_in_the_past_a_key_has_the_value_of_then():
    known = given(PARIS, LYON)
    past = state_at(known.state.owner, history(PARIS, LYON), later(hours=1))
    assert [m.content for m in past.memories.values() if m.status == "active"] == [IN_PARIS]
    assert known.active(later(days=2)) == [IN_LYON]


def history(*items: CandidatesExtracted) -> list[Decision]:
    """Return the decisions about some items in their order."""
    known = given()
    decisions: list[Decision] = []
    for item in items:
        known = known.when(item)
        decisions += known.decisions
    return decisions


def test_as_of_an_instant_in_the_past_somebody_liked_what_they_liked_then():
    tea = said("Lena likes tea", "t-1", about="Lena", attribute="likes", value="tea")
    no_tea = said("Lena hates tea", "t-2", later(days=1), about="Lena", attribute="dislikes", value="tea")
    past = state_at(given().state.owner, history(no_tea, tea), later(days=2))
    assert [m.content for m in past.memories.values() if m.status == "active"] == ["Lena hates tea"]
