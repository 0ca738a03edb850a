"""English statements about character: traits, mother tongue, accounts, and topics to avoid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause
    from streams.extraction.rules.finding import Finding

_TOGETHER = re.compile(r"^(?:am|have been) in a (?:\w+ )?relationship\b")
_NEW_LOVE = re.compile(
    r"^(?:(?:am|have been|have (?:just |recently )?started|started|began) (?:dating|seeing) "
    r"(?:(?P<name>(?-i:[A-Z])[a-z]{1,14})|someone(?: new)?|somebody(?: new)?|a new (?:guy|girl|man|woman)"
    r"|a (?:guy|girl|man|woman)"
    r" (?:called|named) (?P<also>(?-i:[A-Z])[a-z]{1,14}))"
    r"|(?:have|have got|got|found|met) a new (?:boyfriend|girlfriend|partner)\b"
    r"(?: (?:called|named) (?P<who>(?-i:[A-Z])[a-z]{1,14}))?)"
    r"(?: (?:now|again|recently|for (?:\w+ ){1,3}(?:weeks?|months?|years?)|since \w+))?$",
    re.IGNORECASE,
)
"""Whom the user is together with now: I'm dating Daniel."""
_DOCTOR = re.compile(r"^(?:am|have been|(?:have )?(?:just |recently )?started|began) seeing (?-i:[A-Z])", re.IGNORECASE)
"""I'm seeing Daniel may be tomorrow, for dinner."""
_HIS_NAME = re.compile(
    r"^(?:(?:his|her|their) name(?: is|'s)|(?:he|she)(?: is|'s) called|called|named) (?P<name>(?-i:[A-Z])[a-z]{1,14})$"
    r"|^(?P<alone>(?-i:[A-Z])[a-z]{1,14})$",
    re.IGNORECASE,
)
_TRAIT = re.compile(
    r"^am (?:an? )?(?:(?:very|quite|really|pretty|rather|fairly|bit of an?|bit of|bit|little|lot|super"
    r"|kind of|naturally|incredibly|terribly|generally|hopeless|huge|massive|complete|lifelong|total"
    r"|natural|such|big|an?) )*(?P<trait>"
    r"introvert|extrovert|introverted|extroverted|shy|optimistic|pessimistic|perfectionist|stubborn|easygoing"
    r"|sensitive|outgoing|people person|optimist|pessimist|workaholic|extravert|ambivert|loner|homebody"
    r"|night owl|early bird|morning person"
    r"|control freak|neat freak|clean freak|procrastinator|overthinker|worrier|chatterbox|daydreamer"
    r"|empath|bookworm|hothead"
    r"|reserved|introspective|impatient|patient|clumsy|forgetful|competitive|ambitious|laid[- ]back"
    r"|easy[- ]going|talkative|indecisive"
    r"|sarcastic|impulsive|spontaneous|punctual|disorgani[sz]ed|organi[sz]ed|soft-spoken|hot-headed"
    r"|short-tempered|socially awkward|type a"
    r"|[ie][ns][tf][jp](?:-[at])?|(?:quiet|anxious|lazy|messy|tidy|honest|calm|private|curious|creative"
    r"|loyal|blunt|generous|emotional|cautious)(?= person| by nature| type))"
    r"(?: person| by nature| type)?(?: (?:around|with|when|in|at|about|and|but|until|by|to a fault)\b.*)?$",
    re.IGNORECASE,
)
_BIT_OF = re.compile(
    r"^am (?:such |quite )?(?:a (?:little )?bit of|something of|kind of) an? (?P<trait>(?!mess\b|pain\b"
    r"|problem\b|joke\b|beginner\b|fan\b|way\b|while\b)"
    r"[a-z][\w -]{2,20}?)(?: (?:when|about|with|and|but)\b.*)?$",
    re.IGNORECASE,
)
"""What a word that no list holds is all the same: a bit of a hoarder."""
_TYPE = re.compile(r"[ie][ns][tf][jp]\b", re.IGNORECASE)
"""Myers and Briggs' four letters."""
_TONGUE = re.compile(
    r"^my (?:(?:native|first) (?:language|tongue)|mother tongue) is (?P<language>(?-i:[A-Z])\w+)$", re.IGNORECASE
)
_PLACES: Final = (
    r"(?:twitter|instagram|insta|ig|telegram|discord|e-?mail|github|gitlab|wechat|whatsapp|signal|linkedin"
    r"|tiktok|snapchat|snap|reddit|facebook"
    r"|youtube|twitch|spotify|steam|psn|xbox|bluesky|mastodon|skype|slack|gamertag|gamer tag|username"
    r"|handle|phone|phone number|cell|mobile|number)"
)
_NO_SITE = re.compile(r"phone|cell|mobile|number|handle|username|slack|signal", re.IGNORECASE)
"""What may be dead or taken: my phone is dead."""
_NEW_ACCOUNT = re.compile(
    rf"^(?:my )?(?:(?P<new>new )|(?:work |personal |main ))?(?P<where>{_PLACES})(?: (?:handle|account|address|username"
    rf"|name|id|number))?$",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"^(?:have )?(?:just |finally |recently )?(?:(?:got|gotten) a new|(?:changed|switched) my)"
    r" (?P<where>phone|cell|mobile|number|e-?mail)(?: (?:number|address|account))?"
    r"(?P<to> to (?P<account>[\w@.+-]{3,40}))?$",
    re.IGNORECASE,
)
_NEW_ONE = re.compile(
    r"^(?:(?:it(?: is|'s)|(?:the|my) new (?:one|number|email|address) is|new one|the number is)(?: now)? )?"
    r"(?P<account>[\w@.+-]{3,40}|\+?\d(?:[ -]?\d){6,14})$",
    re.IGNORECASE,
)
_IS_TELEPHONE: Final = re.compile(r"\+?\d(?:[ -]?\d){6,14}")
_TELEPHONE: Final = re.compile(r"phone|cell|mobile|number|whatsapp|signal", re.IGNORECASE)
"""Where a number with spaces is."""
_ONLY_NUMBER: Final = re.compile(r"phone|cell|mobile|number", re.IGNORECASE)
"""And nothing else is."""
_IS_ACCOUNT = re.compile(r"[\w.+-]{1,30}@[\w.-]{3,40}|@?(?=\w{0,30}[\d_])[\w.-]{4,30}|@[\w.-]{3,30}")
_FOUND = re.compile(
    rf"^(?:(?:you can )?find me (?:on|at) |am on )(?P<where>{_PLACES}) (?:as|at|under) (?P<account>@?[\w.-]{{3,40}})$"
    rf"|^am (?P<named>@?[\w.-]{{3,40}}) on (?P<there>{_PLACES})$",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    rf"^(?P<my>my |our )?(?:(?:(?P<new>new|current)|work|personal|main) )?(?:(?:handle|account|username|user|name"
    rf"|id) on )?(?P<where>{_PLACES})"
    r"(?P<kind> (?:handle|account|address|username|user|name|id|number|tag))?(?:(?: is"
    r"|'s)?(?P<now> now)?|(?P<to> (?:has )?changed to)) (?P<account>[\w@.+-]{3,40}|\+?\d(?:[ -]?\d){6,14})$",
    re.IGNORECASE,
)
_AT_HOME = re.compile(
    r"^[Mm]y (?P<new>new |current )?(?P<what>(?:postal |mailing |delivery |shipping |home )?address)"
    r"(?: is(?P<now> now)?|(?P<to> (?:has )?changed to)) "
    r"(?P<at>(?:[Ff]lat \w{1,4} )?\d{1,5}[A-Za-z]? (?:[A-Z][\w'.-]* ){1,4}"
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Way|Close|Court|Ct|Place|Pl|Square|Terrace|Crescent"
    r"|Boulevard|Blvd|Gardens|Park|Hill|Row|Grove|Mews))$"
)
_TOWN = re.compile(r"[A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2}|[A-Z]{1,2}\d[\dA-Z]?(?: \d[A-Z]{2})?|[A-Z]{2} \d{5}")
_AVOIDED = re.compile(
    r"^(?:please |i )?(?:(?:do not|don't|never) (?:ever )?"
    r"(?:mention|bring up|talk (?:to me )?about|ask (?:me )?about)"
    r"|(?:do not|don't) (?:want to|wanna) (?:talk about|discuss)|(?:would|i'd"
    r"|'d)? ?rather not (?:talk about|discuss))"
    r"(?: the topic of)? (?!(?:it|this|that|them|him|her|me|what|how)\b)(?P<what>[\w' -]{2,40}?)"
    r"(?: (?:again|any ?more|ever|with me|please|ok(?:ay)?))*$",
    re.IGNORECASE,
)


