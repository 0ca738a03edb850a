"""Disclosure: what logs, answers and reports may show of a setting or an error: no secrets, and no words of users."""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN: Final = "…"
_SCHEME: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?", re.IGNORECASE)
_PORTS: Final = re.compile(r"\?\w+=\d+(?:&\w+=\d+)*")
_QUOTING: Final = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, AssertionError)
"""Python's own errors whose messages quote the offending value, which may be a user's words."""
_OURS: Final = ("mnemolog.", "projections.", "streams.", "schemas.")


def masked(value: str) -> str:
    """Return an address without name, password and query, for logs and errors; a query of plain numbers stays.

    The part before the last `@` is removed even if the value is not a URL, because a password may contain any
    character. If that part could also be a query, everything but the scheme is removed.
    """
    match = _SCHEME.match(value)
    scheme = match[0] if match else ""
    rest = value.removeprefix(scheme)
    before, at, host = rest.rpartition("@")
    if at:
        return f"{scheme}{HIDDEN}" if set("?#") & set(before) else f"{scheme}{HIDDEN}@{masked(host)}"
    place = min((rest.index(mark) for mark in "?#" if mark in rest), default=len(rest))
    said = rest[place:]
    return scheme + rest[:place] + (said if not said or _PORTS.fullmatch(said) else said[0] + HIDDEN)


def describe(error: BaseException) -> str:
    """Return the type and the message of an error; only the type if the message may quote a value.

    The messages of our own classes are written for operators and quote nothing.
    """
    name = type(error).__name__
    message = "" if _quotes(error) else str(error)
    return f"{name}: {message}" if message else name


def trace(error: BaseException) -> str:
    """Return the tracebacks of an error and of its causes, as Python prints them, each error as `describe` shows it."""
    return "\n\nThen:\n\n".join(
        "Traceback (most recent call last):\n" + "".join(traceback.format_tb(one.__traceback__)) + describe(one)
        for one in reversed(list(_causes(error)))
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _quotes(error: BaseException) -> bool:
    return isinstance(error, _QUOTING) and not f"{type(error).__module__}.".startswith(_OURS)
