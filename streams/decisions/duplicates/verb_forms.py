"""Verb forms with the same meaning: after a verb of liking or beginning, "to drink" means "drinking"."""

from __future__ import annotations

import re
from typing import Final

from streams.decisions.duplicates.english import words

_FOLLOWED_EITHER_WAY: Final = words(
    "like likes liked love loves loved hate hates hated dislike dislikes disliked prefer prefers preferred"
    " enjoy enjoys enjoyed start starts started begin begins began begun continue continues continued"
)
"""The verbs exclude stop, remember, forget, try and regret, after which the two forms have different meanings."""

_WISHES: Final = frozenset({"would", "d", "should", "could", "ll", "will", "might", "may"})
"""Words that turn such a verb into a wish: "would like to swim" is not "likes swimming"."""

_VOWELS: Final = frozenset("aeiou")
_DOUBLED_ALTHOUGH_LONGER: Final = frozenset({"begin", "forget", "admit", "commit", "prefer", "refer", "control"})
_VOWEL = re.compile(r"[aeiouy]")
_WORD = re.compile(r"[a-z]{2,}")


def with_gerunds(words: list[str]) -> list[str]:
    """Return words in lower case, with each "to" and verb after a verb of liking or beginning as one gerund.

    A second verb joined by "and" or "or" is included: "to swim and dance" becomes "swimming and dancing".
    """
    if "to" not in words:
        return words
    changed: list[str] = []
    at = 0
    while at < len(words):
        if _is_joint(words, at):
            changed.append(gerund(words[at + 1]))
            at += 2
            if at + 1 < len(words) and words[at] in {"and", "or"}:
                second = at + 2 if words[at + 1] == "to" else at + 1
                if second < len(words) and _WORD.fullmatch(words[second]):
                    changed += [words[at], gerund(words[second])]
                    at = second + 1
        else:
            changed.append(words[at])
            at += 1
    return changed


def gerund(verb: str) -> str:
    """Return the -ing form of a verb: drinking, baking, running, lying. A form in -ing is returned unchanged."""
    if verb.endswith("ing") and _VOWEL.search(verb.removesuffix("ing")):
        return verb
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return f"{verb[:-1]}ing"
    if _ends_with_one_vowel(verb) or verb in _DOUBLED_ALTHOUGH_LONGER:
        return f"{verb}{verb[-1]}ing"
    return f"{verb}ing"


def _ends_with_one_vowel(verb: str) -> bool:
    """Return whether a verb of one syllable ends in a vowel and a consonant to be doubled, as run and swim do."""
    vowels = [letter in _VOWELS for letter in verb]
    return sum(vowels) == 1 and vowels[-2:] == [True, False] and verb[-1] not in "wxy"


def _is_joint(words: list[str], at: int) -> bool:
    return (
        words[at] == "to"
        and at > 0
        and words[at - 1] in _FOLLOWED_EITHER_WAY
        and at + 1 < len(words)
        and _WORD.fullmatch(words[at + 1]) is not None
        and _WISHES.isdisjoint(words[max(0, at - 4) : at - 1])
    )
