"""Equivalence: whether two texts differ only in harmless words, marks and spelling.

No fixed cosine separates "likes" from "does not like", and no list of antonyms is complete. The check therefore works
the other way round: a text is reduced to its *skeleton*, the sequence of its words (in Chinese its characters, without
a segmenter) except for the few that never change the meaning. Texts are equivalent only if their skeletons are equal.
The skeleton retains numbers, negations, names, opposites, question marks and the order of roles, and every word that
this file does not know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.text import nfkc
from streams.decisions.duplicates.chinese import without_harmless_chinese
from streams.decisions.duplicates.english import (
    ARTICLES,
    CLOSINGS,
    HARMLESS,
    NEGATIONS,
    SPELLINGS,
    THAT_FOLLOWS,
    expanded,
)
from streams.decisions.duplicates.time_phrase import with_phrase_behind_subject, with_phrase_last
from streams.decisions.duplicates.verb_forms import with_gerunds
from streams.decisions.duplicates.word_cache import WordCache

if TYPE_CHECKING:
    from collections.abc import Iterator

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_CLAUSE_MARKS = ",;:!。、"
_QUIET_MARKS = r"()\[\]{}'\"‘’“”「」『』《》〈〉【】…·•‧~\-‐‑–—"
_UNITS = re.compile(
    # a minus sign, but not a hyphen or a range
    r"(?P<minus>(?<![^\s(\[])-(?=\d))"
    # `1,000`, `10:30`, `2023-05-07`, `3.5`, `.5`, `5-10` are one number each
    r"|(?P<number>(?:(?<![\w.])\.)?\d+(?:[.,:/~\-–—]\d+)*)"
    rf"|(?P<han>[{_HAN}])"
    rf"|(?P<clause>[{_CLAUSE_MARKS}]|\.(?=\s|$))"
    # everything else: words of any script, currency signs, `C++`, emoji; a question mark is a unit of its own
    rf"|(?P<word>[^\s\d{_HAN}{_CLAUSE_MARKS}{_QUIET_MARKS}?.]+|\?)"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc\u00b4`", "'''''")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The content words of a text in order, and the indexes at which clauses begin."""

    words: tuple[str, ...]
    clauses: frozenset[int]


def same_statement(a: str, b: str) -> bool:
    """Return whether both texts make the same statement: equal, non-empty skeletons with compatible clauses.

    One text may lack marks of the other ("Yesterday I ran" / "Yesterday, I ran"), but the same Chinese characters
    divided into clauses in two ways are two statements. The relation is symmetric.
    """
    one, other = skeleton(a), skeleton(b)
    if not one.words or one.words != other.words:
        return False
    return one.clauses <= other.clauses or other.clauses <= one.clauses


def skeleton(text: str) -> Skeleton:
    """Return the skeleton of a text, in linear time."""
    composed = nfkc(text.translate(_APOSTROPHES)).translate(_APOSTROPHES)
    composed = " ".join(composed.split())
    words: list[str] = []
    clauses: set[int] = set()
    plain = with_phrase_behind_subject(without_harmless_chinese(expanded(composed)))
    for clause in with_phrase_last(_clauses(plain)):
        content = with_gerunds(list(_content(clause)))
        if content and _ends_with_negation(words):  # "不，喜欢" is not "不喜欢", "No, cats" is not "no cats"
            words.append(",")
        clauses.add(len(words))
        words.extend(content)
    return Skeleton(tuple(words), frozenset(clauses - {0, len(words)}))


content_words: Final = WordCache(lambda text: skeleton(text).words)
"""A cached function that returns the content words of a text, in order; near duplicates have the same."""


def _clauses(text: str) -> list[list[str]]:
    """Return words, numbers and single Chinese characters in order, divided into clauses at the marks."""
    clauses: list[list[str]] = [[]]
    for match in _UNITS.finditer(text):
        kind, unit = match.lastgroup, match[0]
        if kind == "clause":
            clauses.append([])
        elif kind == "number" and _THOUSANDS.fullmatch(unit):
            clauses[-1].append(unit.replace(",", ""))
        else:
            clauses[-1].append(unit)
    return clauses


def _content(clause: list[str]) -> Iterator[str]:
    """Yield the words of a clause that are not harmless, each in its common spelling.

    After a negation, an intensity word is content: "not really sure" is not "not sure".
    """
    folded = [unit.casefold() for unit in clause]
    if NEGATIONS.isdisjoint(folded):
        for closing in CLOSINGS:
            if tuple(folded[-len(closing) :]) == closing:
                del folded[-len(closing) :]
    is_negated = False
    for at, (unit, word) in enumerate(zip(clause, folded, strict=False)):
        follower = folded[at + 1] if at + 1 < len(folded) else ""
        is_name = at > 0 and unit[0].isupper()
        if word == "the":
            continue
        if word in ARTICLES:
            # "a few" is not "few"; "blood type A", "plan A" and "grade a" contain no article
            is_harmless = follower[:1].isalpha() and not is_name and follower not in {"few", "little"}
        elif word == "that":
            is_harmless = at > 0 and folded[at - 1] in THAT_FOLLOWS and follower != ""
        else:
            is_harmless = word in HARMLESS and not is_negated and not is_name
        if not is_harmless:
            yield SPELLINGS.get(word, word)
        is_negated = is_negated or word in NEGATIONS


def _ends_with_negation(words: list[str]) -> bool:
    return bool(words) and (words[-1] in NEGATIONS or words[-2:] == ["没", "有"])
