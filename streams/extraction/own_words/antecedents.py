"""Antecedents: of whom or of what a sentence speaks that does not say it itself, and how it reads with a stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN
from streams.extraction.own_words.cues import in_first_person
from streams.extraction.own_words.splitting import clauses
from streams.extraction.rules.cues import cues_beside

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BACK: Final = 8
"""Pieces before a sentence among which it is looked for whom it speaks of."""
_CUES: Final = cues_beside(__file__)
_WHO: Final = ("she", "he", "they")


def of_whom(text: str) -> set[str]:
    """Return the words for relatives and friends in a sentence, case folded, in the singular."""
    return {word.casefold().rstrip("s") for word in _CUES["kin"].findall(text)}


def may_be(pronoun: str, person: str) -> bool:
    """Return whether she or he can be somebody that words name."""
    is_woman = pronoun.casefold() in ("she", "her", "她")
    return _CUES["he" if is_woman else "she"].search(person) is None


def unnamed(sentence: str) -> str | None:
    """Return the pronoun (`she`, `he` or `they`) of whom a sentence speaks without having named anybody before it.

    Only its first clause counts: behind a clause of one's own "they say" is anybody.
    """
    lead = clauses(sentence)[0] if in_first_person(sentence) else sentence
    found = [(match.start(), who) for who in _WHO if (match := _CUES[f"says_{who}"].search(lead))]
    if not found:
        return None
    place, who = min(found)
    before = sentence[:place]
    return None if any(_CUES[one].search(before) for one in ("name", *_WHO)) else who


def begins_with_whom(sentence: str) -> bool:
    """Return whether a sentence begins with a pronoun for somebody, but for words that only connect: "And she left"."""
    return _CUES["begins"].match(sentence) is not None


def antecedent(who: str, sentences: Iterable[str]) -> str | None:
    """Return the first of some sentences that names somebody whom a pronoun can mean; None where none does."""
    others = [_CUES[one] for one in _WHO if one not in (who, "they")]
    for sentence in sentences:
        if unnamed(sentence) is not None:  # it speaks of somebody named before it
            continue
        if _CUES[who].search(sentence) or _CUES["they"].search(sentence):
            return sentence
        if _CUES["name"].search(sentence) and not (who != "they" and any(row.search(sentence) for row in others)):
            return sentence
    return None


def leaves_out_whom(sentence: str, before: str) -> bool:
    """Return whether a Chinese sentence goes on, without a subject, from one about somebody else."""
    is_open = HAN.match(sentence) is not None and _CUES["subject"].search(sentence) is None
    return is_open and begins_with_another(before)


def begins_with_another(sentence: str) -> bool:
    """Return whether the subject of a Chinese sentence is a relative, a friend or a pet."""
    return _CUES["of_somebody"].match(sentence) is not None


def with_stand_in(sentence: str) -> str:
    """Return a sentence with its first pronoun as a friend: what the heads read of "she likes to dance"."""
    found = _CUES["first"].search(sentence)
    if found is None:
        return f"我朋友{sentence}"
    if found["han"]:
        return f"{sentence[: found.start()]}我朋友{sentence[found.end() :]}"
    who = found["who"].casefold()
    friend = "my friends" if who in ("they", "their") else "my friend"
    if who in ("her", "his", "their"):
        friend += "'s" if friend == "my friend" else "'"
    short = {"s": "'s", "re": " are"}.get((found["short"] or "").casefold().lstrip("'"), found["short"] or "")
    return f"{sentence[: found.start()]}{friend}{short}{sentence[found.end() :]}"
