"""English statements about oneself: name, age, birthday, work, home, allergies, skills, relationship."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.yearly import birth_date
from schemas.vocabulary.attributes import NICKNAME
from streams.extraction.rules.english.clauses import apart
from streams.extraction.rules.finding import Finding, profile
from streams.extraction.rules.occupations import english_occupation
from streams.extraction.rules.places import english_city, is_country

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause

NAME: Final = r"[A-Z][\w'-]{1,19}(?: (?:(?:de|van|von|da|al|el) )?[A-Z][\w'-]{1,19}){0,2}"
"""Capitalised words: a name is believed only where it is spelt as one."""
_TITLE: Final = r"(?:[A-Z][\w'&-]*|St\.|&|of|and(?= [A-Z]))"
_COMPANY: Final = rf"(?:[Tt]he )?[A-Z][\w'&.-]*(?: {_TITLE})*"
_NAMED = re.compile(
    r"^(?:my (?:full |first )?name is|the name is|the name's|my name's|my friends call me|(?:everyone|"
    r"everybody|people|friends|they|you can|just|please)?\s*calls? me|i go by|i am "
    rf"called)\s+(?P<name>{NAME})$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(r"^am not [A-Z][\w'-]+$")
_BUT_IS = re.compile(rf"^(?:but )?i am (?P<name>{NAME})$", re.IGNORECASE)
_SPELLED = re.compile(rf"^my (?:first |last )?name(?: is|'s) (?:spell?ed|spelt) (?P<name>{NAME})\b", re.IGNORECASE)
_FROM_NOW = re.compile(
    rf"^(?:(?i:please|just|so|and|you can) )*(?i:call me) (?P<name>{NAME}),? (?:from now on|instead|for short|please)$"
)
_CALL_ME = re.compile(r"\bcalls? me\b|^i go by\b", re.IGNORECASE)
_I_AM = re.compile(rf"^am (?P<name>{NAME})$")
_IT_IS = re.compile(rf"^(?:it's|its|it is|this is) (?P<name>{NAME})(?: here| again)?$")
_AGE = re.compile(
    r"^(?:am|(?:just )?turned|have just turned)\s+(?:now |actually )?(?P<age>\d{1,3})(?:[ -]years?[ "
    r"-]olds?|[ -]y/?o)?(?:$|\s+(?:years|today|last|this|in|on|yesterday|now)\b.*"
    r"|\s+and (?:still|already|never|living|single|married|engaged|divorced|retired|unemployed|feeling"
    r"|loving|proud|have|live|work)\b.*)"
)
_BIRTHDAY = re.compile(
    r"^my (?:birthday|bday|b-day)(?: is|'s| falls)\b|^(?:was born|am born)\b(?! in \w+$)", re.IGNORECASE
)
_DENIED = re.compile(r"\b(?:is|was|am|it) not\b.*?(?:\b(?:but|it is|it's|i was)\b(?P<but>.+))?$", re.IGNORECASE)
_A: Final = r"(?:an?|the)"
_IS_A = re.compile(
    rf"^(?:am (?:now )?{_A}|will be the(?: new)?|have been {_A}(?=.* (?:for"
    rf"|since)\b)) (?P<role>[\w -]{{3,40}}?)(?P<tail>(?: (?:at|in|on (?:an?|the) [\w' ]{{0,20}}?(?:ward"
    rf"|team"
    r"|desk|floor|farm|ship|unit)|here"
    r"|for|from|since|by|with|based|working|and|living|who)\b.*)?)$"
)
_AGES: Final = (3, 120)
"""Years, of someone who writes."""
_YEARS_OLD = re.compile(r"^(?P<age>[1-9]\d)(?:[ -]years?[ -]old|[ -]?y/?o)\b ?")
_WORK_AS = re.compile(
    r"^(?:work|am working|am employed|got a (?:new )?job|started(?: working)?)(?P<head>(?: (?:at|for|"
    rf"in) .+?)?) as {_A}?\s?(?P<role>[\w -]{{3,40}}?)(?P<tail>(?: (?:at|in|for|from|with|"
    r"based)\b.*)?)$"
)
_WORK_AT = re.compile(
    r"^(?:work|am (?:now |currently )?working|have worked|started(?: working)?|am employed|have a job"
    r"|got a (?:new )?job|have been "
    r"working|have started|am interning|landed a job|joined|have joined)(?: (?:now|full[- ]time|part[-"
    rf" ]time|there|remotely))?(?: (?:at|for|by))? (?P<at>{_COMPANY})(?P<tail>.*)$"
)
_BEEN_AT = re.compile(
    rf"^have been (?:at|with) (?!(?:\w+ )?(?:Mum|Mom|Dad|Gran|Grandma|Grandpa)'s\b)(?P<at>{_COMPANY}) "
    r"(?:(?:for|going on|over|nearly|almost|about) (?:[\w-]+ ){0,4}?years?|since (?:19|20)\d\d)\b"
)
_NO_EMPLOYER = re.compile(r"\b(?:University|College|School|Hospital|Airport|Mum|Mom|Dad)\b")
_FOR_A_LIVING = re.compile(
    r"^(?P<what>(?!(?:work|do|am|have|had|want|need|would|could|can|might|should|will|used|love|like|hate|wish|hope"
    r"|know|try|plan|dream|get|never|no)\b)[a-z]+(?: (?!that\b|this\b|it\b|you\b|not\b)[\w'-]+){0,5}) for a living$"
)
_TENS: Final = {
    word: 10 * n for n, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"), start=2)
}
_ONES: Final = {
    word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), start=1)
}
_AGE_IN_WORDS = re.compile(
    rf"^(?:am|(?:just |have just )?turned)\s+(?:now "
    rf"|only )?(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(_ONES)}))?"
    r"(?: years old)?(?:$| (?:today|last|this|in|on|yesterday|now|and)\b.*)"
)
_ALL_MY_YEARS = re.compile(r"\ball (?:of )?my (?P<age>[1-9]\d) years\b")
_DRIVES_FOR = re.compile(rf"^(?:drive|have been driving|deliver|have been delivering) for (?P<at>{_COMPANY})\b")
_AT_AN = re.compile(
    r"^(?:work|am (?:now |currently )?working)(?: (?:nights|days|shifts|weekends|evenings|full[- ]time|part[- ]time"
    r"|remotely))? (?:at|in|for) "
    r"(?P<at>(?:customs|the (?:post office|council|railways?|nhs|police|fire (?:brigade|department|service)"
    r"|government|city|navy|army|state"
    r"|civil service|county|local authority)\b|an? (?:[\w'-]+ ){0,3}?"
    r"(?:care home|nursing home|hospital|school|bank|warehouse|factory|restaurant|caf[eé]|bakery|bookshop|bookstore"
    r"|library|law firm|start-?up|call cent(?:er|re)|hotel|pharmacy|supermarket|nursery|garage|hospice|clinic|bar|pub"
    r"|museum|kennels?|charity|council|university|shop|store|lab|laboratory|farm|gym|salon|brewery|daycare|prison"
    r"|company|firm|agency|studio|(?:[Gg][Pp]|dental|medical|vet|private|law) practice|surgery)\b))(?P<tail>.*)$"
)
_BEEN_IN = re.compile(
    r"^have been in (?P<city>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)(?= (?:since (?:19|20)\d\d|(?:[\w-]+ ){1,3}years?"
    r"|for (?:[\w-]+ ){1,4}years?|all my life)\b)(?P<tail>.*)$"
)
_BASED = re.compile(r"^am based out of (?P<city>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)(?P<tail>.*)$")
_NO_MORE_THERE = re.compile(r"^(?:do not|no longer) (?P<what>live|work)\b.*")
_THERE_NOW = re.compile(
    rf"^(?:[Bb]ut |[Aa]nd )?[Ii] am (?:now )?(?:in|at|with) (?P<where>{_COMPANY})(?: (?:now|these days|instead))?$"
)
_AT_NOW = re.compile(rf"^am (?:now )?(?:at|with) (?P<where>{_COMPANY})(?: (?:now|these days|instead|since \w+))?$")
_LEFT_WORK = re.compile(
    r"^(?:(?:and|but|then|i|just|recently|have|has) )*(?:quit|resigned|retired"
    r"|left(?= (?:it|there|in|last|this|the (?:company|firm|job))\b|$)"
    r"|(?:got|was|have been|am being) (?:laid off|let go|fired))\b",
    re.IGNORECASE,
)
_MOVED_ON = re.compile(r"\b(?:then|later|after that|afterwards) .*\b(?:to|in|back) [A-Z]")
_AT = re.compile(rf"\b(?:at|for) (?P<at>{_COMPANY})(?=$| (?:in|as|and|near|on|since|for)\b)")
_LIVE = re.compile(
    r"^(?:live|am living|am renting|rent|have lived|have been living|am based|reside|have settled|settled|have moved "
    r"back|moved back|moved(?: from [A-Z][\w'-]+)?|have moved|have just moved|relocated|have relocated"
    r"|am now living|am back "
    r"living)(?: (?:now|currently|back|here|over|happily|down|up|out))* "
    r"(?:in|to|near|just outside(?: of)?|(?:in|into|to) (?:an?|our|my) (?:[a-z-]+ ){0,3}"
    r"(?:flat|apartment|house|studio|condo|bungalow|cottage|loft|townhouse|room|bedsit) (?:in|just outside(?: of)?)) "
    r"(?P<city>[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2})(?P<tail>.*)$"
)
_LIVE_SO = re.compile(
    r"^(?:live|am living|have lived|have been living|moved back|have moved back|rent|am renting"
    r"|share)(?! in [A-Z])"
    r"(?: (?!from\b|to [A-Z]|not\b)[a-z0-9'-]+){1,9}? (?:in|near|outside"
    r"|to) (?P<city>[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2})"
    r"(?P<tail>$| (?:for|since|with|now|at|again|and)\b.*)"
)
_HOME_GIRL = re.compile(
    r"^am an? (?P<city>(?!American|British)[A-Z][a-z]+) (?:girl|boy|lad|lass|guy|local|resident)"
    r"(?P<tail>$| (?:now|these days|at the moment)$)"
)
_IN_NOW = re.compile(
    r"^(?:am|are) (?:now )?in (?P<city>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)(?P<tail>(?: now| these days)?$)"
)
_HERE_SINCE = re.compile(
    r"^(?:so |and )?(?:(?:we |i )?(?:have )?(?:been|lived) here (?:since|for)\b|it is (?:already|still"
    r"|only)\b.*\bhere$)",
    re.IGNORECASE,
)
_ALLERGIC = re.compile(
    r"^am (?:(?:severely|highly|super|badly|mildly|very|deathly|also) )?(?:allergic|intolerant) to "
    r"(?P<what>[\w -]{2,40}?)(?: and)?$"
)
_INTOLERANT = re.compile(
    r"^(?:am (?P<what>lactose|gluten) intolerant|have an? (?:(?:severe|bad|mild|serious|slight) "
    r")?(?P<also>[\w ]{2,20}) allergy)"
)
_NOTHING = re.compile(r"(?:nothing|anything|none|no|everything|it|this|that|them|you)\b", re.IGNORECASE)
_SPEAK = re.compile(
    r"^(?:can )?speak (?:fluent |some |a little )?(?P<what>[A-Z]\w+(?: and .+)?)$|^am fluent in "
    r"(?P<fluent>[A-Z]\w+(?: and [A-Z]\w+)?)$"
)
_MORE_SPOKEN = re.compile(
    r"^(?:and )?(?P<what>(?:(?:a (?:bit|little)(?: bit)?(?: of)?|some) )?[A-Z][a-z]+"
    r"(?: and (?:(?:a (?:bit|little)(?: bit)?(?: of)?|some) )?[A-Z][a-z]+)?)$"
)
"""What goes on from a language: I speak English, Spanish and a bit of French."""
_PROMOTED = re.compile(
    r"^(?:was|got|have been|was just) promoted to (?P<role>[\w -]{3,30}?)(?: (?:at|in|last|this|today|"
    r"yesterday|two|a)\b.*)?$"
)
_HIVES = re.compile(
    r"^(?P<what>(?!it\b|this\b|that\b|he\b|she\b|you\b|they\b)[A-Za-z]+) (?:makes? me break out"
    r"|gives? me (?:hives|a rash)|brings? me out in (?:hives|a rash|spots)"
    r"|goes? (?:straight|right) through me|sends? me to (?:the )?(?:hospital|er|a&e)|makes? my (?:throat|face"
    r"|lips|tongue|mouth|eyes) (?:swell"
    r"|itch|close)\w*"
    r"|(?:does|do) not agree with me|(?:is|are) off limits(?: for me)?$)\b",
    re.IGNORECASE,
)
_GOOD_AT = re.compile(
    r"^(?:am (?:(?:pretty|really|quite|very|fairly|rather|damn|so) )*(?:good|great|decent|excellent"
    r"|skilled|handy|brilliant) (?:at|with)"
    r"|know how to|(?:also )?know (?:a (?:little )?bit of|a little|some|basic)|can (?=(?:fix|juggle|bake"
    r"|sew|knit|weld|sail|ski|surf|touch-type|cook) )) ?"
    r"(?P<what>(?!it\b|this\b|that\b|you\b|them\b|what\b|hiding\b|things\b"
    r"|.*\b(?:it|this|that|them|nothing|anything|everything)$)[\w' -]{2,40})$"
)
_PLAY = re.compile(
    r"^(?:can )?play (?:the )?(?P<what>violin|piano|guitar|drums|cello|flute|saxophone|sax|trumpet|bass"
    r"|ukulele|harp|clarinet|viola|banjo|oboe|accordion|harmonica|organ|keyboard)\b"
)
_STATUS = re.compile(
    r"^(?:am|are|got|have been|have been a|am a|am now|am recently|have gotten|am newly|am happily)\s+(?:(?:happily"
    r"|recently"
    r"|newly|now|still) )?(?P<status>single|married|engaged|divorced|separated|unmarried|widowed|widower"
    r"|widow)\b(?! (?:from birth|in(?! (?:[A-Z]"
    r"|the (?:spring|summer|autumn|fall|winter)|(?:19|20)\d\d))|out|to say|by|"
    r"handed))"
)


_PARTNER: Final = (
    r"(?:(?:my )?(?:girlfriend|boyfriend|gf|bf|partner|fianc[eé]e?)(?: (?-i:[A-Z])[a-z]+)?|(?-i:[A-Z])[a-z]{1,14})"
)
_WHEN_SO: Final = r"(?: (?:last|this|two|three|a|on|in|yesterday|today|recently|again|for good)\b.{0,30})?"
_BROKE_UP: Final = re.compile(rf"^(?:broke|split|have broken) up with {_PARTNER}{_WHEN_SO}$", re.IGNORECASE)
_AND_I: Final = re.compile(
    rf"^(?:(?P<who>{_PARTNER}) and (?:i|me)|(?:i|me) and (?P<also>{_PARTNER})) (?:have |just |recently |finally )*"
    rf"(?:broke|broken|split) up{_WHEN_SO}(?: and\b.*)?$",
    re.IGNORECASE,
)


_UNMARRIED: Final = re.compile(
    r"^(?:am never|have never (?:been|got|gotten)|never (?:got|been)|was never) married\b"
    r"|^am an? (?:[\w-]+ )?single (?:dad|mum|mom|parent"
    r"|father|mother)\b"
)


_GONE_FROM: Final = re.compile(
    r"^(?:\w+ )?(?:i|we) (?:have |just |recently |finally )*(?:(?:left|quit) (?-i:[A-Z])"
    r"|(?:quit|left|lost) (?:my|the) (?:old |last )?job|got (?:laid off|fired|let go)|am (?:no longer|not) (?:at|with)"
    r"|do not work|no longer work)",
    re.IGNORECASE,
)


def _left_firm(clause: Clause) -> bool:
    """Return whether a firm was left just before a clause, so that `I'm at Lufthansa now` names another."""
    return any(map(_GONE_FROM.match, clause.before[-2:]))


def about_self(clause: Clause) -> Iterator[Finding]:
    """Yield who the user is. Patterns match only at the start of the clause, behind subject and adverbs."""
    if name := _name(clause):
        if _CALL_ME.search(clause.text):
            yield profile(NICKNAME, name, f"User is called {name}")
        else:
            yield profile("user_name", name, f"User's name is {name}")
    if m := _HIVES.match(clause.text):
        yield _allergy(m["what"].lower())
    yield from _birthday(clause)
    if (m := _NTH_BIRTHDAY.match(clause.text)) and _AGES[0] <= int(m["age"] or m["also"]) <= _AGES[1]:
        yield _age(int(m["age"] or m["also"]))
    if clause.subject == "me" and (m := _PROMOTED.match(clause.core)) and (role := english_occupation(m["role"])):
        yield _occupation(role)
    yield from _love(clause)
    if clause.past or clause.subject == "other":
        return
    yield from _home(clause)
    if clause.subject == "me":
        core = clause.core
        yield from _years(core)
        yield from () if any(map(_LEFT_WORK.search, clause.rest)) else _work(core)
        yield from _body_and_skills(clause)
        yield from _moved_on(clause)
        if m := _FOR_A_LIVING.match(core):
            yield profile("occupation", m["what"])


def _years(core: str) -> Iterator[Finding]:
    if m := _AGE_IN_WORDS.match(core):
        yield _age(_TENS[m["tens"]] + _ONES.get(m["ones"] or "", 0))
    elif (m := _AGE.match(core) or _ALL_MY_YEARS.search(core)) and _AGES[0] <= int(m["age"]) <= _AGES[1]:
        yield _age(int(m["age"]))


_NOT_A_NAME: Final = frozenset({"He", "She", "They", "It", "You", "Who", "Everyone", "Nobody", "Someone", "Somebody"})
_DUMPED: Final = re.compile(
    rf"^(?P<who>{_PARTNER}) (?:just |recently )?(?:dumped me|broke up with me|split up with me)"
    r"(?: (?:(?:last|this) \w+|yesterday|today|recently|again|for good|\w+ (?:days?|weeks?|months?) ago))?$",
    re.IGNORECASE,
)
_NTH_BIRTHDAY: Final = re.compile(
    r"^(?:(?:yesterday|today|last (?:week|month|night|\w{3,6}day)) (?:was|is) my (?:\w+ )?"
    r"(?P<age>\d{1,3})(?:st|nd|rd|th) birthday|it (?:was|is) my (?P<also>\d{1,3})(?:st|nd|rd|th) birthday"
    r" (?:today|yesterday|last (?:week|month|night|\w{3,6}day)))$",
    re.IGNORECASE,
)
"""A birthday that has been says the age, as `I turned 32 yesterday` does."""


def _love(clause: Clause) -> Iterator[Finding]:
    """Yield the relationship status that a clause says, or that follows from a parting."""
    core = clause.core
    if m := _AND_I.match(clause.text):
        who = re.sub(r"^my ", "their ", m["who"] or m["also"])
        yield profile("relationship_status", "single", f"User and {who} broke up")
    elif (m := _DUMPED.match(clause.text)) and m["who"] not in _NOT_A_NAME:
        who = re.sub(r"^my ", "their ", m["who"], flags=re.IGNORECASE)
        yield profile("relationship_status", "single", f"User was dumped by {who}")
    elif clause.past or clause.subject == "other":
        return
    elif _BROKE_UP.match(core) or _UNMARRIED.match(f"{clause.adverbs} {core}".strip()):
        yield profile("relationship_status", "single", "User is single")
    elif m := _STATUS.match(core):
        said = m["status"]
        status = "widowed" if said.startswith("widow") else "single" if said == "unmarried" else said
        yield profile("relationship_status", status, f"User is {status}")


def _name(clause: Clause) -> str | None:
    spelt = _SPELLED.match(clause.text) or _FROM_NOW.match(clause.text) or _NAMED.match(clause.text)
    if spelt is None and clause.rest and _NOT_BUT.match(clause.core):
        spelt = _BUT_IS.match(apart(clause.rest[0]))
    if spelt:
        return spelt["name"] if spelt["name"][0].isupper() else None
    m = _IT_IS.match(clause.text) if clause.greeted or clause.text.endswith((" again", " here")) else None
    # "I'm Batman" may be a joke: a greeting or more about oneself must stand beside it.
    if clause.subject == "me" and not clause.past and (clause.greeted or _introduces(clause)):
        m = m or _I_AM.match(clause.core)
    return m["name"] if m and english_city(m["name"]) else None


def _birthday(clause: Clause) -> Iterator[Finding]:
    own = clause.subject == "me" or clause.core.lower().startswith("my")
    if own and not clause.when and _BIRTHDAY.match(clause.core):
        # A comma stands before the year.
        said = " ".join((clause.text, *clause.rest[:1]))
        if denied := _DENIED.search(said):
            said = denied["but"] or ""
        day = birth_date(said)
        if day:
            yield profile("birthday", day, f"User's birthday is {day}")


def _introduces(clause: Clause) -> bool:
    return any(
        re.match(
            r"(?:and |i (?:am|work|live|do|have|study|love|like|run|teach|make)\b|my name|nice to meet|an? )",
            part,
            re.IGNORECASE,
        )
        for part in clause.rest[:1]
    )


def _work(core: str) -> Iterator[Finding]:
    if m := _IS_A.match(core):
        years = _YEARS_OLD.match(m["role"])
        if years:
            yield _age(int(years["age"]))
        role = english_occupation(m["role"][years.end() if years else 0 :].strip())
        if role:
            yield _occupation(role)
            yield from _where(m["tail"])
        return
    if m := _WORK_AS.match(core):
        yield _occupation(m["role"].strip())
        yield from _where(f"{m['head'].strip()} {m['tail'].strip()}".strip())
        return
    if m := _WORK_AT.match(core):
        yield _employer(m["at"])
        yield from _where(m["tail"], employer=False)
        return
    if (m := _BEEN_AT.match(core)) and not _NO_EMPLOYER.search(m["at"]):
        yield _employer(m["at"])
        return
    if (
        m := re.match(
            rf"^(?:joined|have joined) (?:a|an) (?:startup|company"
            rf"|firm) called (?P<at>{_COMPANY})",
            core,
        )
    ) or (m := _DRIVES_FOR.match(core)):
        yield _employer(m["at"])
    elif m := _AT_AN.match(core):
        yield profile("employer", re.sub(r"^an? ", "", m["at"]), f"User works at {m['at']}")
    elif m := re.match(
        r"^teach (?P<what>(?!people|kids|children|them|you|others|my|him|her|us|students)[a-z][a-z "
        r"]{2,30}?)(?: (?:at|in|to|for|on|part)\b.*)?$",
        core,
    ):
        role = f"{m['what']} teacher"
        yield _occupation(role)


def _where(tail: str, *, employer: bool = True) -> Iterator[Finding]:
    if employer and (m := _AT.search(tail)):
        yield _employer(m["at"])


def _home(clause: Clause) -> Iterator[Finding]:
    m = next(
        filter(None, (known.match(clause.core) for known in (_LIVE, _BEEN_IN, _BASED, _LIVE_SO, _HOME_GIRL))), None
    )
    if m is None and any(map(_HERE_SINCE.match, map(apart, clause.rest[:1]))):
        m = _IN_NOW.match(clause.core)
    if (
        m
        and not is_country(m["city"])
        and english_city(m["city"])
        and " not " not in f" {clause.core} "
        and not re.search(r"\bfrom now\b", m["tail"])
        and not _MOVED_ON.search(" ".join((m["tail"], *clause.rest[:1])))
    ):
        yield _city(m["city"])


def _moved_on(clause: Clause) -> Iterator[Finding]:
    """Yield the city or company that takes the place of one: I don't work for Deloitte any more, I'm at KPMG."""
    if (m := _AT_NOW.match(clause.core)) and _left_firm(clause):
        yield _employer(m["where"])
        return
    gone = _NO_MORE_THERE.match(clause.core)
    now = _THERE_NOW.match(clause.rest[0]) if gone and clause.rest else None
    if gone and now and now["where"][0].isupper() and english_city(now["where"]):
        yield _city(now["where"]) if gone["what"] == "live" else _employer(now["where"])


def _body_and_skills(clause: Clause) -> Iterator[Finding]:
    core = clause.core
    if m := _ALLERGIC.match(core):
        for what in re.split(r" and | or ", m["what"]):
            if not _NOTHING.match(what):
                yield _intolerance(what) if " intolerant to " in core else _allergy(what)
    elif m := _INTOLERANT.match(core):
        yield _intolerance(m["what"]) if m["what"] else _allergy(m["also"])
    elif m := re.match(
        r"^can not (?:eat|have|drink|tolerate|touch|do) (?P<what>gluten|dairy|lactose|nuts|peanuts|shellfish|"
        r"eggs|wheat|soy|milk|seafood|sesame|strawberries|kiwi|prawns|mango)\b",
        core,
    ):
        yield profile("allergies", m["what"], f"User can't eat {m['what']}")
    elif m := _SPEAK.match(core):
        listed = next(filter(None, map(_MORE_SPOKEN.match, clause.rest[:1])), None)
        spoken = f"{m['what'] or m['fluent']}{' and ' + listed['what'] if listed else ''}"
        for what in re.split(r" and ", re.sub(r"\b(?:a (?:bit|little)(?: bit)?(?: of)?|some) ", "", spoken)):
            yield profile("skills", what, f"User speaks {what}")
    elif m := _GOOD_AT.match(core):
        yield profile("skills", m["what"])
    elif m := _PLAY.match(core):
        yield profile("skills", m["what"], f"User plays the {m['what']}")


def _allergy(what: str) -> Finding:
    return profile("allergies", what, f"User is allergic to {what}")


def _intolerance(what: str) -> Finding:
    return profile("allergies", what, f"User is intolerant to {what}")


def _age(age: int) -> Finding:
    return profile("age", str(age), f"User is {age} years old")


def _occupation(role: str) -> Finding:
    article = "an" if role[0].lower() in "aeiou" else "a"
    return profile("occupation", role, f"User works as {article} {role}")


def _employer(company: str) -> Finding:
    name = company.rstrip(".")
    return profile("employer", name, f"User works at {name}")


def _city(city: str) -> Finding:
    return profile("city", city, f"User lives in {city}")