_REPLIES = re.compile(
    r"^(?:like|prefer|want|would like|would prefer) (?:your |my |to get |to have "
    r"|getting )?(?P<style>(?:(?:very|more|really|quite) )?"
    r"(?:short|brief|concise|detailed|long|longer|shorter|direct|simple|honest|formal|casual|informal"
    r"|friendly|blunt|thorough"
    r"|humorous|gentle|polite|straightforward|step-by-step|to-the-point)(?:(?:,| and| but) [a-z-]+)?)"
    r" (?:answers?|repl(?:y|ies)|responses?|explanations?|messages?)\b",
    re.IGNORECASE,
)


def is_of_replies(core: str) -> bool:
    """Return whether a clause says how the user likes to be answered."""
    return _REPLIES.match(core) is not None


def nature(clause: Clause) -> Iterator[Finding]:
    """Yield traits, whether there is a partner, mother tongue and accounts."""
    mine = clause.subject == "me" and not clause.past
    if mine and (m := _REPLIES.match(clause.core)):
        yield profile("communication_style", m["style"].lower(), f"User prefers {m['style'].lower()} replies")
    if mine and _TOGETHER.match(clause.core):
        yield profile("relationship_status", "in a relationship", "User is in a relationship")
    yield from _new_love(clause) if mine else ()
    if mine and (m := _TRAIT.match(clause.core) or _BIT_OF.match(clause.core)):
        yield _trait(m["trait"])
    if m := _TONGUE.match(clause.text):
        yield profile("language", m["language"], f"User's native language is {m['language']}")
    yield from _accounts(clause)


