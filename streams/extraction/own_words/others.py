"""Others: what a sentence says of a relative, a friend or a pet, put into the first person, which the rows read.

"My mother lives in Basel and works as a nurse" is read as "I live in Basel and work as a nurse". Only what is said of
them straight out is: no clause that speaks of its speaker too, reports what they say, or asks, supposes or doubts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from projections.text.first_person import first_person
from projections.text.scripts import HAN
from schemas.vocabulary.facts import subject_of
from schemas.vocabulary.relations import CANONICAL, MANY, ONLY, SOME
from streams.extraction.own_words.antecedents import may_be, of_whom
from streams.extraction.own_words.cues import in_first_person
from streams.extraction.rules.cues import cues_beside
from streams.extraction.rules.rows import english, row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streams.extraction.protocol import Known
    from streams.extraction.rules.sentences import Sentence

_CUES: Final = cues_beside(__file__)
_BETWEEN: Final = re.compile(r"[,，;；]\s?|\s(?:and|but)\s")

NAME: Final = "name"
ATTRIBUTES: Final = {
    one: NAME if one == "user_name" else one
    for one in (
        *("user_name", "age", "birthday", "city", "occupation", "employer", "relationship_status", "language"),
        *("allergies", "likes", "dislikes", "skills", "personality_traits"),
    )
}
"""What of the keys of the user's profile is a key of anybody, by its name there."""


_WHICH: Final = "best|older|elder|younger|big|little|small|twin|eldest|oldest|youngest|ex"


def _words(*, in_chinese: bool) -> str:
    words = {*CANONICAL, *ONLY, *SOME, *MANY} - {*_WHICH.split("|")}
    chosen = (word for word in words if (HAN.match(word) is not None) == in_chinese)
    return "|".join(sorted(map(re.escape, chosen), key=len, reverse=True))


_ENGLISH: Final = re.compile(
    rf"(?:(?i:my|our) (?:(?:new|dear|lovely|poor) )?(?P<kin>(?i:(?:(?:{_WHICH})[ -])?(?:{_words(in_chinese=False)})))"
    r"(?: (?P<name>[A-Z][a-z]+))?|(?P<bare>Mum|Mom|Mummy|Mommy|Dad|Daddy|Grandma|Grandpa|Granny|Granddad))"
    r"(?P<is>'s)?(?= )"
)
_CHINESE: Final = re.compile(
    rf"(?:我们?|咱们?|俺)家?的?(?P<kin>{_words(in_chinese=True)})"
    r"(?P<name>[小阿老](?!名)[一-鿿]|[赵钱孙李周吴郑王冯陈蒋沈韩杨朱秦许何吕张孔曹严华魏陶姜谢潘马方袁唐薛史][一-鿿]{1,2}?|)"
    r"(?=叫|名字|现在|目前|今年|最近|去年|[上下]个?月|[上下]周|明年|刚|已经|也|都|还|就|一直|从小|特别|非常|很|最|是|在|住|搬|对|喜欢"
    r"|讨厌|爱|不|会|做|当|有|\d|[一二三四五六七八九十]+岁|退休|离婚|结婚|单身|性格|跳槽|入职|转行|定居)"
)
_ANYBODY: Final = re.compile(
    rf"\b(?i:my|our) (?i:[\w-]+ )?(?i:{_words(in_chinese=False)})\b|\b(?:Mu|Mo|Da|Gran)[a-z]{{1,6}}\b"
    rf"|[我咱俺]们?家?的?(?:{_words(in_chinese=True)})"
)


@dataclass(frozen=True, slots=True)
class Other:
    """Somebody of whom a sentence speaks."""

    about: str
    """As it is kept: `mother`, `brother Dev`, `Lena`, 妈妈."""
    words: str
    """As the sentence says it: `My mum`."""


def other_of(text: str) -> Other | None:
    """Return the one of whom a sentence speaks from its beginning; None where that may be another one."""
    found = _subject(text, {})
    return found[0] if found and len(of_whom(text)) <= 1 else None


def speaks_of_anybody(text: str) -> bool:
    """Return whether a text has words for somebody whom the user knows."""
    return _ANYBODY.search(text) is not None


def of_relation(about: str) -> tuple[str, str]:
    """Return whom something is about and, of one of some, the name: `brother` and `Dev`, 弟弟 and 李强."""
    if HAN.match(about):
        kin = next((word for word in sorted(SOME, key=len, reverse=True) if about.startswith(word)), "")
        return (kin, about[len(kin) :]) if kin else (about, "")
    kin, _, name = about.rpartition(" ")
    return (kin, name) if kin.rpartition(" ")[2] in SOME and name[:1].isupper() else (about, "")


def is_one_of_some(about: str) -> bool:
    """Return whether somebody has a relation to the user of which there may be several."""
    return of_relation(about)[0].rpartition(" ")[2] in SOME


