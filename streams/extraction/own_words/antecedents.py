"""Antecedents: of whom or of what a sentence speaks that does not say it itself, and how it reads with a stand-in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN
from streams.extraction.own_words.cues import in_first_person
from streams.extraction.own_words.splitting import clauses

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BACK: Final = 8
"""Pieces before a sentence among which it is looked for whom it speaks of."""
_SHE: Final = (
    (
        r"(?:great-?)?(?:grand)?mothers?|mom|mum|mama|wife|girlfriend|gf|fianc[eé]e|sisters?|sis|daughters?|aunt\w*|nieces?"
        r"|grandma|gran(?:ny)?|nan"
    ),
    r"妈|母亲|老婆|妻子|太太|媳妇|女朋友|女友|闺女|[姐妹]|女儿|奶奶|外婆|姥姥|[姑姨婶婆]|闺蜜",
)
_HE: Final = (
    (
        r"(?:grand)?fathers?|dad|daddy|husband|boyfriend|bf|fianc[eé]|brothers?|bro|(?:grand)?sons?|uncles?|nephews?"
        r"|grandpa|granddad"
    ),
    r"爸|父亲|老公|丈夫|男朋友|男友|[哥弟]|儿子|[叔舅伯]|爷爷|外公|姥爷|公公|岳父|孙子",
)
_NEAR: Final = (
    (
        r"friends?|boss|manager|colleagues?|co-?workers?|roommates?|flatmates?|neighbou?rs?|cousins?|partner|parents"
        r"|grandparents|in-laws|kids?|child(?:ren)?"
    ),
    r"朋友|同事|同学|老板|领导|经理|室友|邻居|孩子|宝宝|对象|老伴|亲戚|爸妈|父母",
)
_OTHERS: Final = (
    (
        r"doctor|dentist|teacher|tutor|coach|landlord|landlady|baby|toddler|twins|(?:an?|the|this|that|some)"
        r" (?:girl|guy|man|woman|lady)|students?|dog|cat|puppy|kitten|pet|horse|parrot|rabbit|hamster"
    ),
    r"同桌|老师|师傅|医生|大夫|教练|房东|狗|猫|兔|宠物|客户|搭档|那个?人",
)
_NAMED: Final = r"(?<=\w[ ,])(?!I\b|I'|O[Kk]\b|AM\b|PM\b)[A-Z][a-z]+\b|(?<=[叫名])[一-鿿]{2,3}"


def _row(english: str, chinese: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)


_KIN: Final = _row("|".join((_SHE[0], _HE[0], _NEAR[0])), "|".join((_SHE[1], _HE[1], _NEAR[1])))
_PEOPLE: Final = {
    "she": _row(*_SHE),
    "he": _row(*_HE),
    "they": _row("|".join((_NEAR[0], _OTHERS[0])), "|".join((_NEAR[1], _OTHERS[1]))),
}
_NAME: Final = re.compile(_NAMED)
_PRONOUNS: Final = (
    ("she", re.compile(r"\b(?:she(?:'?s|'d|'ll)?|hers?|herself)\b|她", re.IGNORECASE)),
    ("he", re.compile(r"\b(?:he(?:'?s|'d)?|him(?:self)?|his)\b|(?<![其吉])他(?![人们国妈])", re.IGNORECASE)),
    ("they", re.compile(r"\b(?:they(?:'?re|'ve|'d|'ll)?(?! say\b)|them|their)\b|他们|她们|它", re.IGNORECASE)),
)
_SUBJECT_PRONOUN: Final = re.compile(
    r"\W{0,3}(?:[a-z']{1,9},? ){0,2}(?:she|he|they|her|his|their)(?:'s|'re|'ve|'d|'ll)?\b|.{0,4}(?:他们|她们|[他她它])",
    re.IGNORECASE,
)
_OF_SOMEBODY: Final = re.compile(
    rf"(?:对了|其实|还有)?[，, ]?(?:[我俺咱]们?家?的?)?[^和跟与]{{0,3}}?"
    rf"(?:{_SHE[1]}|{_HE[1]}|{_NEAR[1]}|{_OTHERS[1]}|[他她])"
)
"""How a Chinese sentence begins whose subject is a relative, a friend or a pet."""
_SUBJECT: Final = re.compile(r"[我咱俺你您他她它]|^(?:这|那|今天|明天|昨天)")
_FIRST: Final = re.compile(
    r"\b(?P<who>she|he|they|her|his|their)(?P<short>'?s|'?re|'ve|'d|'ll)?\b|(?P<han>他们|她们|[他她])", re.IGNORECASE
)


def of_whom(text: str) -> set[str]:
    """Return the words for relatives and friends in a sentence, case folded, in the singular."""
    return {word.casefold().rstrip("s") for word in _KIN.findall(text)}


def may_be(pronoun: str, person: str) -> bool:
    """Return whether she or he can be somebody that words name."""
    is_woman = pronoun.casefold() in ("she", "her", "她")
    return _PEOPLE["he" if is_woman else "she"].search(person) is None


def unnamed(sentence: str) -> str | None:
    """Return the pronoun (`she`, `he` or `they`) of whom a sentence speaks without having named anybody before it.

    Only its first clause counts: behind a clause of one's own "they say" is anybody.
    """
    lead = clauses(sentence)[0] if in_first_person(sentence) else sentence
    found = [(match.start(), who) for who, row in _PRONOUNS if (match := row.search(lead))]
    if not found:
        return None
    place, who = min(found)
    before = sentence[:place]
    named = _NAME.search(before) or any(row.search(before) for row in _PEOPLE.values())
    return None if named else who


def begins_with_whom(sentence: str) -> bool:
    """Return whether a sentence begins with a pronoun for somebody, but for words that only connect: "And she left"."""
    return _SUBJECT_PRONOUN.match(sentence) is not None


def antecedent(who: str, sentences: Iterable[str]) -> str | None:
    """Return the first of some sentences that names somebody whom a pronoun can mean; None where none does."""
    others = [row for gender, row in _PEOPLE.items() if gender not in (who, "they")]
    for sentence in sentences:
        if unnamed(sentence) is not None:  # it speaks of somebody named before it
            continue
        if _PEOPLE[who].search(sentence) or _PEOPLE["they"].search(sentence):
            return sentence
        if _NAME.search(sentence) and not (who != "they" and any(row.search(sentence) for row in others)):
            return sentence
    return None


def leaves_out_whom(sentence: str, before: str) -> bool:
    """Return whether a Chinese sentence goes on, without a subject, from one about somebody else."""
    is_open = HAN.match(sentence) is not None and _SUBJECT.search(sentence) is None
    return is_open and begins_with_another(before)


def begins_with_another(sentence: str) -> bool:
    """Return whether the subject of a Chinese sentence is a relative, a friend or a pet."""
    return _OF_SOMEBODY.match(sentence) is not None


def with_stand_in(sentence: str) -> str:
    """Return a sentence with its first pronoun as a friend: what the heads read of "she likes to dance"."""
    found = _FIRST.search(sentence)
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
