"""No regular expression takes longer than in proportion to its text: each of them, pumped.

A pattern that has passed is remembered in `tests/data/pumped.txt` by a hash of it and of the pump, and is not pumped
again; `make explore` pumps all of them anew, and PUMP=1 once writes the file.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from support import pumping
from support.pumping import Tried, calls, compiled_at_import, is_possessive, modules, patterns, pumped
from support.tables import each

from schemas import own_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSED = Path(__file__).parents[2] / "data" / "pumped.txt"
PUMP = hashlib.blake2b(Path(pumping.__file__).read_bytes(), digest_size=8).hexdigest()
MOST_NEW = 60
"""Patterns that are pumped each time take a tenth of a second each."""
SHORT, MEDIUM, LONG = 118, 6_000, 65_536
FACTOR = 4 * LONG / MEDIUM
"""More than four times what is linear is beyond it."""
TOO_QUICK_TO_TELL = 0.03
"""Seconds. A square of 65,536 takes a minute, of the cheapest steps."""
HUNG = 10.0
"""Seconds of processor time. What is linear takes less than one."""
MATCHED_WHERE_IT_STANDS = {
    "mnemolog.extensions.migration.json_arrays._STRING_END#0",
    *(f"streams.extraction.model.document._STRINGS#{number}" for number in range(5)),
}
"""Patterns that nothing searches with: they are tried at one place."""

OWN = (
    r"EMP-\d{6}",
    r"\b[A-Z]{2,5}[ -]?\d{4,10}\b",
    r"工号[:：]?\s{0,3}\d{5,8}",
    r"(?:ab?){1,4}c",
    r"(?i)key-[a-z0-9]{9,99}",
)
"""Patterns of a tenant, near what their check allows."""


@cache
def built_later() -> dict[tuple[str, str], list[Tried]]:
    """Return what is made of something only while the program runs, as it makes it; by module and expression."""
    return {
        ("schemas.own_patterns", "pattern"): [Tried(own_patterns.compiled(each)) for each in OWN],
        ("streams.decisions.edited_value", "f'{begin}{re.escape(value)}{end}'"): [
            Tried(re.compile(rf"(?<!\w){value}(?!\w)", re.IGNORECASE)) for value in ("tea", "a" * 200)
        ],
    }


@cache
def all_patterns() -> dict[str, Tried]:
    """Return every pattern by its name. To walk the packages imports all of them, so it is not done at import."""
    walked = {
        name: replace(tried, method="match") if name in MATCHED_WHERE_IT_STANDS else tried
        for name, tried in patterns().items()
    }
    return walked | {
        f"{module}.{expression}#{number}": tried
        for (module, expression), built in built_later().items()
        for number, tried in enumerate(built)
    }


class Hung(Exception):
    """A search took longer than any could that is linear."""


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raise Hung in the block when it takes more processor time; `re` looks for signals while it searches."""

    def end(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds_of(tried: Tried, length: int, seed: int, hung: float) -> list[float]:
    """Return the processor time that each pumped text of a length takes."""
    took = []
    for text in pumped(tried.pattern, length, random.Random(seed)):  # noqa: S311 - texts to try
        began = time.process_time()
        with ended_after(hung):
            tried.on(text)
        took.append(time.process_time() - began)
    return took


def grows_beyond_linear(tried: Tried, seed: int, hung: float = HUNG) -> bool:
    """Return whether any pumped text shows it, also when it is looked at again."""
    try:
        seconds_of(tried, SHORT, seed, hung)
        medium, long = (seconds_of(tried, length, seed, hung) for length in (MEDIUM, LONG))
        for place, took in enumerate(long):
            if took > TOO_QUICK_TO_TELL and took > FACTOR * medium[place]:
                again = min(seconds_of(tried, LONG, seed, hung)[place] for _ in range(2))
                if again > TOO_QUICK_TO_TELL and again > FACTOR * seconds_of(tried, MEDIUM, seed, hung)[place]:
                    return True
    except Hung:
        return True
    return False


def test_there_are_patterns_to_pump():
    """The walk finds those of the rules' rows."""
    assert any(name.startswith("streams.extraction.rules.rows.chinese.CHINESE") for name in all_patterns())


def passed_before() -> set[str]:
    """Return the hashes of what has passed, unless all is to be pumped anew."""
    return set() if "PUMP" in os.environ else set(PASSED.read_text(encoding="utf-8").split())


def hash_of(tried: Tried) -> str:
    """Return what stands for a pattern, how it is called, and the texts that it is given."""
    pump = (PUMP, SHORT, MEDIUM, LONG, tried.method, tried.pattern.flags, tried.pattern.pattern)
    return hashlib.blake2b(repr(pump).encode(), digest_size=8).hexdigest()


def test_no_pattern_grows_beyond_linear():
    """118, 6,000 and 65,536 characters, each unbounded repeat of each pattern that is not known to pass."""
    before, seed = passed_before(), int(os.environ.get("PUMP", "1"))
    new = {name: tried for name, tried in all_patterns().items() if hash_of(tried) not in before}
    beyond = [name for name, tried in new.items() if grows_beyond_linear(tried, seed)]
    assert not beyond
    if os.environ.get("PUMP") == "1":
        PASSED.write_text(
            "\n".join(sorted({hash_of(tried) for tried in all_patterns().values()})) + "\n", encoding="utf-8"
        )


def test_few_patterns_are_pumped_each_time():
    """Else the file has not been written for long: `PUMP=1 .venv/bin/pytest` this module."""
    new = {hash_of(tried) for tried in all_patterns().values()} - set(PASSED.read_text(encoding="utf-8").split())
    assert len(new) < MOST_NEW


@each(
    "pattern",
    [r"^(?:能不?能?)*吗$", r"\s+x", r"^\d*\d*x$", r"(?:ab?b?)*c"],
    ids=["exponential", "search", "two", "body"],
)
def test_a_pattern_that_does_is_noticed(pattern: str):
    """The pump can fail."""
    assert any(grows_beyond_linear(Tried(re.compile(pattern)), seed, hung=0.2) for seed in range(3))


def test_a_pattern_of_bytes_is_pumped_too():
    """Also where it is called for its replacement."""
    assert grows_beyond_linear(Tried(re.compile(rb"\s+x"), "sub"), seed=1, hung=0.2)
    assert any(isinstance(tried.pattern.pattern, bytes) for tried in all_patterns().values())


def test_no_pattern_is_left_out():
    """Each call of `re` has a pattern that is pumped: one that the source spells, or that importing compiles."""
    at_import = compiled_at_import()
    pumped_ones = {(tried.pattern.pattern, tried.pattern.flags) for tried in all_patterns().values()}
    left_out = {one for one in at_import if one[2] is not None and (one[2], one[3]) not in pumped_ones}
    assert len(at_import) > 300
    assert not left_out
    built = [call for module in modules() for call in calls(module) if call.pattern is None]
    unknown = [
        call
        for call in built
        if (call.module, call.expression) not in built_later()
        and not any(name == call.module and call.line <= line <= call.last_line for name, line, _, _ in at_import)
    ]
    assert not unknown


def test_no_pattern_is_possessive_or_atomic():
    """Python 3.11.2 matches some of these wrongly, and 3.10 reads none."""
    assert not [name for name, tried in all_patterns().items() if is_possessive(tried.pattern)]


@each("pattern", ["a*+b", "(?:x(?>a|b))+", "a|b?+", rb"[ab]++", "(?=a{2,3}+)", "(a|(b++)c)"])
def test_a_pattern_that_is_possessive_is_noticed(pattern: str | bytes):
    """However deep it stands."""
    assert is_possessive(re.compile(pattern))
