"""Texts that make a regular expression backtrack: each of its unbounded repeats is pumped.

The sampler walks the parsed pattern. It writes text that the part before a repeat matches, then text for the repeat's
body many times, then a character that nothing matches. If a body matches the same text in two ways, time grows with the
number of ways; if a search may begin at each character, time grows with the square of the length.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import traceback
from dataclasses import dataclass
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import REGISTRY

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from types import ModuleType

PACKAGES: Final = ("schemas", "projections", "streams", "mnemolog")
LONG_REPEAT: Final = 8
"""Repeats with a greater maximum than this are pumped."""
METHODS: Final = frozenset({"compile", "match", "search", "sub", "subn", "fullmatch", "split", "findall", "finditer"})
FLAGS_AT: Final = {"compile": 1} | dict.fromkeys(("match", "search", "fullmatch", "findall", "finditer"), 2)
"""The place of a call's flags if they are a positional argument."""
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
    """Import and yield every module of the packages except each `__main__`, which would run."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


@dataclass(frozen=True)
class Tried:
    """A pattern, and the method that our code calls with a text."""

    pattern: re.Pattern[Any]
    method: str = "search"

    def on(self, text: str) -> None:
        """Call the method with a text, and read all that it finds."""
        given = text.encode("latin-1", "replace") if isinstance(self.pattern.pattern, bytes) else text
        if self.method in ("sub", "subn"):
            getattr(self.pattern, self.method)(b"" if isinstance(given, bytes) else "", given)
        else:
            found = getattr(self.pattern, self.method)(given)
            if self.method == "finditer":
                list(found)


def patterns() -> dict[str, Tried]:
    """Return every pattern of the packages, of text and of bytes, by the place where it was found first.

    They are the patterns in a module's variables, however deep, and those in calls such as `re.sub("…", …)`.
    """
    found: dict[str, Tried] = {}
    for module in modules():
        for name, value in vars(module).items():
            for number, pattern in enumerate(_inside(value, 0)):
                found[f"{module.__name__}.{name}#{number}"] = Tried(pattern)
        for call in calls(module):
            if call.pattern is not None:
                found[f"{module.__name__}.#{call.line}"] = Tried(call.pattern, call.method)
    unlike: dict[Tried, str] = {}
    for name, tried in found.items():
        unlike.setdefault(tried, name)
    return {name: tried for tried, name in unlike.items()}


@dataclass(frozen=True)
class Call:
    """A call of `re` in the source of a module; `pattern` is None if it is built from values known only at run time."""

    module: str
    method: str
    line: int
    last_line: int
    expression: str
    pattern: re.Pattern[Any] | None


@cache
def calls(module: ModuleType) -> tuple[Call, ...]:
    """Return every call of `re` that takes a pattern, also those within functions."""
    return tuple(_calls(module))


def _calls(module: ModuleType) -> Iterator[Call]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method)) if method in METHODS:
                # A pattern that is compiled here is in a variable, or tried by the methods that are called there.
                tried = "search" if method == "compile" else method
                flags = next((each.value for each in node.keywords if each.arg == "flags"), None)
                place = FLAGS_AT.get(method)
                if place is not None and len(node.args) > place:
                    flags = node.args[place]
                last = node.end_lineno or node.lineno
                pattern = _evaluated(node.args[0], flags, vars(module))
                yield Call(module.__name__, tried, node.lineno, last, ast.unparse(node.args[0]), pattern)


def _evaluated(expression: ast.expr, flags: ast.expr | None, names: dict[str, Any]) -> re.Pattern[Any] | None:
    def value_of(one: ast.expr) -> Any:
        return eval(compile(ast.Expression(one), "<pattern>", "eval"), names)  # noqa: S307 - our own source

    try:
        return re.compile(value_of(expression), 0 if flags is None else value_of(flags))
    except NameError:
        return None


def compiled_at_import() -> list[tuple[str, int, str | None, int]]:
    """Return module, line, pattern (None: of bytes) and flags of all patterns that importing the packages compiles.

    They are observed in a fork that imports the packages again, because this process has imported them already.
    """
    list(modules())
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reads)
            with os.fdopen(writes, "w", encoding="utf-8") as told:
                json.dump(_imported_anew(), told)
        except BaseException:  # noqa: BLE001 - whatever it is, the tests must not go on in two processes
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as told:
        said = told.read()
    os.waitpid(child, 0)
    return [tuple(one) for one in json.loads(said)]


def _imported_anew() -> list[tuple[str, int, str | None, int]]:
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    for metric in list(REGISTRY._collector_to_names):  # each is made again
        REGISTRY.unregister(metric)
    found, compiled = [], re._compile  # type: ignore[attr-defined]

    def noted(pattern: Any, flags: Any) -> re.Pattern[Any]:
        made: re.Pattern[Any] = compiled(pattern, flags)
        frame = sys._getframe(2)
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] in PACKAGES:
            found.append((name, frame.f_lineno, made.pattern if isinstance(made.pattern, str) else None, made.flags))
        return made

    re._compile = noted  # type: ignore[attr-defined]
    list(modules())
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


def pumped(pattern: re.Pattern[Any], length: int, chance: random.Random, samples: int = 3) -> Iterator[str]:
    """Yield texts of about `length` characters, some for each unbounded repeat of a pattern."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    for before, body in _repeats(list(tree), [], chance):
        for _ in range(samples):
            start = "".join(_sample(item, chance) for item in before)
            piece = "".join(_sample(item, chance) for item in body) or "a"
            other = "".join(_sample(item, chance) for item in body) or "a"
            unit = piece if chance.random() < 0.5 else piece + other
            yield start + unit * max(1, (length - len(start)) // len(unit)) + LAST


def nodes(items: Any) -> Iterator[Any]:
    """Yield the kind of every node of a parsed pattern."""
    for kind, value in items:
        yield kind
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, _parser.SubPattern):
                yield from nodes(part)
            elif isinstance(part, list) and kind is sre.BRANCH:
                for branch in part:
                    yield from nodes(branch)


def is_possessive(pattern: re.Pattern[Any]) -> bool:
    """Return whether a pattern has a possessive repeat or an atomic group, which Python 3.11.2 gets wrong."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    return not {sre.POSSESSIVE_REPEAT, sre.ATOMIC_GROUP}.isdisjoint(nodes(tree))


def _repeats(items: list[Any], before: list[Any], chance: random.Random) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the items before each unbounded repeat, and its body."""
    seen = list(before)
    for item in items:
        kind, value = item
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, body = value
            if most is sre.MAXREPEAT or most > LONG_REPEAT:
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
