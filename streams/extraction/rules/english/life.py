"""English statements about daily life: dated plans, habits, money, projects and whereabouts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_ahead, moved_to, span_ahead
from streams.extraction.rules.finding import Finding, plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.english.clauses import Clause

_EVENT: Final = (
    r"(?:appointment|meeting|interview|exam|test|flight|wedding|party|conference|deadline|trip|surgery|"
    r"concert|call|presentation|dinner|lunch|class|"
    r"game|match|race|reservation|check-?up|ceremony|recital|graduation|funeral|review|demo|date|shift|"
    r"session|event|workshop|hearing|vacation|marathon|webinar)"
)
_PLANNED = re.compile(
    r"^(?:have|have got|got) (?:an?|my|the|our|to|two|some|another)\b|^am (?:flying|going|traveling|"
    r"travelling|meeting|seeing|visiting|leaving|starting|moving|getting|"
    r"driving|having|taking|hosting|presenting|picking|attending|running|off|due)\b|^(?:will|need to|"
    r"must|have to|are|fly|leave|start|plan to|am planning to)\b",
    re.IGNORECASE,
)
_OTHERS_PLAN = re.compile(
    r"^(?:my|our|the|a|there is|there's an?)\b(?:.*?\b(?:(?:is|are|'s) (?:due|on|at|scheduled|tomorrow|"
    r"next|this|in|set|coming)\b|(?:starts?|begins?|ends?|leaves|departs|arrives|expires|takes place|"
    rf"kicks off)\b|is (?:getting|having|visiting|coming|arriving))|.*\b{_EVENT} (?:is|starts|on))",
    re.IGNORECASE,
)
_NO_PLAN = re.compile(
    r"\b(?:it|them|(?:this|that)(?! (?:week|mon|tue|wed|thu|fri|sat|sun|morning|afternoon|evening))|"
    r"troubles?|problems?|questions?|weather|rain|snow|see you|talk|not|never|cancel(?:led|ed)?|no "
    r"longer|like|love|want|hope|feel|think|remember|sure|can)\b",
    re.IGNORECASE,
)
_PAST_VERB = re.compile(r"^(?:had|went|saw|met|did|was|were|flew|left|took|got back|came|bought|ate)\b", re.IGNORECASE)
_EVERY = re.compile(
    r"\b(?:every (?:single )?(?:other )?(?:day|morning|night|evening|week|weekday|weekend|month|year|"
    r"afternoon|mon|tues|wednes|thurs|fri|satur|sun)\w*|"
    r"(?:once|twice|three times|four times|five times|\d times) (?:a|per) (?:day|week|month)|each "
    r"(?:morning|night|day|week|evening)|daily|most (?:days|mornings|nights|evenings)|on (?:mon|tues|"
    r"wednes|thurs|fri|satur|sun)days|on weekends|on weekdays)\b",
    re.IGNORECASE,
)
_USUAL = re.compile(r"\b(?:usually|always|typically|normally|generally|often)\b")
_STATE = re.compile(
    r"^(?:am|feel|think|know|want|forget|love|like|hate|wonder|believe|say|have|need|get|see|hear|find|"
    r"guess|mean|hope|tell|assume|felt|seem|wanted|knew|thought|"
    r"thought|had|was|been|will|would|can|could|do not|miss|lose|regret|dream|worry|wish|enjoy|prefer|"
    r"trust|remember|agree|end up|look|fail|cry|complain|tend|consider)\b"
)
_TENDS = re.compile(r"^(?:tend to|am in the habit of|have a habit of|make a point of) (?!forget|be\b)(?P<what>.+)$")
_MONEY: Final = (
    r"(?:[$€£¥]\s?\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:k|m|million|thousand|billion)?\b"
    r"|\b\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:k|"
    r"thousand|million)?\s?(?:dollars|euros?|pounds|bucks|usd|eur|gbp|yuan|rmb|yen|francs|rupees)\b)"
)
_SPENDS = re.compile(
    r"\b(?:paid|pay|paying|spent|spend|owe|earn|earning|make|making|saved|save|invested|invest|bought|"
    r"borrowed|lent|transferred|donated|salary|rent|mortgage|loan|bill|"
    r"income|savings|budget|tuition|debt|deposit|fee|sold|refund|bonus|cost me|have)\b",
    re.IGNORECASE,
)
_SUM = re.compile(_MONEY, re.IGNORECASE)
_OF_MONEY = re.compile(
    rf"{_MONEY}.{{0,12}}\b(?:in (?:savings|debt|stocks|crypto)|salary|rent|mortgage|loan|bonus)", re.IGNORECASE
)
_HOLDS = re.compile(
    r"^(?:own|hold|bought|have|just bought|sold|invested in|am holding|have bought) (?:(?:about|around|"
    r"some|a few|\d[\d,.]*|an?)\s)*(?:shares?|stocks?|bitcoin|ethereum|crypto|bonds?|etfs?|index funds?"
    r"|units|options)\b.{0,40}$",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"\b(?:like a|worth|joke|feel|wish|not|million reasons|want)\b", re.IGNORECASE)
_THING: Final = (
    r"(?:app|project|website|web ?site|site|system|platform|game|product|paper|thesis|dissertation|"
    r"novel|book|startup|tool|service|feature|course|documentary|"
    r"film|album|plugin|bot|dashboard|prototype|podcast|blog|compiler|engine)"
)
_PROJECT = re.compile(
    r"\b(?:working on|building|developing|designing|launching|leading|writing|creating|making|"
    r"rewriting|migrating|managing|prototyping|finishing)\s+(?:an?|our|the|my|another|some)\s+"
    r"(?:(?!new |big |cool |small |little |in |on |at |for |to )[\w-]+ |(?:new |big |cool |small "
    rf")){{0,4}}?(?P<named>{_THING})\b(?P<more>.*)",
    re.IGNORECASE,
)
_NAMELESS = re.compile(
    r"\s(?:an?|the|my|our|another|some) (?:(?:new|big|cool|small|little|fun|secret|exciting|side|"
    r"personal|group) )*project(?! (?:called|named|about|on|for|to)\b)",
    re.IGNORECASE,
)
_HERE = re.compile(
    r"^am (?:now |currently |still )?(?:(?:stuck|sitting|waiting) )?(?:at|in|on) (?:the |an? |my "
    r")?(?:train |bus )?(?P<where>airport|station|train|bus|hospital|hotel|office|gym|library|plane|"
    r"road|subway|beach|doctor's|dentist's|conference|mall|supermarket|cafe|[A-Z][\w'-]+(?: "
    r"[A-Z][\w'-]+)?)\b(?P<tail>.*)$"
)
_NOW = re.compile(
    r"\b(?:right now|now|today|tonight|at the moment|currently|this (?:week|morning|afternoon|evening|"
    r"weekend)|for (?:the|a) (?:day|week|weekend|few days))\b"
)
_THIRD: Final = {
    "have": "has",
    "am": "is",
    "do": "does",
    "go": "goes",
    "are": "is",
    "were": "was",
    "will": "will",
    "must": "must",
    "can": "can",
}


def life(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield plans, habits, money, projects and whereabouts. `today` is the day on which the clause was said."""
    if moved := moved_to(clause.text, today):
        yield plan(third_person(clause), moved.first, today)
        return
    if clause.past:
        return
    if money := list(_money(clause)):
        yield from money
        return
    if project := list(_project(clause)):
        yield from project
        return
    if here := list(_here(clause)):
        yield from here
        return
    if habit := list(_habit(clause)):
        yield from habit
        return
    yield from _plan(clause, today)


