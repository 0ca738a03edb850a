"""English clauses that say a trade by what is done: I drive a bus, I run a small bakery, I teach year 4."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.english.life import third_person
from streams.extraction.rules.finding import profile
from streams.extraction.rules.occupations import english_occupation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause
    from streams.extraction.rules.finding import Finding

_BUSINESS: Final = (
    r"(?:shop|bakery|caf[eé]|restaurant|bar|pub|salon|studio|garage|farm|gym|hotel|b&b|guest ?house|book ?shop|store"
    r"|company|business|agency|firm|food truck|truck|stall|nursery|clinic|practice|kennels?|brewery|florist|takeaway"
    r"|startup|dairy|orchard|vineyard|stables|hostel|daycare|gallery|workshop|diner|deli|barbershop|franchise"
    r"|newsagent|charity|launderette)"
)
_RUNS: Final = re.compile(
    r"^(?:run|own|manage|co-own|opened|have opened) "
    r"(?P<what>(?:an?|my(?: own)?|our(?: own)?|the) (?:(?!with\b|for\b)[\w'&-]+ ){0,4}?"
    rf"{_BUSINESS})\b(?!'s)"
)
_DRIVES: Final = re.compile(
    r"^drive (?P<what>(?:an? |the )?(?:(?:school|delivery|city|night|dump|fire|tow) )?(?:forklift|bus|truck|lorry|taxi"
    r"|cab|van|tractor|train|tram|ambulance|minicab|hgv|crane|digger|coach)s?)\b(?! to)"
)
_PRACTISES: Final = re.compile(
    r"^(?P<what>weld|plumb|farm|nurse|nanny|bartend|tattoo|childmind|freelance)"
    r"(?:$| (?:for|in|at|full|part|on|mostly|as)\b.*)"
)
_PLACE: Final = (
    r"(?:charity|company|firm|studio|school|hospital|shop|agency|startup|magazine|newspaper|publisher|bank|council"
    r"|university|factory|warehouse|hotel|museum|theatre|theater|brand|ngo|nonprofit|non-profit|label|club|zoo|garage"
    r"|brewery)"
)
_MAKES: Final = re.compile(
    r"^(?P<what>(?:write|edit|design|sell|fix|repair|build|clean|make|restore|groom|train|cut|translate|illustrate"
    r"|photograph|service|install|deliver|inspect|paint|style) (?!it\b|this\b|that\b|my\b|our\b|up\b|off\b|sure\b"
    r"|sense\b|a lot\b)(?:[\w'-]+ ){0,3}?[\w'-]+?) (?:for|at) (?:an?|the) (?:[\w'-]+ ){0,4}?"
    rf"{_PLACE}\b"
)
_DOES_NAILS: Final = re.compile(
    r"^do (?P<what>nails|hair|makeup|lashes|tattoos|massages?|gardens|taxes|bookkeeping) (?:out of|from|for a"
    r"|at a|in a)\b"
)
_TEACHES: Final = re.compile(
    r"^teach (?P<what>(?:year|grade|primary|class) ?\d{1,2}|(?:first|second|third|fourth|fifth|sixth|seventh|eighth) "
    r"grade|kindergarten|reception|preschool|primary school)\b"
)
_BECAME: Final = re.compile(
    r"^(?:(?:have )?(?:just |recently )?(?:gone|went) freelance as|(?:have )?(?:just |recently )?(?:retrained|qualified"
    r"|started|trained) as|became|have (?:just )?become|am (?:re)?training as) an? (?P<role>[\w -]{3,30}?)"
    r"(?: (?:at|in|last|this|for|after|and)\b.*)?$"
)
_FREELANCE: Final = re.compile(
    r"^am (?:a )?(?P<what>freelance|freelancing|self-employed|freelancer)(?: (?:now"
    r"|these days|at the moment|currently|again))?$"
)
_SOMETIMES: Final = re.compile(
    r"\b(?:usually|sometimes|often|never|rarely|occasionally|every|weekends?|tonight|today|to work|for fun)\b"
)


def trade(clause: Clause) -> Iterator[Finding]:
    """Yield the occupation of the user that a clause says by what is done; at most one."""
    core = clause.core
    if clause.subject != "me" or clause.past or _SOMETIMES.search(f"{clause.adverbs} {core}"):
        return
    if m := _TEACHES.match(core):
        yield profile("occupation", f"{m['what']} teacher", third_person(clause))
    elif (m := _BECAME.match(core)) and (role := english_occupation(m["role"])):
        yield profile("occupation", role, f"User works as {'an' if role[0] in 'aeiou' else 'a'} {role}")
    elif m := _FREELANCE.match(core):
        yield profile("occupation", m["what"], f"User is {m['what']}")
    elif m := next(filter(None, (p.match(core) for p in (_RUNS, _DRIVES, _PRACTISES, _MAKES, _DOES_NAILS))), None):
        yield profile("occupation", m["what"], third_person(clause))
