"""Answers: what somebody says to a question just before it, and the key that question and answer fill together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.dates.yearly import birth_date
from projections.profile.slot_question import slot_asked
from projections.text.scripts import HAN
from streams.extraction.evidence.judgement import confirms, denies
from streams.extraction.own_words.antecedents import of_whom
from streams.extraction.own_words.cues import in_first_person, is_question, says_nothing
from streams.extraction.own_words.splitting import beside, clauses, sentences
from streams.extraction.rules.cues import cues_beside
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from streams.extraction.protocol import Window

_CUES: Final = cues_beside(__file__)

MOST_WORDS: Final = 8
MOST_HAN: Final = 16
LONGEST_QUESTION: Final = 200
_ASKED_FOR: Final = frozenset(
    {"user_name", "age", "city", "occupation", "employer", "birthday", "allergies", "relationship_status"}
)
"""The keys that one question asks for."""
_TAILS: Final = (
    ", right",
    ", correct",
    ", yes",
    ", no",
    ", aren't you",
    ", don't you",
    "对吧",
    "是吧",
    "对吗",
    "是吗",
    "吗",
    "吧",
    "，",
)
FEW: Final = 3
LONGEST_THING: Final = 30
LONGEST_HAN: Final = 10
MOST_VALUE_WORDS: Final = 4
_FIELDS: Final = {
    **dict.fromkeys(("name", "姓名", "名字"), "user_name"),
    **dict.fromkeys(("city", "城市", "所在地"), "city"),
    **dict.fromkeys(("age", "年龄"), "age"),
    **dict.fromkeys(("job", "work", "occupation", "profession", "职业", "工作"), "occupation"),
    **dict.fromkeys(("allergy", "allergies", "过敏"), "allergies"),
    **dict.fromkeys(("employer", "company", "公司"), "employer"),
}
_LONGEST_VALUE: Final = 40


_AS_STATEMENTS: Final = (
    (re.compile(r"^(?:so,? |and |oh,? )?you(?P<rest>(?:'re| are|'ve| have|'d)?\b.*)$", re.IGNORECASE), "I{}"),
    (re.compile(r"^(?:so,? |and |oh,? )?are you (?P<rest>.*)$", re.IGNORECASE), "I am {}"),
    (re.compile(r"^(?:so,? |and |oh,? )?have you (?P<rest>.*)$", re.IGNORECASE), "I have {}"),
    (re.compile(r"^(?:so,? |and |oh,? )?do you (?P<rest>.*)$", re.IGNORECASE), "I {}"),
    (re.compile(r"^(?:那么?)?(?P<rest>[^你]*你.*)$"), "{}"),
)
"""Yes-or-no questions to the user, as what a yes states."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to a question."""

    keys: tuple[Finding, ...]
    stands_alone: bool
    agrees_to: str | None = None
    """What the question asked, as the user would state it, where this is a yes."""
    denies: str | None = None
    """The same, where this is a no."""


def question_before(window: Window, index: int) -> tuple[int | None, str | None]:
    """Return the index of the piece just before a piece, and the question of another one with which it ends."""
    pieces = window.pieces
    piece, place = pieces[index], index - 1
    if place < 0:
        return None, None
    if pieces[place].speaker == piece.speaker and pieces[place].name == piece.name:
        return None, None
    if pieces[place].speaker not in ("assistant", "user"):
        return None, None
    asked = _question(pieces[place].text)
    return (place, asked) if asked else (None, None)


def _question(text: str) -> str | None:
    """Return the question with which a text ends, or that its last sentence follows."""
    said = sentences(text)[-3:]
    place = next((n for n in range(len(said) - 1, max(-1, len(said) - 3), -1) if is_question(said[n])), None)
    asked = None if place is None else said[place]
    if asked and place and is_question(said[place - 1]) and not _CUES["of_you"].search(asked):
        asked = beside(said[place - 1], asked)  # "Any pets? What are they called?"
    return asked if asked is not None and len(asked) <= LONGEST_QUESTION else None


def asks_in(question: str) -> list[str]:
    """Return what a question asks, one thing after the other: "What's your name, and where are you from?" asks two."""
    return [part for part in _CUES["and_asks"].split(question) if part.strip()]