def _new_love(clause: Clause) -> Iterator[Finding]:
    """Yield that there is a partner, and the partner's name where it is said."""
    m = None if _DOCTOR.match(clause.core) else _NEW_LOVE.match(clause.core)
    if m is None:
        return
    yield profile("relationship_status", "in a relationship", "User is in a relationship")
    kind = next((who for who in ("boyfriend", "girlfriend") if who in clause.core), "partner")
    named = _HIS_NAME.match(clause.rest[0]) if clause.rest else None
    name = m["name"] or m["also"] or (named and (named["name"] or named["alone"]))
    if name and not m["who"]:  # "a new boyfriend called Ben" is read as any relative is
        yield profile("family", f"{kind} {name}", f"User's {kind} is called {name}")


def _accounts(clause: Clause) -> Iterator[Finding]:
    """Yield an account that is named, behind `is` or a colon: `new email: …`, `find me on GitHub as …`."""
    if (m := _ACCOUNT.match(clause.text)) and (
        (m["my"] and not _NO_SITE.match(m["where"])) or _is_account(m["where"], m["account"])
    ):
        yield _account(m["where"], m["account"], anew=bool(m["new"] or m["now"] or m["to"]))
    elif (m := _NEW_ACCOUNT.match(clause.text)) and clause.rest and _is_account(m["where"], clause.rest[0]):
        yield _account(m["where"], clause.rest[0], anew=bool(m["new"]))
    elif m := _FOUND.match(clause.core):
        yield _account(m["where"] or m["there"], m["account"] or m["named"])
    elif clause.subject == "me" and (m := _CHANGED.match(clause.core)):
        new = m if m["to"] else _NEW_ONE.match(clause.rest[0]) if clause.rest else None
        if new and _is_account(m["where"], new["account"]):
            yield _account(m["where"], new["account"], anew=True)
    elif m := _AT_HOME.match(clause.text):
        town = f", {clause.rest[0]}" if clause.rest and _TOWN.fullmatch(clause.rest[0]) else ""
        yield _account(m["what"], f"{m['at']}{town}", anew=bool(m["new"] or m["now"] or m["to"]))


def _is_account(where: str, said: str) -> bool:
    """Return whether what is named may be an account: my phone is Pixel8 names a thing."""
    if _TELEPHONE.match(where) and _IS_TELEPHONE.fullmatch(said):
        return True
    return not _ONLY_NUMBER.match(where) and _IS_ACCOUNT.fullmatch(said) is not None


def _account(where: str, account: str, *, anew: bool = False) -> Finding:
    """Return an account; one that was given anew says so, which ends the one before it."""
    place = where.lower()
    return profile("accounts", f"{place}: {account}", f"User's {place} is {'now ' if anew else ''}{account}")


