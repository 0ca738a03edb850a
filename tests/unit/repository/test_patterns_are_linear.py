"""No regular expression takes longer than in proportion to its text: each of them, pumped."""

from __future__ import annotations

import random
import re
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.pumping import patterns, pumped

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT, MEDIUM, LONG = 118, 6_000, 65_536
FACTOR = 4 * LONG / MEDIUM
"""More than four times what is linear is beyond it."""
TOO_QUICK_TO_TELL = 0.03
"""Seconds. A square of 65,536 takes a minute, of the cheapest steps."""
HUNG = 10.0
"""Seconds. What is linear takes less than one."""
MATCHED_WHERE_IT_STANDS = {"mnemolog.cli.migrations.json_arrays._STRING_END#0"}
"""Patterns that nothing searches with: they are tried at one place."""

PATTERNS = patterns()


class Hung(Exception):
    """A search took longer than any could that is linear."""


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raise Hung in the block when it takes longer; `re` looks for signals while it searches."""

    def end(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds_of(name: str, pattern: re.Pattern[str], length: int, seed: int, hung: float) -> list[float]:
    """Return the processor time of a search in each pumped text of a length."""
    search = pattern.match if name in MATCHED_WHERE_IT_STANDS else pattern.search
    took = []
    for text in pumped(pattern, length, random.Random(seed)):  # noqa: S311 - texts to try
        began = time.process_time()
        with ended_after(hung):
            search(text)
        took.append(time.process_time() - began)
    return took


def grows_beyond_linear(name: str, pattern: re.Pattern[str], seed: int, hung: float = HUNG) -> bool:
    """Return whether any pumped text shows it, also when it is looked at again."""
    try:
        seconds_of(name, pattern, SHORT, seed, hung)
        medium, long = (seconds_of(name, pattern, length, seed, hung) for length in (MEDIUM, LONG))
        for place, took in enumerate(long):
            if took > TOO_QUICK_TO_TELL and took > FACTOR * medium[place]:
                again = min(seconds_of(name, pattern, LONG, seed, hung)[place] for _ in range(2))
                if again > TOO_QUICK_TO_TELL and again > FACTOR * seconds_of(name, pattern, MEDIUM, seed, hung)[place]:
                    return True
    except Hung:
        return True
    return False


def test_there_are_patterns_to_pump():
    """The walk finds those of the rules."""
    assert any(name.startswith("streams.extraction.rules.addressed._CHINESE") for name in PATTERNS)


@pytest.mark.parametrize("package", sorted({name.rsplit(".", 1)[0] for name in PATTERNS}))
def test_no_pattern_grows_beyond_linear(package: str):
    """118, 6,000 and 65,536 characters, each unbounded repeat of each pattern of a module."""
    beyond = [
        name
        for name, pattern in PATTERNS.items()
        if name.rsplit(".", 1)[0] == package and grows_beyond_linear(name, pattern, seed=1)
    ]
    assert not beyond


@pytest.mark.parametrize(
    "pattern",
    [r"^(?:能不?能?)*吗$", r"\s+x", r"^\d*\d*x$", r"(?:ab?b?)*c"],
    ids=["exponential", "search", "two", "body"],
)
def test_a_pattern_that_does_is_noticed(pattern: str):
    """The pump can fail."""
    assert any(grows_beyond_linear("here", re.compile(pattern), seed, hung=0.5) for seed in range(3))