def answered(asked: str, said: str) -> Answer | None:
    """Return what a sentence says to a question; None where it asks something itself, or is long enough."""
    if is_question(said):
        return None
    whole, said = said, clauses(said)[0].rstrip("，,；; ")
    han = len(HAN.findall(said))
    is_short = han <= MOST_HAN if han else len(said.split()) <= MOST_WORDS
    if not is_short or (in_first_person(said) and said != whole):
        return None
    says_no, says_yes = _CUES["no"].match(said) is not None, _CUES["yes"].fullmatch(said) is not None
    keys = () if says_no or (denies(said) and not _CUES["says_what"].search(said)) else _keys(asked, said, whole)
    is_own = in_first_person(whole if says_no or says_yes else said)
    is_long = len(HAN.findall(whole)) > FEW or len(whole.split()) > FEW
    stands_alone = is_own and is_long and not confirms(whole)
    agrees, asks = says_yes and not _CUES["choice"].search(asked), _as_statement(asked)
    denied = asks if not agrees and says_no else None
    return Answer(keys, stands_alone, asks if agrees else None, denied)


def _as_statement(asked: str) -> str | None:
    """Return a yes-or-no question to the user as the user's statement."""
    asked = asked.rstrip("?？ ")
    for tail in _TAILS:
        asked = asked.removesuffix(tail)
    for pattern, words in _AS_STATEMENTS:
        if (found := pattern.match(asked)) and not _CUES["asks_which"].search(asked):
            rest = found["rest"].replace("'re", " am").replace(" are", " am", 1)
            rest = re.sub(r"\byour\b", "my", rest).replace("你", "我")
            return words.format(rest).strip()
    return None


def _allergies(said: str) -> tuple[Finding, ...]:
    """Return each thing that an answer to a question about allergies names."""
    is_chinese = HAN.search(said) is not None
    things = re.split(r",|、|，|。|\band\b|\bor\b|[和跟]", _CUES["leads"].sub("", said).strip(" .。!！～~"))
    named = [one for one in map(str.strip, things) if one and len(one) <= LONGEST_THING and _is_value("allergies", one)]
    return tuple(profile("allergies", thing, is_chinese=is_chinese) for thing in named)


def _keys(asked: str, said: str, whole: str) -> tuple[Finding, ...]:
    """Return what the first clause of an answer fills that the question asks for of the user; allergies may be many."""
    if _CUES["of_third"].search(asked) or _CUES["choice"].search(asked):
        return ()
    if _CUES["allergies"].search(asked):
        is_of_another = of_whom(asked) or _CUES["of_another"].search(whole)
        return _allergies(whole) if _CUES["of_user"].search(asked) and not (confirms(said) or is_of_another) else ()
    slot = slot_asked(asked.replace("your", "my").replace("you", "I").replace("你", "我"))
    if slot is None or slot.whose or len(slot.attributes) != 1 or slot.past:
        return ()
    [attribute] = slot.attributes
    value = _CUES["after"].sub("", _CUES["leads"].sub("", said)).strip(" .。!！～~,，啊呀哈")
    if attribute not in _ASKED_FOR or _CUES["surname"].match(value):
        return ()
    if attribute == "age":
        number = _CUES["age"].fullmatch(value)
        value = number["age"] if number else ""
    elif attribute == "birthday":
        value = birth_date(value) or ""
    elif not _is_value(attribute, value):
        value = ""
    return (_filled(attribute, value, asked + value),) if value else ()


def _filled(attribute: str, value: str, said: str) -> Finding:
    """Return a key with its sentence in the language of what was said; a trade is what somebody works as."""
    is_chinese = HAN.search(said) is not None
    content = f"User works as {value}" if attribute == "occupation" and not is_chinese else ""
    return profile(attribute, value, content, is_chinese=is_chinese)


def _is_value(attribute: str, value: str) -> bool:
    """Return whether words can be the value of a key: few, and a name where it must be one."""
    if (
        not any(map(str.isalpha, value))
        or len(value) > _LONGEST_VALUE
        or _CUES["no_value"].search(value)
        or _CUES["clause"].match(value)
        or says_nothing(value)
    ):
        return False
    if HAN.search(value):
        return len(value) <= LONGEST_HAN
    words = value.split()
    is_name = attribute in ("user_name", "city", "employer")
    return len(words) <= MOST_VALUE_WORDS and (not is_name or value[:1].isupper() or len(words) <= 2)  # noqa: PLR2004


def field_of(said: str) -> list[Finding]:
    """Return the key of a line that names it: `City: Berlin`, 姓名：王小雨."""
    named = _CUES["field"].match(said)
    attribute = _FIELDS.get(named["name"].casefold()) if named else None
    if named is None or attribute is None:
        return []
    is_good = _CUES["age"].fullmatch(named["value"]) if attribute == "age" else _is_value(attribute, named["value"])
    if not is_good:
        return []
    return [_filled(attribute, named["value"], said)]