_STYLES: Final = (
    re.compile(
        r"^(?:from now on |please |always |only )*(?P<style>(?:answer|reply|respond|write) in (?-i:[A-Z])\w+)"
        r"(?: (?:from now on|please|only|always|going forward))+$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:please |just |always |can you |could you )*(?P<style>(?:keep|make) (?:your )?(?:answers|replies"
        r"|responses|messages|explanations)"
        r"(?: to me)? (?:nice and )?(?:short|brief|concise|simple|formal|casual|light|snappy|to the point"
        r"|professional|detailed|polite))\b"
        r"|^(?:please |just |always )*(?P<it>keep (?:it|things) (?:short|brief|simple|casual|formal"
        r"|concise))(?: (?:please|with me|for me|from now on|always))+$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:from now on |please |always |only )*(?P<style>(?:answer|reply|respond|talk|speak|write"
        r"|explain things)(?: back)?(?: to)? me (?:only )?"
        r"(?:in (?!the\b|a\b|my\b|this\b)[\w ]{3,20}?|like (?:(?:i am|i'm|im) (?:five|5|a beginner|an idiot)"
        r"|an? [a-z]+)))(?: (?:from now on|please|only|always|going forward))*$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:from now on |please )*(?:always|only) (?P<style>(?:use|write in|answer in|reply in"
        r"|speak) (?:(?:the )?(?:metric|imperial|celsius|fahrenheit|british|american|plain|simple|formal"
        r"|informal|lowercase|bullet|they|she|he|numbered|short|24)\b[\w/ -]{0,20}?|[A-Z][a-z]+(?:ish|ese|an"
        r"|ch)))(?: please)?$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:please |just )*(?P<style>(?:no|skip(?: the)?|stop (?:with )?the|(?:do not|don't) (?:use|give me"
        r"|send(?: me)?|be so)|cut the|avoid|drop the|less|fewer) (?:more )?"
        r"(?:emojis?|sugar[- ]?coating|fluff|jargon|small talk|exclamation (?:marks|points)|lectures?"
        r"|lecturing|bullet points|long answers|long replies|walls of text"
        r"|pep talks|waffle|waffling|disclaimers|formal|formalities|pleasantries|intros?|preambles?|apologies"
        r"|compliments|flattery|slang|buzzwords|essays))(?: (?:please|with me|ever|from now on))*$"
        r"|^(?:please |just )*(?P<judged>(?:do not|don't|stop|never) (?:lectur|patroni[sz]|baby|interrupt"
        r"|flatter|judg|preach)\w* ?(?:to |at )?me)\b"
        r"|^(?:please )?(?P<plain>(?:do not|don't) sugar-?coat (?:it|things|anything))\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:please |just |always |(?:i would|i'd) (?:rather|prefer(?: it if)?) you (?=were|be|are|was)"
        r"|i (?:like|prefer) it when you are )*"
        r"(?P<style>(?:(?:be|were|was|are) )?(?:(?:brutally|completely|totally|more|really) )?(?:blunt|honest"
        r"|direct|straight|gentle|formal|informal|casual|upfront|frank) with me)\b",
        re.IGNORECASE,
    ),
)
_SAID_TO_BE: Final = re.compile(
    r"^(?:people|friends|(?:my|all my) (?:friends|family|wife|husband|mom|mum|kids|sister|brother"
    r"|boyfriend|girlfriend|partner|coworkers|colleagues)|everyone|everybody|most people)"
    r"(?: always| often| all| usually)? (?:say|says|tell me|tells me|reckons?|thinks?) (?:that )?i(?: am"
    r"|'m) (?P<how>[\w ]{3,40})$",
    re.IGNORECASE,
)


_CALLS_SELF: Final = re.compile(
    r"^i(?: would|'d) (?:describe|call|consider) myself (?:as )?(?P<how>[\w ]{3,40})$", re.IGNORECASE
)


def replies(said: str) -> Iterator[Finding]:
    """Yield how a clause asks to be answered: a request, which `claims` leaves out."""
    for pattern in _STYLES:
        if m := pattern.match(said):
            style = re.sub(r"^(?:were|was|are) ", "be ", next(words for words in m.groups() if words))
            wanted = re.sub(r"\bi am\b", "they are", re.sub(r"\bme\b", "user", style), flags=re.IGNORECASE)
            yield profile("communication_style", style, f"User asks for replies like this: {wanted}")
            return


def reputed(said: str) -> Iterator[Finding]:
    """Yield a trait that others say of the user, who repeats it: people say I'm stubborn."""
    if (named := _SAID_TO_BE.match(said) or _CALLS_SELF.match(said)) and (m := _TRAIT.match(f"am {named['how']}")):
        yield _trait(m["trait"])


def avoided(said: str) -> Iterator[Finding]:
    """Yield what a clause asks never to be spoken of; a request, which `claims` leaves out."""
    if m := _AVOIDED.match(said):
        what = re.sub(r"(?i)^my ", "", m["what"])
        yield profile("sensitive_topics", what, f"User does not want to talk about {what}")


def _trait(said: str) -> Finding:
    trait = said.upper() if _TYPE.match(said) else said.lower()
    return profile("personality_traits", trait, f"User is {_a(trait)}")


def _a(trait: str) -> str:
    """Put an article before a noun."""
    if not re.search(r"(?:vert|ist|person|holic|loner|body|owl|bird|freak|tor|er|box|empath|worm|head)$", trait):
        return trait
    return f"{'an' if trait[0] in 'aeiou' else 'a'} {trait}"
