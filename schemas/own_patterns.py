"""A policy's own patterns: regular expressions, linear in time, for further things that a tenant wants to exclude.

The pattern itself is checked, not texts: the check computes the most steps of a search from one character on. Python's
expressions backtrack, so repeats must be bounded and must not read the same text in many ways.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from re import _parser as sre  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PATTERNS: Final = 10
MAX_PATTERN_CHARACTERS: Final = 200
MAX_STEPS: Final = 200
"""The most steps from one character of a text on: 65,536 characters then take a few tenths of a second at worst."""
MAX_FOUND: Final = 200
"""The most characters that a pattern may match."""
_ONE_CHARACTER: Final = frozenset({sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN, sre.AT})
_REPEATS: Final = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT})


@dataclass(frozen=True, slots=True)
class OwnPattern:
    """A pattern and the action for its matches; its name is the mark that replaces them."""

    name: str
    pattern: str
    action: str
    """`redact` or `refuse`."""


class UnfitPattern(ValueError):
    """The pattern is unusable: the message says what to change, and quotes nothing."""


class _Work(NamedTuple):
    """The most work of a match: its steps, and the number of ways in which it may end."""

    steps: int
    ways: int


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern whose search time is linear in any text. Raises UnfitPattern."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise UnfitPattern(f"has {len(pattern)} characters: at most {MAX_PATTERN_CHARACTERS} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # syntax that `re` warns about may change its meaning
            made = re.compile(pattern)
            tree = sre.parse(pattern, made.flags)
    except (re.error, ValueError, Warning, OverflowError, RecursionError) as error:
        why = error.msg if isinstance(error, re.error) else "Python does not read it"
        raise UnfitPattern(f"is no regular expression: {why}") from None
    least, most = tree.getwidth()
    work = _sequence(tree)
    if work.steps > MAX_STEPS:
        raise UnfitPattern(
            f"may take {min(work.steps, 10**6)} steps a character, and {MAX_STEPS} are allowed: "
            "repeat less, and let no two repeats read the same text"
        )
    if not 0 < least <= most <= MAX_FOUND:
        raise UnfitPattern(f"must match at least one character, and at most {MAX_FOUND}")
    return made


def _sequence(items: Iterable[Any]) -> _Work:
    """Return the work of a sequence: each item is matched again for every way in which the previous ones may end."""
    steps, ways = 0, 1
    for item in items:
        work = _item(*item)
        steps, ways = steps + ways * work.steps, ways * work.ways
        if steps > 10**6:  # already too many; the numbers may grow exponentially
            break
    return _Work(steps, ways)


def _item(kind: Any, value: Any) -> _Work:  # noqa: ANN401 - nodes of the parsed pattern
    if kind in _ONE_CHARACTER:
        return _Work(1, 1)
    if kind is sre.SUBPATTERN:
        return _sequence(value[-1])
    if kind is sre.BRANCH:
        branches = [_sequence(branch) for branch in value[1]]
        return _Work(1 + sum(each.steps for each in branches), sum(each.ways for each in branches))
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return _Work(1 + _sequence(value[1]).steps, 1)
    if kind in _REPEATS:
        return _repeat(*value)
    if kind in (sre.GROUPREF, sre.GROUPREF_IGNORE, sre.GROUPREF_EXISTS):
        raise UnfitPattern("refers back to a group: spell out what is to follow")
    raise UnfitPattern("has a possessive repeat or an atomic group: use plain ones")


def _repeat(least: int, most: int, body: Any) -> _Work:  # noqa: ANN401
    if most is sre.MAXREPEAT or most > MAX_FOUND:
        raise UnfitPattern(f"repeats without an end: say how often at most, up to {MAX_FOUND}, as in \\d{{1,20}}")
    once = _sequence(body)
    steps, ways, begun = 1, 0, 1
    for times in range(most + 1):
        ways += begun if times >= least else 0
        if times < most:
            steps += begun * once.steps
            begun *= once.ways
        if steps > 10**6:
            break
    return _Work(steps, ways)