def without_names(abouts: Sequence[str], known: Iterable[Known]) -> list[str | None]:
    """Return whom proposals are about, without a name where one of a relation is known; None where one of several is.

    The first of a relation that was told of is kept without a name: another one is whose name is another.
    """
    names: dict[str, set[str]] = {}
    first: dict[str, set[str]] = {}
    for about, text in (*((about, "") for about in abouts), *((one.about, one.text) for one in known if one.about)):
        kin, name = of_relation(about or "")
        if name or not text:
            names.setdefault(kin, set()).update({name} - {""})
        elif (told := other_of(text)) and (of_it := of_relation(told.about))[0] == subject_of(kin) and of_it[1]:
            first[kin] = {of_it[1]}
            names.setdefault(kin, set()).add(of_it[1])
    found: list[str | None] = []
    for kin, name in map(of_relation, abouts):
        is_one = len(names[kin]) <= 1 or {name} == first.get(kin)
        found.append(kin if is_one else (f"{kin}{name}" if HAN.match(kin) else f"{kin} {name}") if name else None)
    return found


def told_of_others(
    sentence: Sentence, carried: Other | None, named: dict[str, Other]
) -> Iterator[tuple[Other, Sentence]]:
    """Yield of whom a sentence speaks, each with what it says of them in the first person.

    `carried` is of whom "she" is said, `named` are those whom the turn has named, by their names.
    """
    language = row.CHINESE if sentence.language == "zh" else row.ENGLISH
    parts = (
        [part for said in sentence.clauses for part in language.cues["join"].split(said) if part]
        if language.is_chinese
        else english.parts_of(sentence)
    )
    told: list[tuple[Other, list[str]]] = []
    whom = None
    for part in parts[: -1 if sentence.asks else None]:
        text = language.cues["filler"].sub("", part)
        if _CUES["said"].search(text) or any(blocker.pattern.search(text) for blocker in language.blockers):
            break
        found = _subject(text, named)
        if found is None and (who := whom or (carried if part is parts[0] else None)):
            found = _gone_on(text, who) or (_without_subject(text, who) if whom else None)
        if found is not None and found[0] == whom:
            told[-1][1].append(found[1])
        elif found is not None:
            told.append((found[0], [found[1]]))
            named.setdefault(of_relation(found[0].about)[1] or found[0].about, found[0])
        whom = found and found[0]
    for one, said in told if not sentence.quotes else ():
        yield one, replace(sentence, clauses=tuple(said), asks=False, after=())


def of_value(said: str, value: str, among: Sequence[str], whom: Other) -> str:
    """Return the words of a sentence that give one value of those of its key, behind whom they are said of."""
    places = [said.find(one) for one in among]
    if min(places) < 0:
        return said
    said = said[: min(places)] + value + said[max(at + len(one) for at, one in zip(places, among, strict=True)) :]
    part = next(part for part in _BETWEEN.split(said) if value in part)
    found, is_chinese = _CUES["goes_on"].match(part), HAN.search(said) is not None
    if whom.words in part or not (found or is_chinese or _CUES["starts"].match(part)):
        return part if whom.words in part else said
    if found and not found["her"]:
        return f"{whom.words}{part[found.end('han' if found['han'] else 'who') :]}"
    return f"{whom.words}{'' if is_chinese else ' '}{part}"


def _subject(text: str, named: Mapping[str, Other]) -> tuple[Other, str] | None:
    """Return of whom a clause speaks that names them, and the clause in the first person."""
    found = (_CHINESE if HAN.search(text) else _ENGLISH).match(text)
    name = text.partition(" ")[0]
    rest = text[found.end() :] if found else text[len(name) :]
    if in_first_person(rest):
        return None
    if found is None:
        return (named[name], _as_mine(rest)) if name in named else None
    about = _about(found["kin"] or found["bare"].lower(), found["name"] or "")
    whom = about and Other(about, found.group().removesuffix("'s"))
    if not whom or HAN.search(text):
        return (whom, f"我{rest}") if whom else None
    if not found["is"]:
        return whom, _as_mine(rest)
    return (whom, f"my{rest}") if rest.startswith(" name is ") else _being(whom, rest)


def _about(kin: str, name: str) -> str | None:
    """Return how somebody is kept; None where it is not known which of many is meant."""
    about = subject_of(kin) or kin
    if about in ONLY or about.startswith("best "):
        return about
    if about.rpartition(" ")[2] in MANY:
        return name or None
    return (f"{about}{name}" if HAN.match(about) else f"{about} {name}") if name else about


def _being(whom: Other, rest: str) -> tuple[Other, str] | None:
    """Return what stands behind a short "is" in the first person."""
    return (whom, f"I am{rest}") if _CUES["is"].match(rest) else None


def _as_mine(rest: str) -> str:
    """Return the English words behind a subject in the first person: ` lives in Rome` is `I live in Rome`."""
    return _CUES["also_does"].sub(
        lambda also: f"{also['and']}{first_person('User ' + also['does']).removeprefix('I ')}",
        first_person(f"User{rest}"),
    )


def _gone_on(text: str, whom: Other) -> tuple[Other, str] | None:
    """Return a clause that begins with a pronoun for somebody in the first person."""
    found = _CUES["goes_on"].match(text)
    if found is None or in_first_person(text) or not may_be(found["who"] or found["her"] or found["han"], whom.about):
        return None
    rest = text[found.end() :]
    if not found["who"]:
        return whom, f"我{rest}" if found["han"] else f"my{rest}"
    return _being(whom, rest) if found["is"] else (whom, _as_mine(rest))


def _without_subject(text: str, whom: Other) -> tuple[Other, str] | None:
    """Return a clause that goes on from one about somebody without a subject."""
    if in_first_person(text) or of_whom(text) or not (HAN.search(text) or _CUES["starts"].match(text)):
        return None
    return whom, text if HAN.search(text) else _as_mine(f" {text}")
