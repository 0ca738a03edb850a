"""Things: what the object of `like` or 喜欢 names, which is one thing, a list, or nothing that can stand alone.

The verb stays if it says more than the thing: `playing chess` and 看电影 stay, `drinking tea` and 喝茶 become tea.
Words that say where and when it is liked are cut off.
"""

from __future__ import annotations

import re
from typing import Final

from streams.extraction.rules.rows.row import CHINESE, ENGLISH

MOST_WORDS: Final = 6
"""A longer object is a story, not a thing."""
_TWO: Final = 2
_EN: Final = ENGLISH.cues
_ZH: Final = CHINESE.cues
_DOING: Final = re.compile(r"^(?:to \w+|\w+ing)\b", re.IGNORECASE)
_JUST_DOING: Final = re.compile(r"^(?:to \w+|\w+ing)(?: \w+)?$", re.IGNORECASE)
_WHERE: Final = re.compile(r"(?<!\s)\s+(?:in|on|at|after|before|during|with|for)\s.*$", re.IGNORECASE)
_WITHIN: Final = re.compile(r"\b(?:in|on|at|near|about|with|of|for|to)\b", re.IGNORECASE)
_CONSUMED: Final = re.compile(r"^(?:drinking|eating|having|to (?:drink|eat)) (?=\w)", re.IGNORECASE)
_THING: Final = re.compile(r"\w[\w '&.+-]{1,48}")
_LISTED: Final = re.compile(r"(?:and|or) [\w'-]+(?: [\w'-]+){0,2}", re.IGNORECASE)
_MEMBER: Final = re.compile(r"[\w'-]+(?: [\w'-]+)?")
_AND: Final = re.compile(r" and | or |/", re.IGNORECASE)
_HAN_THING: Final = re.compile(r"[一-鿿A-Za-z0-9《》·\- ]{1,16}")
_HAN_AND: Final = re.compile(r"、|(?<=.)(?:和|以及|还有|跟)(?=.)")


def english_things(what: str, rest: tuple[str, ...] = ()) -> list[str]:
    """Split an object into the things that it names, with a list that goes on in the next clauses; [] if too vague.

    If one part names nothing, the whole was cut wrongly, and the result is [].
    """
    cut = _EN["reason"].sub("", what)
    text = _listed(cut, rest) if cut == what else cut
    while (shorter := _EN["loose"].sub("", text)) != text:
        text = shorter
    parts = _AND.split(text)
    # "going on trips with friends and family" is one thing; "hiking and swimming" are two.
    if (len(parts) == _TWO and _WITHIN.search(parts[0])) or (
        " " in parts[0] and _DOING.match(parts[0]) and len(parts) == _TWO and not _DOING.match(parts[1])
    ):
        parts = [text]
    named = [_thing(part.strip()) for part in parts]
    return [thing for thing in named if thing] if all(named) else []


def _thing(part: str) -> str | None:
    whole = _CONSUMED.sub("", _EN["loose"].sub("", part))
    short = _WHERE.sub("", whole)
    thing = whole if short != whole and _JUST_DOING.match(short) else short
    if _EN["vague"].match(thing) or _EN["points"].search(thing):
        return None
    thing = re.sub(r"^(?:to|an?) (?=\w)", "", thing).strip(" '-.")
    is_named = _THING.fullmatch(thing) is not None and len(thing.split()) <= MOST_WORDS
    return thing if is_named and not _EN["no_doing"].match(thing) and not thing.endswith(" go") else None


def _listed(what: str, rest: tuple[str, ...]) -> str:
    """Return `A` with `B` and `and C` appended, where commas cut `A, B, and C` apart."""
    if _WITHIN.search(what):  # "books about birds, trees": the list may continue "books" or "birds"
        return what
    members: list[str] = []
    for part in rest:
        if _LISTED.fullmatch(part) and not _EN["points"].search(part):
            return " and ".join([what, *members, re.sub(r"^(?:and|or) ", "", part)])
        if not _MEMBER.fullmatch(part) or re.match(r"(?:especially|particularly|such|mostly|mainly|like)\b", part):
            two = re.split(r" (?:and|or) ", part)
            is_end = len(two) == _TWO and all(_MEMBER.fullmatch(word) for word in two)
            return " and ".join([what, *members, *two]) if is_end else what
        members.append(part)
    return what


def chinese_things(text: str, *, is_liked: bool = False) -> list[str]:
    """Split an object into the things that it names, without particles; [] if it names nothing that can be kept."""
    bare = without_particles(_ZH["no_thing"].sub("", text.strip()))
    bare = _ZH["whenever"].sub("", bare) if is_liked else bare
    parts = [bare] if re.match(r"[和跟与在]", bare) else _HAN_AND.split(bare)
    found = []
    for part in parts:
        thing = without_particles(_ZH["consumed"].sub("", part.strip()))
        if not _HAN_THING.fullmatch(thing) or _ZH["vague"].search(thing):
            return []
        found.append(thing)
    # 晴朗、温暖的天气: the parts are properties of a thing, not things.
    return [] if "、" in bare and "的" in found[-1] and "的" not in found[0] else found


def without_particles(text: str) -> str:
    """Return a Chinese text without the particles at its end, which carry tone and no meaning."""
    return _ZH["particles"].sub("", text)
