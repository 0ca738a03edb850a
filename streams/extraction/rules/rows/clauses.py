"""Clauses: whom each speaks of, and which others are around it. The rows read them one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streams.extraction.rules.rows.row import Language

Subject: TypeAlias = Literal["me", "we", "none", "other"]
MOST_BESIDE: Final = 6
"""The most clauses after a clause that its rows may look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause that claims something. `core` is the part after subject and adverbs."""

    text: str
    core: str
    subject: Subject
    """`none`: neither it nor a clause before it has a subject. Chinese drops `I` more often than any other subject."""
    is_past: bool
    before: tuple[str, ...] = ()
    """The clauses before it, in its sentence and before that."""
    rest: tuple[str, ...] = ()
    """The clauses that follow in the sentence."""
    greets: bool = False
    """Whether the sentence greets, or introduces somebody."""
    has_own_subject: bool = True
    """Whether it names its subject itself."""


def is_blocked(language: Language, scope: str, text: str) -> bool:
    """Return whether a text has a blocker of a scope, and therefore claims nothing."""
    return any(blocker.pattern.search(text) for blocker in language.blockers if blocker.scope == scope)


def said_whole(language: Language, text: str) -> str:
    """Return a clause with the subject or verb that it leaves out, if a row knows how to add it."""
    for whole in language.whole:
        if found := whole.pattern.match(text):
            return found.expand(whole.to) + text[found.end() :]
    return text


def names_another(language: Language, texts: Iterable[str]) -> bool:
    """Return whether texts name another being, whom the next clause without a subject may be about."""
    return any(map(language.cues["being"].search, texts))
