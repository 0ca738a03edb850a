"""Documents: exact values under keys. The newest of a key holds it; they do not fade, and say nothing of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.examples import later, remember, tick
from support.given import given

from projections.profile.ranked_memories import RankedMemories
from projections.profile.visibility import Visibility
from projections.queries.filters import Filters
from schemas.vocabulary.words import DOCUMENT
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from schemas.messages.inbox import RememberFact

TEXT = "Lives in Rome"


def put(content: str, command: str, days: int = 0, key: str = "k1", **more: Any) -> RememberFact:
    """Return the command to keep a document."""
    return remember(content, command, later(days=days), kind=DOCUMENT, attribute=key, value="forever", **more)


def test_the_newest_document_of_a_key_supersedes_the_one_before():
    state = given(put("one", "p-1"), put("other", "p-2", key="k2")).when(put("two", "p-3", days=1))
    assert sorted(state.active(later(days=1))) == ["other", "two"]
    assert state.of("one").superseded_by == state.of("two").memory_id


def test_the_same_words_again_are_a_document_of_their_own():
    state = given(put(TEXT, "p-1")).when(put(TEXT, "p-2", days=1))
    assert [m.status for m in state.memories] == ["superseded", "active"]
    again = state.when(put(TEXT, "p-2", days=1))
    assert again.events == [], "the same command twice is one"


def test_a_document_and_a_memory_of_the_same_words_or_attribute_do_not_meet():
    city = remember(TEXT, "m-1", attribute="city", value="Rome")
    state = given(put(TEXT, "p-1", key="city")).when(city).when(remember(TEXT, "m-2")).when(put("x", "p-2", key="city"))
    active = [(m.kind, m.content) for m in state.memories if m.status == "active"]
    assert sorted(active) == [(DOCUMENT, "x"), ("semantic", TEXT)]


@pytest.mark.parametrize("policy", ["ladder", "ebbinghaus"])
def test_decay_leaves_documents_alone(policy: str):
    assert given(put(TEXT, "p-1")).when(tick(later(days=400), policy=policy)).events == []


def test_a_kept_profile_keeps_no_document_from_being_replaced():
    state = given(put("one", "p-1"), parameters=Parameters(profile_keeps=True)).when(put("two", "p-2", days=1))
    assert state.active(later(days=1)) == ["two"]


def test_only_who_asks_for_documents_is_shown_them():
    document = given(put(TEXT, "p-1")).only
    assert not Filters().accept(document)
    assert Filters(kind=DOCUMENT).accept(document)


def test_contexts_and_profiles_have_no_documents():
    state = given(put(TEXT, "p-1", key="city"), remember("Likes tea", "m-1"))
    ranked = RankedMemories(state.state)
    best = ranked.best(later(days=1), None, Visibility.EVERYTHING, 10)
    assert [memory.content for memory in best] == ["Likes tea"]
    assert ranked.total(later(days=1), None, Visibility.EVERYTHING) == 1
    assert "Rome" not in str(ranked.profile(later(days=1), None, Visibility.EVERYTHING))
    after = state.when(put("Lives in Oslo", "p-2", days=1, key="city"))
    ranked.follow(after.state)
    assert ranked.total(later(days=1), None, Visibility.EVERYTHING) == 1