def third_person(clause: Clause) -> str:
    """Say it of the user: `I have a call` is `User has a call`. The words stay."""
    text = clause.core
    if clause.subject != "other":
        before = "no longer " if text.lower().startswith("no longer ") else ""
        verb, _, tail = text.removeprefix(before).partition(" ")
        if tail and _MANNER.fullmatch(verb):  # hardly see each other
            before, (verb, _, tail) = f"{before}{verb} ", tail.partition(" ")
        text = f"User {before}{clause.adverbs + ' ' if clause.adverbs else ''}{_verb(verb)}{' ' + tail if tail else ''}"
        if clause.when:
            text = f"{text} {_lower(clause.when)}" if _AGO.match(clause.when) else f"{clause.when} {text}"
    text = re.sub(r"(?i)\b(?:my|our)\b", "User's" if clause.subject == "other" else "their", text)
    return re.sub(r"\b(?:I|we|me|us)\b", "user", re.sub(r"\bmyself\b", "themselves", text))


_MANNER: Final = re.compile(
    r"(?!(?:ap|com|im|mis|multi|re|sup|under)p?ly$|rely$|fly$|bully$|rally$)[a-z]{3,16}ly", re.IGNORECASE
)
"""An adverb before the verb."""
_AGO: Final = re.compile(r"(?:last|yesterday|the other)\b|[^\n]{0,60}\bago$", re.IGNORECASE)
"""A time that stands behind the verb as well as before the subject."""
_GONE_FROM: Final = re.compile(
    r"^(?:\w+ )?(?:i|we) (?:have |just |recently |finally )*(?:(?:left|quit) (?-i:[A-Z])"
    r"|(?:quit|left|lost) (?:my|the) (?:old |last )?job|got (?:laid off|fired|let go)|am (?:no longer|not) (?:at|with)"
    r"|do not work|no longer work)",
    re.IGNORECASE,
)


