"""Clauses: whom each speaks of, and what stands beside it. The rows read them one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streams.extraction.rules.rows.row import Language

Subject: TypeAlias = Literal["me", "we", "none", "other"]
MOST_BESIDE: Final = 6
"""Clauses beside one that its rows may look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause that claims something. `core` is what follows subject and adverbs."""

    text: str
    core: str
    subject: Subject
    """`none`: no subject, here or before. Chinese drops `I` more often than any other."""
    is_past: bool
    before: tuple[str, ...] = ()
    """The clauses before it, of the sentence and of the one before."""
    rest: tuple[str, ...] = ()
    """The clauses that follow in the sentence."""
    greets: bool = False
    """The sentence greets or introduces."""
    has_own_subject: bool = True
    """It names its subject itself."""


def is_blocked(language: Language, scope: str, text: str) -> bool:
    """Return whether a cue of a scope stands in a text: with it, it claims nothing."""
    return any(blocker.pattern.search(text) for blocker in language.blockers if blocker.scope == scope)


def said_whole(language: Language, text: str) -> str:
    """Return a clause that leaves out its subject or verb with them, where a row knows how."""
    for whole in language.whole:
        if found := whole.pattern.match(text):
            return found.expand(whole.to) + text[found.end() :]
    return text


def names_another(language: Language, texts: Iterable[str]) -> bool:
    """Return whether texts name another being: what comes next without a subject may be said of that one."""
    return any(map(language.cues["being"].search, texts))
