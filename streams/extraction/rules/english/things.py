"""Finds what is named by the object of `like`: one thing or a list of things, or nothing that stands by itself."""

from __future__ import annotations

import re
from typing import Final

WORDS_MOST: Final = 6
"""A longer object is a story, not a thing."""

_REASON = re.compile(
    r"(?<!\s)\s+(?:because|'cause|since|so|but|if|when|while|though|although|as well|as long|as much|until|"
    r"where|when they|who\b|that (?:have|has|are|is|make|taste|smell)|rather than|more than|over|instead"
    r"|and (?:i|we|my|it)\b"
    r"|so i|which|especially|particularly)\b.*$",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"(?<!\s)\s+(?:too|here|a lot|lol|haha|tbh|these days|(?:right )?now|nowadays|lately|anymore|any more|very much"
    r"|so much|to bits|tonight|today|now and then|once in a while|"
    r"at all|most(?: of all)?|the (?:most|best)|the spicier.*|best|much|every \w+|(?:in|on|at|during|"
    r"after|before|for) (?:the )?(?:mornings?|evenings?|"
    r"nights?|afternoons?|weekends?|weekdays|summer|winter|spring|autumn|fall|breakfast|lunch|dinner|"
    r"work|school|bed)|\w+ though)$",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?<!\s)\s+(?:in|on|at|after|before|during|with|for)\s.*$", re.IGNORECASE)
_CONSUMED = re.compile(r"^(?:drinking|eating|having|to (?:drink|eat)) (?=\w)", re.IGNORECASE)
_DOING = re.compile(r"^(?:to \w+|\w+ing)\b", re.IGNORECASE)
_JUST_DOING = re.compile(r"^(?:to \w+|\w+ing)(?: \w+)?$", re.IGNORECASE)
_NO_DOING = re.compile(
    r"^(?:to )?(?:go|going|play|playing|be|being|do|doing|watch|watching|work|working|spend|spending|"
    r"get|getting|come|coming|to|have|having|see|seeing|make|making|"
    r"say|saying|think|thinking|hear|hearing|know|knowing|admit|help|helping|share|sharing|take|taking|"
    r"try|trying|give|giving)$",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:you|your|it|that|this|these|those|them|him|her|his|their|its|they|he|she|how|what|where|i|me"
    r"|us|we|each other|myself|everything|nothing|something|anything|"
    r"everyone|someone|people|same|idea|thought|sentiment|stuff|things?)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"^(?:neither\b|no\b|none\b|the (?!ocean\b|sea\b|beach\b|mountains?\b|outdoors\b|rain\b|snow\b|cold\b|heat\b|sun\b|"
    r"theat(?:er|re)\b|gym\b|color \w+|smell of \w+|(?-i:[A-Z]))"
    r"|my (?!\w+'s )|our |just |all\b|both\b|one\b|being\b|not\b|more\b|as\b|like\b|of\b|for\b|in\b|some\b|any\b|"
    r"a (?:bit|few|lot|good|little)\b|when\b|making sure|through\b|to be\b|"
    r"to (?:say|think|hear|see|know|admit|believe|imagine)\b|hearing\b|feedback$|love$|then$|so\b|everyone)",
    re.IGNORECASE,
)
_THING = re.compile(r"\w[\w '&.+-]{1,48}")
_WITHIN = re.compile(r"\b(?:in|on|at|near|about|with|of|for|to)\b", re.IGNORECASE)
_LISTED = re.compile(r"(?:and|or) [\w'-]+(?: [\w'-]+){0,2}", re.IGNORECASE)
_MEMBER = re.compile(r"[\w'-]+(?: [\w'-]+)?")
_AND = re.compile(r" and | or |/", re.IGNORECASE)
_TWO: Final = 2


def things(what: str, rest: tuple[str, ...] = ()) -> list[str]:
    """Split an object into the things it names, with the list that goes on in the next clauses; [] when too vague.

    `drinking green tea in the evening` names `green tea`; `them` and `the idea` name nothing. One part that names
    nothing shows that the whole was cut wrongly.
    """
    cut = _REASON.sub("", what)
    text = _listed(cut, rest) if cut == what else cut
    while (shorter := _LOOSE.sub("", text)) != text:
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
    whole = _CONSUMED.sub("", _LOOSE.sub("", part))
    short = _WHERE.sub("", whole)
    thing = whole if short != whole and _JUST_DOING.match(short) else short
    if _VAGUE.match(thing) or _POINTS.search(thing):
        return None
    thing = re.sub(r"^(?:to|an?) (?=\w)", "", thing).strip(" '-.")
    if (
        _NO_DOING.match(thing)
        or thing.endswith(" go")
        or not _THING.fullmatch(thing)
        or len(thing.split()) > WORDS_MOST
    ):
        return None
    return thing


def _listed(what: str, rest: tuple[str, ...]) -> str:
    """Append `B` and `and C` where a comma cut `A, B, and C` apart."""
    # "books about birds, trees": what the list goes on from is not certain.
    if _WITHIN.search(what):
        return what
    members: list[str] = []
    for part in rest:
        if re.match(r"(?:especially|particularly|such|mostly|mainly|like)\b", part):
            return what
        if _LISTED.fullmatch(part) and not _POINTS.search(part):
            return " and ".join([what, *members, re.sub(r"^(?:and|or) ", "", part)])
        if not _MEMBER.fullmatch(part):
            two = re.split(r" (?:and|or) ", part)
            if len(two) == _TWO and all(_MEMBER.fullmatch(word) for word in two):
                return " and ".join([what, *members, *two])
            return what
        members.append(part)
    return what
