"""What a text that was changed by hand makes of the slot that its memory fills.

Nobody said which value the new text holds, so it is read: by the rules, or where the old value stood. A value that is
not found there any more is none: the profile must not go on showing what the text does not say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.slot_values import fault_of
from schemas.attributes import same_value
from streams.rules.chinese import read_chinese
from streams.rules.english import read_english
from streams.rules.sentences import sentences

if TYPE_CHECKING:
    from datetime import date

    from projections.memory import Memory

NO_VALUE: Final = ""
"""The value of a memory that fills its slot no more."""
LONGEST_VALUE: Final = 64
_USERS: Final = re.compile(r"^(?:the )?user's\b", re.IGNORECASE)
_USER_DOES: Final = re.compile(r"^(?:(?:the )?user )(?P<verb>[a-z']+)(?P<more> not\b)?", re.IGNORECASE)
_DOES: Final = re.compile(
    r"^(?P<verb>is|has|doesn't|does|lives|likes|loves|hates|works|speaks|prefers|enjoys)\b(?P<more> not\b)?",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = {"is": "am", "has": "have", "does": "do", "doesn't": "don't", "isn't": "am not"}
_NEGATION: Final = re.compile(r"[不没無无未非别]|n't\b|\b(?:not?|never|without|former(?:ly)?|used to)\b", re.IGNORECASE)
_CUT: Final = re.compile(r"[，。；！？,;!?\n]")
_STOPS: Final = " .。"


def value_of(memory: Memory, text: str, today: date) -> str | None:
    """Return the value that a memory's slot has with a new text, None where it stays, NO_VALUE where there is none."""
    if memory.slot is None or memory.value is None:
        return None
    old = memory.value
    found = _read(text, today)
    values = [value for attribute, value in found if attribute == memory.slot]
    if any(same_value(value, old) for value in values):
        return None
    if not values and not found and _NEGATION.findall(memory.content) == _NEGATION.findall(text):
        if _stands_in(old, text):
            return None
        values = _in_its_place(memory.content, old, text)
    return next((value for value in values if fault_of(memory.slot, value) is None), NO_VALUE)


def _read(text: str, today: date) -> list[tuple[str, str]]:
    """Return the attributes with values that the rules find in a text about the user, or by the user."""
    found = (
        each
        for sentence in sentences(_as_said(text.strip()))
        for each in (read_chinese if sentence.language == "zh" else read_english)(sentence, today)
    )
    return [(each.attribute, each.value) for each in found if each.attribute and each.value]


def _as_said(text: str) -> str:
    """Return a text about the user as the user would say it: the rules read nothing else."""
    if text.startswith("用户"):
        return "我" + text.removeprefix("用户")
    text = _USERS.sub("My", text)
    if m := _USER_DOES.match(text) or _DOES.match(text):
        verb = m["verb"].lower()
        return f"I {_FIRST_PERSON.get(verb) or _infinitive(verb)}{m['more'] or ''}{text[m.end() :]}"
    return text


def _infinitive(verb: str) -> str:
    if verb.endswith("ies"):
        return f"{verb.removesuffix('ies')}y"
    if verb.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return verb.removesuffix("es")
    return verb.removesuffix("s")


def _stands_in(value: str, text: str) -> bool:
    begin, end = (r"(?<!\w)" if value[:1].isascii() else ""), (r"(?!\w)" if value[-1:].isascii() else "")
    return re.search(f"{begin}{re.escape(value)}{end}", text, re.IGNORECASE) is not None


def _in_its_place(before: str, value: str, text: str) -> list[str]:
    """Return what stands where the old value stood, when all around it is as it was."""
    begin, found, end = before.partition(value)
    begin, end, text = begin.lstrip(), end.rstrip(_STOPS), text.strip().rstrip(_STOPS)
    if not found or value in end or not (text.startswith(begin) and text.endswith(end)):
        return []
    new = text[len(begin) : len(text) - len(end)].strip()
    return [new] if 0 < len(new) <= LONGEST_VALUE and not _CUT.search(new) else []
