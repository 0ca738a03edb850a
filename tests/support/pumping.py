"""Texts that make a regular expression try many readings: each of its unbounded repeats, pumped.

The sampler walks the parsed pattern and writes text that the part before a repeat matches, then the repeat's body again
and again, then a character that nothing expects. Where a body can be read in two ways, time grows with the number of
readings; where a search may begin at each character, with the square of the length.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from types import ModuleType

PACKAGES: Final = ("schemas", "projections", "streams", "mnemolog")
UNBOUNDED: Final = 40
"""Repeats that may go on for longer than this are pumped."""
LAST: Final = "\x01"
_LETTERS: Final = {
    sre.CATEGORY_DIGIT: "7",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: " ",
}
_CATEGORIES: Final = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_WORD: r"\w"}


def modules() -> Iterator[ModuleType]:
    """Import and yield every module of the packages; a `__main__` would run."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns() -> dict[str, re.Pattern[str]]:
    """Return every compiled text pattern that a module holds, at any depth, by where it was found first."""
    found: dict[str, re.Pattern[str]] = {}
    seen: set[re.Pattern[str]] = set()
    for module in modules():
        for name, value in vars(module).items():
            for number, pattern in enumerate(_inside(value, 0)):
                if isinstance(pattern.pattern, str) and pattern not in seen:
                    seen.add(pattern)
                    found[f"{module.__name__}.{name}#{number}"] = pattern
    return found


def _inside(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 5:
        if isinstance(value, dict):
            parts: list[object] = [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            parts = list(value)
        elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
            parts = [getattr(value, name, None) for name in value.__dataclass_fields__]
        else:
            return
        for part in parts:
            yield from _inside(part, depth + 1)


def pumped(pattern: re.Pattern[str], length: int, chance: random.Random, samples: int = 3) -> Iterator[str]:
    """Yield texts of about `length` characters, some for each unbounded repeat of a pattern."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    for before, body in _repeats(list(tree), [], chance):
        for _ in range(samples):
            start = "".join(_sample(item, chance) for item in before)
            piece = "".join(_sample(item, chance) for item in body) or "a"
            other = "".join(_sample(item, chance) for item in body) or "a"
            unit = piece if chance.random() < 0.5 else piece + other
            yield start + unit * max(1, (length - len(start)) // len(unit)) + LAST


def _repeats(items: list[Any], before: list[Any], chance: random.Random) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield each unbounded repeat's body with what stands before it."""
    seen = list(before)
    for item in items:
        kind, value = item
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, body = value
            if most is sre.MAXREPEAT or most > UNBOUNDED:
                yield list(seen), list(body)
            yield from _repeats(list(body), seen, chance)
        elif kind is sre.SUBPATTERN:
            yield from _repeats(list(value[-1]), seen, chance)
        elif kind is sre.ATOMIC_GROUP:
            yield from _repeats(list(value), seen, chance)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _repeats(list(branch), seen, chance)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _repeats(list(value[1]), seen, chance)
        seen.append(item)


def _sample(item: Any, chance: random.Random) -> str:  # noqa: PLR0911 - one case a kind of node
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is sre.ANY:
        return chance.choice("a ，我")
    if kind is sre.IN:
        return _member(value, chance)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, body = value
        times = chance.randint(least, min(most, least + 2) if most is not sre.MAXREPEAT else least + 2)
        return "".join(_sample(each, chance) for _ in range(times) for each in body)
    if kind is sre.SUBPATTERN:
        return "".join(_sample(each, chance) for each in value[-1])
    if kind is sre.ATOMIC_GROUP:
        return "".join(_sample(each, chance) for each in value)
    if kind is sre.BRANCH:
        return "".join(_sample(each, chance) for each in chance.choice(value[1]))
    if kind is sre.CATEGORY:
        return _LETTERS[value]
    return ""  # anchors, assertions, references


def _member(members: list[Any], chance: random.Random) -> str:
    if members[0][0] is sre.NEGATE:
        for letter in "a我 7，。.\n,[":
            if not any(_is_in(letter, each) for each in members[1:]):
                return letter
        return "\u2603"
    kind, value = chance.choice(members)
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.RANGE:
        return chr(chance.randint(*value))
    return _LETTERS[value]


def _is_in(letter: str, member: Any) -> bool:
    kind, value = member
    if kind is sre.LITERAL:
        return bool(ord(letter) == value)
    if kind is sre.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    return re.match(_CATEGORIES.get(value, r"\W"), letter) is not None