def left_firm(clause: Clause) -> bool:
    """Return whether a firm was left just before a clause, so that `I'm at Lufthansa now` names another."""
    return any(map(_GONE_FROM.match, clause.before[-2:]))


def _lower(when: str) -> str:
    return when[0].lower() + when[1:]


def _verb(verb: str) -> str:
    low = verb.lower()
    if low in _THIRD:
        return _THIRD[low]
    if low in _PASTS or low.endswith("ed"):
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", low):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", low) else f"{verb}s"


_PASTS: Final = frozenset(
    {
        "paid",
        "spent",
        "bought",
        "sold",
        "lent",
        "made",
        "got",
        "saved",
        "went",
        "left",
        "met",
        "took",
        "began",
        "put",
        "was",
        "were",
        "had",
        "grew",
        "tore",
        "lost",
        "broke",
        "won",
        "quit",
        "came",
        "ran",
        "fell",
        "gave",
        "spoke",
        "wrote",
        "chose",
        "found",
        "taught",
        "built",
        "kept",
        "cut",
        "hurt",
        "used",
        "never",
        "no",
        "sprained",
    }
)


def _plan(clause: Clause, today: date) -> Iterator[Finding]:
    when = day_ahead(clause.text, today) or span_ahead(clause.text, today)
    if when is None or when.first < today or _NO_PLAN.search(clause.text) or _EVERY.search(clause.text):
        return
    if clause.subject == "other":
        if not _OTHERS_PLAN.search(clause.text) or re.match(
            r"(?i)(?:my|our) .*(?:birthday|bday|anniversary)\b", clause.text
        ):
            return
    elif not _PLANNED.search(clause.core) or _PAST_VERB.match(clause.core):
        return
    yield plan(third_person(clause), when.first, today)


def _habit(clause: Clause) -> Iterator[Finding]:
    if clause.subject != "me":
        return
    core = clause.core
    said = _TENDS.match(core)
    often = _EVERY.search(core) or _EVERY.search(clause.when) or _USUAL.search(clause.adverbs)
    if not said and (not often or _STATE.match(core) or re.search(r"ed\b", core.split()[0])):
        return
    if _PAST_VERB.match(core) or re.search(r"\b(?:it|that|this|them|you)\b", core):
        return
    yield Finding(content=third_person(clause), category="habit")


def _money(clause: Clause) -> Iterator[Finding]:
    if clause.subject == "other" and not re.match(r"(?i)(?:my|our)\b", clause.text):
        return
    if _NO_MONEY.search(clause.text):
        return
    if _is_about_money(clause.text) or (clause.subject != "other" and _holds(clause.core)):
        yield Finding(content=third_person(clause), category="finance")


def _holds(core: str) -> bool:
    return _HOLDS.match(core) is not None


def _project(clause: Clause) -> Iterator[Finding]:
    if clause.subject == "other" and not re.match(
        r"(?i)(?:my|our) (?:team|company|startup|group|lab|department)\b", clause.text
    ):
        return
    m = _PROJECT.search(clause.text)
    if m and not _NAMELESS.search(m.group()) and not re.search(r"\bnot\b", clause.text):
        yield Finding(content=third_person(clause), category="project")


def _here(clause: Clause) -> Iterator[Finding]:
    m = _HERE.match(clause.core)
    if (
        m
        and clause.subject == "me"
        and not left_firm(clause)
        and (_NOW.search(clause.text) or _NOW.search(clause.adverbs))
    ):
        yield Finding(content=third_person(clause), memory_type="short_term")


def _is_about_money(text: str) -> bool:
    """Return whether a sum follows a word for spending or having, wherever, or is said to be rent and the like."""
    spends = _SPENDS.search(text)  # the first one: a sum that follows another follows it too
    return bool((spends and _SUM.search(text, spends.end())) or _OF_MONEY.search(text))
