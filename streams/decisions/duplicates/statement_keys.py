"""The keys by which the state's index finds memories that may repeat or contradict a statement.

Each key represents a condition of a rule on two texts or values. If the condition holds, they share the key, so
memories without a common key need not be examined. A shared key alone decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.vocabulary.attributes import plain_value
from streams.decisions.duplicates.contradiction import end_keys, taken_back
from streams.decisions.duplicates.equivalence import content_words, skeleton

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from projections.state.statement_index import Said


def keys_of(said: Said) -> Iterator[Hashable]:
    """Yield the keys of a memory's statement."""
    words = content_words.known(said.content)  # usually the decision that formed it has just asked for them
    if words is None:
        words = skeleton(said.content).words  # not cached: the texts read from the shard are many
    yield of_words(words)
    yield from end_keys(words)
    if (back := taken_back(said.content)) is not None:
        yield from map(of_taking_back, back[0])
    if said.fact is not None and said.value is not None:
        yield of_value(said.fact, said.value)
    if said.day is not None:
        yield of_day(said.day)


def of_words(words: tuple[str, ...]) -> Hashable:
    """Return the key that near duplicates share."""
    return "words", words


def of_value(fact: str, value: str) -> Hashable:
    """Return the key that memories with the same fact and value share."""
    return "value", fact, plain_value(value)


def of_taking_back(attribute: str) -> Hashable:
    """Return the key of statements that take back a value of an attribute."""
    return "back", attribute


def of_day(day: int) -> Hashable:
    """Return the key that episodes of the same day share."""
    return "day", day
