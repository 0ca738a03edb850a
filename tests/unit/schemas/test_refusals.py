"""The word that a refusal begins with is one of a closed list, and comes back out of the reason."""

from __future__ import annotations

from support.examples import forget, later, remember, revise
from support.given import given
from support.tables import each

from projections.state.memory import ACTIVE, STATUSES
from schemas.vocabulary.refusals import Refusal, refusal_of


@each("refusal", Refusal)
def test_a_word_and_its_detail_come_back(refusal: Refusal):
    assert refusal_of(refusal.because("so: it is")) == (refusal, "so: it is")


@each("reason", ["unknown", "unknown word: of ours", "", ": ", "known already"])
def test_a_reason_without_such_a_word_is_all_detail(reason: str):
    assert refusal_of(reason) == (None, reason)


def test_every_status_that_keeps_a_memory_from_being_revised_has_its_word():
    assert {Refusal(status) for status in STATUSES if status != ACTIVE} <= set(Refusal)


def test_what_commands_refuse_begins_with_such_a_word():
    known = given(remember("likes tea", "c-1"))
    memory_id = known.only.memory_id
    gone = known.when(forget(memory_id, "f-1", later(hours=1)))
    for state, item, refusal in (
        (known, revise("none", "r-1"), Refusal.UNKNOWN),
        (known, forget("none", "r-2"), Refusal.UNKNOWN),
        (known, revise(memory_id, "r-3", expected_version=9, importance=0.1), Refusal.VERSION_MOVED),
        (gone, revise(memory_id, "r-4", later(hours=2), importance=0.1), Refusal.FORGOTTEN),
    ):
        [reason] = state.when(item).then("refused").reasons
        assert refusal_of(reason)[0] is refusal
