"""Facts in whose words a key, a day or an end was read: the command carries them, and the decision asks nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from support.examples import later, remember
from support.given import given

from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from schemas.messages.inbox import RememberFact

BERLIN = "I live in Berlin."
ROME = "I moved to Rome."


def read(content: str, command: str, days: int = 0, **more: Any) -> RememberFact:
    """Return the command to remember a text in which a city was read."""
    value = content.rstrip(".").rsplit(" ", 1)[1]
    return remember(content, command, later(days=days), attribute="city", value=value, read=True, **more)


def test_a_key_that_was_read_supersedes_the_value_before():
    state = given(read(BERLIN, "c-1")).when(read(ROME, "c-2", days=1))
    assert state.active(later(days=1)) == [ROME]
    assert state.of(BERLIN).superseded_by == state.of(ROME).memory_id


def test_the_same_words_are_an_access_though_their_key_was_not_read_before():
    state = given(remember(BERLIN, "c-1")).when(read(BERLIN, "c-2", days=1))
    assert (state.only.access_count, state.only.attribute) == (1, None)


def test_a_kept_profile_keeps_its_value_and_the_words_are_remembered_without_the_key():
    keeps = Parameters(profile_keeps=True)
    state = given(read(BERLIN, "c-1"), parameters=keeps).when(read(ROME, "c-2", days=1))
    assert sorted(state.active(later(days=1))) == [BERLIN, ROME]
    assert (state.of(ROME).attribute, state.of(ROME).value) == (None, None)


def test_the_day_that_was_read_is_when_it_happens():
    state = given(remember("The dentist is tomorrow", "c-1", occurred_on="2026-01-06T15:00:00+00:00"))
    assert state.only.occurred_at == datetime(2026, 1, 6, 15, tzinfo=UTC)
    assert state.only.formed_at == later()


def test_what_is_no_longer_so_is_superseded_and_what_cannot_be_is_said():
    before = given(remember("I own a car", "c-1"))
    car = before.only.memory_id
    state = before.when(remember("I sold the car", "c-2", later(days=1), ends=[car, "nobody"]))
    assert state.active(later(days=1)) == ["I sold the car"]
    reasons = [outcome.reason for decision in state.decisions for outcome in decision.outcomes]
    assert reasons == ["new", "it is no longer so", "it cannot be ended: no such memory"]


def test_a_nickname_is_the_name_while_no_other_is_known():
    kit = remember("Call me Kit", "c-1", attribute="nickname", value="Kit", read=True)
    assert given(kit).only.attribute == "user_name"
    named = given(remember("I am Anna", "c-0", attribute="user_name", value="Anna")).when(kit)
    assert named.of("Call me Kit").attribute == "pet_names"
