"""English statements about character: traits, mother tongue, accounts, and topics to avoid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause
    from streams.extraction.rules.finding import Finding

_TOGETHER = re.compile(r"^(?:am|have been) in a (?:\w+ )?relationship\b")
_TRAIT = re.compile(
    r"^am (?:an? )?(?:(?:very|quite|really|pretty|rather|fairly|bit of|total|natural|such|big|an?) )*(?P<trait>"
    r"introvert|extrovert|introverted|extroverted|shy|optimistic|pessimistic|perfectionist|stubborn|easygoing"
    r"|sensitive|outgoing|people person|optimist|pessimist|workaholic)(?: person)?$",
    re.IGNORECASE,
)
_TONGUE = re.compile(
    r"^my (?:(?:native|first) (?:language|tongue)|mother tongue) is (?P<language>(?-i:[A-Z])\w+)$", re.IGNORECASE
)
_ACCOUNT = re.compile(
    r"^my (?P<where>twitter|instagram|telegram|discord|email|github|wechat)"
    r"(?: (?:handle|account|address|username|name|id))? is (?P<account>[\w@.+-]{3,40})$",
    re.IGNORECASE,
)
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
    if mine and (m := _TRAIT.match(clause.core)):
        yield profile("personality_traits", m["trait"].lower(), f"User is {_a(m['trait'].lower())}")
    if m := _TONGUE.match(clause.text):
        yield profile("language", m["language"], f"User's native language is {m['language']}")
    if m := _ACCOUNT.match(clause.text):
        where = m["where"].lower()
        yield profile("accounts", f"{where}: {m['account']}", f"User's {where} is {m['account']}")


def avoided(said: str) -> Iterator[Finding]:
    """Yield what a clause asks never to be spoken of; a request, which `claims` leaves out."""
    if m := _AVOIDED.match(said):
        what = re.sub(r"(?i)^my ", "", m["what"])
        yield profile("sensitive_topics", what, f"User does not want to talk about {what}")


def _a(trait: str) -> str:
    """Put an article before a noun."""
    if not re.search(r"(?:vert|ist|person|holic)$", trait):
        return trait
    return f"{'an' if trait[0] in 'aeiou' else 'a'} {trait}"
