"""The erasure of one memory is decided on the state alone; it makes the memory unknown, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from immutables import Map
from support.examples import MONDAY, envelope, forget, later, remember, revise, said
from support.given import given

from projections.state.erased_words import ErasedWords
from projections.state.evolve import events_of, evolve, link_of
from projections.state.memory import UserState
from projections.state.wakes import Wakes
from schemas import codec
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.envelope import Sealed
from schemas.messages.erasure import EraseMemory, MemoryErased

CAT = "用户的猫叫Vexleyham"
TEA = "The user drinks tea."


def erase(memory_id: str, *event_ids: str) -> EraseMemory:
    return EraseMemory(
        envelope=envelope("erase-1", later(days=2)), memory_id=memory_id, event_ids=list(event_ids), letters=[]
    )


def words_of(memory_id: str, *event_ids: str) -> ErasedWords:
    return ErasedWords(frozenset({memory_id}), frozenset(event_ids))


def test_the_memory_is_unknown_and_the_others_are_as_they_were():
    before = given(said(TEA, "t-1"), said(CAT, "t-2", attribute="pet", value="Vexleyham"))
    cat = before.of(CAT)
    after = before.when(erase(cat.memory_id, "t-2")).then("erased")
    assert after.memories == [before.of(TEA)]
    assert cat.memory_id not in str(after.state.by_attribute) + str(after.state.by_digest)
    [event] = after.events
    assert isinstance(event, MemoryErased)
    assert (event.kept, event.was_active) == ([], True)


def test_who_came_from_the_same_turn_is_kept_and_named():
    before = given(said(TEA, "t-1"), said(CAT, "t-2"))
    after = before.when(erase(before.of(CAT).memory_id, "t-2", "t-1"))
    [event] = after.events
    assert isinstance(event, MemoryErased)
    assert event.kept == [before.of(TEA).memory_id]


def test_what_said_the_memory_again_since_the_command_was_made_goes_with_it():
    """A worker that has not folded all of the log yet names too few of its observations, or none."""
    before = given(said(CAT, "t-1")).when(said(CAT, "t-2", at=later(days=1))).then("reinforced")
    for named in ([], ["t-1"]):
        [event] = before.when(erase(before.only.memory_id, *named)).events
        assert isinstance(event, MemoryErased)
        assert sorted(event.event_ids) == ["t-1", "t-2"]


def test_an_unknown_memory_is_refused():
    assert given(said(TEA, "t-1")).when(erase("nothing")).then("refused").events == []


def test_a_forgotten_memory_is_erased_and_the_index_did_not_have_it():
    before = given(remember(CAT, "r-1"))
    forgotten = before.when(forget(before.only.memory_id, "f-1", later(days=1)))
    [event] = forgotten.when(erase(before.only.memory_id)).then("erased").events
    assert isinstance(event, MemoryErased)
    assert not event.was_active


def test_the_same_words_are_a_new_memory_afterwards():
    before = given(remember(CAT, "r-1"))
    after = before.when(erase(before.only.memory_id)).when(remember(CAT, "r-2", later(days=3))).then("formed")
    assert [m.content for m in after.memories] == [CAT]


def test_a_history_without_the_words_folds_to_the_same_state():
    first = given(said(TEA, "t-1"))
    told = first.when(remember(CAT, "r-1", attribute="pet", value="Vexleyham"))
    memory_id = told.of(CAT).memory_id
    revised = told.when(revise(memory_id, "v-1", later(days=1), content=CAT + "!")).then("revised")
    erased = revised.when(erase(memory_id))
    words = words_of(memory_id)
    state = UserState(owner=first.state.owner)
    for decision in first.decisions + told.decisions + revised.decisions + erased.decisions:
        bare = words.without(decision)
        assert "Vexleyham" not in codec.encode(bare).decode("utf-8", "replace")
        assert words.without(bare) is bare, "twice is once"
        state = evolve(state, bare, events_of(bare), link_of(bare, codec.encode(bare)))
    assert state == erased.state


def test_an_answer_loses_the_candidates_of_its_turns_and_keeps_its_pieces():
    answer = replace(said(CAT, "t-1"), answer=Sealed.clear(CAT))
    bare = words_of("any", "t-1").without(answer)
    assert "Vexleyham" not in codec.encode(bare).decode("utf-8", "replace")
    assert (bare.covered, bare.envelope) == (answer.covered, answer.envelope)
    assert words_of("any", "t-2").without(answer) is answer


@pytest.mark.parametrize(
    "value",
    [b'{"event_id": "t-1", "text": "Vexleyham"}', codec.encode(said(CAT, "t-1"))],
    ids=["what was published", "an answer"],
)
def test_a_dead_letter_with_some_of_the_words_goes_as_a_whole(value: bytes):
    letter = DeadLetter(
        envelope=envelope("letter-1", MONDAY),
        topic="mnemolog.inbox",
        partition=0,
        offset=0,
        value=value,
        reason="decode",
        detail="bad",
    )
    assert words_of("any", "t-1").is_whole(letter)
    assert not words_of("any", "t-9").is_whole(letter)


def test_what_is_decided_after_the_erasure_stays_as_it_is_and_what_is_void_does_not():
    before = given(remember(CAT, "r-1"))
    memory_id = before.only.memory_id
    erased = before.when(erase(memory_id))
    [refused] = erased.when(forget(memory_id, "f-1", later(days=3))).then("refused").decisions
    [formed] = before.decisions
    version = erased.decisions[-1].version
    words = replace(words_of(memory_id), versions={memory_id: version}, counted=frozenset({4, 9}))
    assert words.without(refused) is refused
    assert words.without(refused, 9) is refused
    assert words.without(formed, 4) == words_of(memory_id).without(formed)
    void = replace(formed, version=version + 1)
    assert "Vexleyham" not in codec.encode(words.without(void, 5)).decode("utf-8", "replace")
    until_nine = replace(words, known=9)
    assert until_nine.without(void, 9) is void, "whether it counts is not known yet"
    assert until_nine.without(void, 8) == words.without(void, 8)


def test_that_a_wake_showed_it_is_not_known_any_more():
    before = given(said(TEA, "t-1"), remember(CAT, "r-1"))
    tea, cat = before.of(TEA).memory_id, before.of(CAT).memory_id
    [decision] = before.when(erase(cat)).decisions
    shown = replace(before.state, wakes=Wakes(shown=Map({tea: 1, cat: 1})))
    after = evolve(shown, decision, events_of(decision), link_of(decision, codec.encode(decision)))
    assert after.wakes.shown == Map({tea: 1})
