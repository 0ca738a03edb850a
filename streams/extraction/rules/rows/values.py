"""Values: the words of a row are cut and checked to be values of a key; words that cannot be its value give none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.dates.numerals import number
from projections.dates.yearly import birth_date
from streams.extraction.rules.finding import profile
from streams.extraction.rules.occupations import chinese_occupation, english_occupation
from streams.extraction.rules.places import chinese_city, english_city, is_country, latin_city
from streams.extraction.rules.rows.row import CHINESE, ENGLISH
from streams.extraction.rules.rows.things import chinese_things, english_things

if TYPE_CHECKING:
    from collections.abc import Callable

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.rows.clauses import Clause
    from streams.extraction.rules.rows.row import Row

Groups: TypeAlias = "dict[str, str | None]"
_Reader: TypeAlias = "Callable[[str, Clause, Row], list[str]]"

_EN: Final = ENGLISH.cues
_ZH: Final = CHINESE.cues
_AGES: Final = range(3, 121)
"""The ages, in years, that somebody who writes may have."""
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty")
_ONES: Final = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_IN_WORDS: Final = {f"{ten} {one}".strip(): 10 * t + o for t, ten in enumerate(_TENS, 2) for o, one in enumerate(_ONES)}
_STATUS: Final = {"widower": "widowed", "widow": "widowed", "unmarried": "single"}
_NO_ALLERGEN: Final = re.compile(r"(?:nothing|anything|none|no|everything|it|this|that|them|you)\b", re.IGNORECASE)
_TYPE: Final = re.compile(r"[ie][ns][tf][jp]\b", re.IGNORECASE)
"""The four letters of a Myers-Briggs type."""
_SOME: Final = re.compile(r"\b(?:a (?:bit|little)(?: bit)?(?: of)?|some) ")
_OF_CITY: Final = re.compile(r"市?(?:[一-鿿]{1,4}[区县路镇街乡村])?(?:[那这]边|[那这]里|附近|一带)?")
"""What may stand behind a city's name in the name of a place: 青岛啤酒 is no part of Qingdao."""
_LISTED: Final = re.compile(r"[和、跟]")
_FIRM: Final = re.compile(r"[一-鿿A-Za-z0-9·& .]+")
_TELEPHONE: Final = re.compile(r"\+?\d(?:[ -]?\d){6,14}")
_HAS_NUMBER: Final = re.compile(r"phone|cell|mobile|number|whatsapp|signal|手机|电话", re.IGNORECASE)
_IS_NUMBER: Final = re.compile(r"phone|cell|mobile|number|手机|电话", re.IGNORECASE)
_NO_SITE: Final = re.compile(r"phone|cell|mobile|number|handle|username|slack|signal", re.IGNORECASE)
"""Words that name no site: "my phone is dead" and "my username is taken" give no account."""
_ACCOUNT: Final = re.compile(r"[\w.+-]{1,30}@[\w.-]{3,40}|@?(?=\w{0,30}[\d_])[\w.-]{4,30}|@[\w.-]{3,30}")


def values_of(key: str, said: str, row: Row, clause: Clause, *, is_chinese: bool) -> list[str]:
    """Return the values that words give a key: usually one, several from a list, none if they cannot be its value."""
    said = said.strip()
    if row.form == "day":
        day = birth_date(_stated(clause, is_chinese=is_chinese))
        return [f"{said.lower()}: {day}" if key == "important_dates" else day] if day else []
    if not said or (row.form == "said" and key != "employer"):
        return [said] if said else []
    read = (_CHINESE if is_chinese else _ENGLISH).get(key)
    return read(said, clause, row) if read else [said]


def _stated(clause: Clause, *, is_chinese: bool) -> str:
    """Return what a clause about a day states, without what it denies; a comma may separate the year from it."""
    said = clause.text if is_chinese else " ".join((clause.text, *clause.rest[:1]))
    denied = (_ZH if is_chinese else _EN)["denied"].search(said)
    if denied is None:
        return said
    if is_chinese:
        return clause.rest[0] if clause.rest and _ZH["rather"].match(clause.rest[0]) else ""
    return denied["but"] or ""


def _age(years: int | None) -> list[str]:
    return [str(years)] if years in _AGES else []


def _listed(found: str | None) -> list[str]:
    return [found] if found else []


def _english_age(said: str, *_: object) -> list[str]:
    return _age(_IN_WORDS.get(said.lower().replace("-", " ")) or (int(said) if said.isdigit() else None))


def _english_name(said: str, *_: object) -> list[str]:
    return [said] if said[0].isupper() and english_city(said) else []


def _english_skills(said: str, clause: Clause, _: Row) -> list[str]:
    more = _EN["also_spoken"].match(clause.rest[0]) if said[0].isupper() and clause.rest else None
    spoken = f"{said} and {more['what']}" if more else said
    return _SOME.sub("", spoken).split(" and ") if said[0].isupper() else [said]


def _english_tastes(said: str, clause: Clause, _: Row) -> list[str]:
    begins = clause.text.startswith(said)  # so its capital is not a name's
    found = english_things(said, clause.rest)
    return [one.lower() if begins and one.istitle() and " " not in one else one for one in found]


