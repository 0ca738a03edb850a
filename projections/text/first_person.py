"""The rewriting of a text about the user into the first person, the only one that the rules read."""

from __future__ import annotations

import re
from typing import Final

_USERS: Final = re.compile(r"^(?:the )?user's\b", re.IGNORECASE)
_ADVERB: Final = (
    r"(?P<adverb>(?:also|always|currently|just|never|no longer|now|often|really|recently|sometimes|still|usually) )?"
)
_USER_DOES: Final = re.compile(rf"^(?:the )?user {_ADVERB}(?P<verb>[a-z']+)(?P<more> not\b)?", re.IGNORECASE)
_DOES: Final = re.compile(
    r"^(?P<adverb>)(?P<verb>is|has|doesn't|does|lives|likes|loves|hates|works|speaks|prefers|enjoys)\b"
    r"(?P<more> not\b)?",
    re.IGNORECASE,
)
_IRREGULAR: Final = {
    "is": "am",
    "has": "have",
    "does": "do",
    "doesn't": "don't",
    "isn't": "am not",
    "hasn't": "haven't",
    "was": "was",
    "says": "say",
}


def first_person(text: str, *, names_user: bool = True) -> str:
    """Return a text that begins with the user ("The user lives", "User's", 用户) in the first person; others unchanged.

    With `names_user=False`, a text that begins with the verb ("lives in Oslo") is rewritten too.
    """
    if text.startswith("用户"):
        return "我" + text.removeprefix("用户")
    text = _USERS.sub("My", text)
    found = _USER_DOES.match(text) or (None if names_user else _DOES.match(text))
    if found is None:
        return text
    adverb, verb, more = found["adverb"] or "", found["verb"].lower(), found["more"] or ""
    return f"I {adverb}{_IRREGULAR.get(verb) or _infinitive(verb)}{more}{text[found.end() :]}"


def _infinitive(verb: str) -> str:
    if verb.endswith("ies"):
        return f"{verb.removesuffix('ies')}y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return verb.removesuffix("es")
    return verb.removesuffix("s")
