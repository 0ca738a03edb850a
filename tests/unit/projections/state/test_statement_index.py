"""The index of what memories say: it misses nothing, and lets go of what is erased or worn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from support.examples import MONDAY, happened, remember, said
from support.given import given

from projections.state.evolve import apply_all
from projections.state.statement_index import Said, StatementIndex
from schemas.messages.envelope import Sealed
from schemas.messages.erasure import MemoryErased
from schemas.messages.events import MemoryRevised

if TYPE_CHECKING:
    from collections.abc import Iterator

TEA, CAT = given(said("User drinks tea", "t-1"), said("User has a cat", "t-2")).memories


def words(one: Said) -> Iterator[str]:
    yield from one.content.split()


def test_a_memory_is_found_by_what_it_says_and_by_what_it_said():
    index = StatementIndex([TEA])
    assert index.find(["tea"], words) == {TEA.memory_id}
    index.note(replace(TEA, content="User drinks coffee"))
    assert index.find(["coffee"], words) == index.find(["tea"], words) == {TEA.memory_id}
    assert index.find(["milk"], words) == set()


def test_memories_of_one_key_are_found_together_each_once():
    index = StatementIndex([TEA, CAT, CAT])
    assert index.find(["User", "cat"], words) == {TEA.memory_id, CAT.memory_id}


def test_a_document_says_nothing():
    assert StatementIndex([replace(TEA, kind="document")]).find(["tea"], words) == set()


def test_only_an_episode_has_a_day():
    asked: list[Said] = []
    [gift] = given(happened("User got a kite", "t-3")).memories
    StatementIndex([TEA, gift]).find((), lambda one: asked.append(one) or [])  # type: ignore[func-returns-value]
    assert {one.memory_id: one.day for one in asked} == {TEA.memory_id: None, gift.memory_id: 20_458}


def test_many_texts_are_read_in_portions():
    index = StatementIndex([TEA] * 120)
    assert [index.read_on(words), index.read_on(words), index.read_on(words)] == [True, True, False]


def test_the_words_of_an_erased_memory_that_nobody_looked_at_are_gone():
    state = given(remember("User drinks tea", "c-1"), remember("User has a cat", "c-2")).state
    [tea] = [m for m in state.memories.values() if "tea" in m.content]
    after = apply_all(state, [erased(tea.memory_id)], None)
    assert after.statements is not None
    assert state.statements is not None
    asked: list[str] = []
    after.statements.find((), lambda one: asked.append(one.content) or [])  # type: ignore[func-returns-value]
    assert set(asked) == {"User has a cat"}
    assert state.statements.find(["tea"], words) == {tea.memory_id}, "the state before has it still"


def test_an_index_of_what_is_said_no_more_is_made_anew():
    state = given(remember("User drinks tea 0", "c-1")).state
    [tea] = state.memories.values()
    first = state.statements
    for number in range(300):
        state = apply_all(state, [revised(tea.memory_id, f"User drinks tea {number}")], None)
        assert state.statements is not None
        assert state.statements.find([str(number)], words) == {tea.memory_id}
    assert state.statements is not first


def erased(memory_id: str) -> MemoryErased:
    envelope = remember("", "erase").envelope
    return MemoryErased(
        envelope=envelope, memory_id=memory_id, event_ids=[], letters=[], kept=[], was_active=True, erased_at=MONDAY
    )


def revised(memory_id: str, content: str) -> MemoryRevised:
    envelope = remember("", "revise").envelope
    return MemoryRevised(
        envelope=envelope, memory_id=memory_id, reason="edited", content=Sealed.clear(content), source_ids=[], pieces=[]
    )