def _english_allergies(said: str, *_: object) -> list[str]:
    found = re.split(" (?:and|or) (?:to )?", said)
    return [one if one.isupper() else one.lower() for one in found if not _NO_ALLERGEN.match(one)]


def _chinese_names(said: str, *_: object) -> list[str]:
    names = _LISTED.split(said)
    return [] if any(map(_ZH["no_name"].match, names)) or chinese_occupation(said) else names


def _chinese_city(said: str, _: Clause, row: Row) -> list[str]:
    city = chinese_city(said) or latin_city(said)
    fits = city and (row.tail is None or row.tail.fullmatch(said.removeprefix(city)))
    return [city] if city and fits else []


def _chinese_occupation(said: str, *_: object) -> list[str]:
    known = chinese_occupation(said) or (english_occupation(said) if said.isascii() else None)
    return _listed(known or (said if _ZH["short_title"].fullmatch(said) else None))


def _chinese_employer(said: str, *_: object) -> list[str]:
    city = chinese_city(said)
    is_place = city is not None and _OF_CITY.fullmatch(said.removeprefix(city)) is not None
    is_firm = _FIRM.fullmatch(said) and not _ZH["no_firm"].match(said) and not is_place
    return [said] if is_firm else []


def _chinese_skills(said: str, *_: object) -> list[str]:
    spoken = _LISTED.split(re.sub(r"^[说讲](?=.{1,4}[语话文])", "", said))
    return [learnt for one in spoken if (learnt := re.sub(r"^一点儿?", "", one))]


_ENGLISH: Final[dict[str, _Reader]] = {
    "user_name": _english_name,
    "nickname": _english_name,
    "city": lambda said, *_: [] if is_country(said) else _english_name(said),
    "age": _english_age,
    "occupation": lambda said, *_: _listed(english_occupation(said)),
    "employer": lambda said, *_: [said.rstrip(".")],
    "relationship_status": lambda said, *_: [_STATUS.get(said.lower(), said.lower())],
    "allergies": _english_allergies,
    "skills": _english_skills,
    "personality_traits": lambda said, *_: [said.upper() if _TYPE.match(said) else said.lower()],
    "pet_names": lambda said, *_: said.split(" and "),
    "communication_style": lambda said, *_: [re.sub(r"^were ", "be ", said)],
    **dict.fromkeys(("likes", "dislikes", "interests"), _english_tastes),
}
_CHINESE: Final[dict[str, _Reader]] = {
    **dict.fromkeys(("user_name", "nickname", "pet_names"), _chinese_names),
    "city": _chinese_city,
    "age": lambda said, *_: _age(number(said)),
    "occupation": _chinese_occupation,
    "employer": _chinese_employer,
    "relationship_status": lambda said, *_: ["离婚" if said.startswith("离") else said],
    "skills": _chinese_skills,
    "personality_traits": lambda said, *_: _ZH["trait"].findall(said) or [said],
    "communication_style": lambda said, *_: [re.sub(r"^(?:更|比较|很)", "", said)],
    "sensitive_topics": lambda said, *_: [re.sub("^我的?", "", said)],
    "likes": lambda said, *_: chinese_things(said, is_liked=True),
    **dict.fromkeys(("dislikes", "interests"), lambda said, *_: chinese_things(said)),
}


def being(groups: Groups, *, is_chinese: bool) -> list[Finding]:
    """Return the key of a relative, friend or pet of the user whom words name; none if they contain no name."""
    words = (groups["name"] or "").split()
    while words and not is_chinese and not words[-1][0].isupper():
        words.pop()
    name = " ".join(words).removesuffix("'s")
    if not name or not (not _ZH["no_name"].match(name) if is_chinese else english_city(name)):
        return []
    key, who = next((key, groups[key] or "") for key in ("family", "friends", "pet_names") if groups.get(key))
    whose = (
        f"用户{'' if '的' in who else '的'}{who}叫{name}" if is_chinese else f"User's {who.lower()} is called {name}"
    )
    if key != "family":
        return [profile(key, name, whose)]
    return [profile(key, f"{who}{name}" if is_chinese else f"{who.lower()} {name}", whose)]


def account(groups: Groups, *, is_chinese: bool) -> list[Finding]:
    """Return an account; none in doubt. The sentence of a new account says that it is new, which ends the old one."""
    where = groups.get("where") or groups.get("where2") or "手机"
    said = groups.get("account") or groups.get("account2") or ""
    is_telephone = _HAS_NUMBER.search(where) and _TELEPHONE.fullmatch(said)
    is_like_one = not _IS_NUMBER.match(where) and (is_chinese or _ACCOUNT.fullmatch(said))
    is_named = groups.get("my") and not is_chinese and not _NO_SITE.match(where)
    if not (is_telephone or is_like_one or is_named or "address" in where or groups.get("tail")):
        return []
    is_new = any(groups.get(name) for name in ("new", "now", "to"))
    if is_chinese:
        return [profile("accounts", f"{where}: {said}", f"用户的{where}{'换成了' if is_new else '是'}{said}")]
    place = where.lower()
    return [profile("accounts", f"{place}: {said}", f"User's {place} is {'now ' if is_new else ''}{said}")]
