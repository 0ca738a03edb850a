"""The value of a slot after its memory's text was edited by hand.

An edit of the text does not name a value, so the value is read from the text: by the rules, or at the position of the
old value. If the old text contained the value and the new one contains none, the slot becomes empty, because the
profile must not show what the text does not say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.yearly import days_named, yearly_day
from projections.profile.attribute_values import fault_of
from projections.profile.upcoming import BIRTHDAY, IMPORTANT
from projections.profile.visibility import SENSITIVE
from projections.text.first_person import first_person
from schemas.text import digest
from schemas.vocabulary.attributes import MAPS, name_and_date, same_value

if TYPE_CHECKING:
    from datetime import date

    from projections.state.memory import Memory

RULES: Final = ("streams.extraction.rules.sentence_reader", "streams.extraction.rules.sentences")
"""The modules that read a value from a text. Loading them takes half as long as all other modules of a worker, and few
edits need them. A worker therefore loads them in the background, after its start."""
NO_VALUE: Final = ""
"""The value of a memory whose slot is empty."""
LONGEST_VALUE: Final = 64
_NEGATION: Final = re.compile(r"[不没無无未非别]|n't\b|\b(?:not?|never|without|former(?:ly)?|used to)\b", re.IGNORECASE)
_CUT: Final = re.compile(r"[，。；！？,;!?\n]")
_STOPS: Final = " .。"


def value_of(memory: Memory, text: str, today: date) -> str | None:
    """Return the value of a memory's slot with a new text; None if it stays, NO_VALUE if the slot becomes empty.

    The value stays unless the new text states another one, or lacks the one that the old text contained; a value may be
    spelt differently from the text. A sensitive topic always stays, so that an edit cannot lift its protection.
    """
    slot = memory.stated
    old = memory.value
    before = memory.content
    if slot is None or old is None or slot == SENSITIVE or digest(before) == digest(text):
        return None
    attributes = _attributes(text, today) if memory.subject is None else []  # the rules read only texts about the user
    values = _of(slot, attributes)
    values_before = _of(slot, _attributes(before, today) if memory.subject is None else [])
    if any(same_value(value, old) for value in values) or (values and values == values_before):
        return None
    name, day = name_and_date(old) if slot in MAPS else ("", "")
    label, part = (f"{name}: ", day) if day else ("", old)
    if not attributes and _NEGATION.findall(before) == _NEGATION.findall(text):
        if _says(slot, part, text):
            return None
        values = [label + new for new in _in_its_place(before, part, text)]
    new = next((value for value in values if fault_of(slot, value) is None), None)
    if new is not None:
        return new
    was_said = _says(slot, part, before) or any(same_value(value, old) for value in values_before)
    return NO_VALUE if was_said else None


def _of(slot: str, attributes: list[tuple[str, str]]) -> list[str]:
    return [value for attribute, value in attributes if attribute == slot]


def _attributes(text: str, today: date) -> list[tuple[str, str]]:
    """Return the attributes and values that the rules find in a text about or by the user."""
    from streams.extraction.rules.sentence_reader import read_sentence  # noqa: PLC0415 - see `RULES`
    from streams.extraction.rules.sentences import sentences  # noqa: PLC0415

    findings = (
        f
        for sentence in sentences(first_person(text.strip(), names_user=False))
        for f in read_sentence(sentence, today)
    )
    return [(f.attribute, f.value) for f in findings if f.attribute and f.value]


def _says(slot: str, value: str, text: str) -> bool:
    """Return whether a text contains a value, word for word or as a day in any spelling."""
    begin, end = (r"(?<!\w)" if value[:1].isascii() else ""), (r"(?!\w)" if value[-1:].isascii() else "")
    if re.search(f"{begin}{re.escape(value)}{end}", text, re.IGNORECASE) is not None:
        return True
    day = yearly_day(value) if slot in (BIRTHDAY, IMPORTANT) else None
    return day is not None and any(day.may_be(other) for other in days_named(text))


def _in_its_place(before: str, value: str, text: str) -> list[str]:
    """Return the text at the position of the old value, if the text around it is unchanged; else []."""
    begin, separator, end = before.partition(value)
    begin = begin.lstrip()
    end = end.rstrip(_STOPS)
    text = text.strip().rstrip(_STOPS)
    if not separator or value in end or not (text.startswith(begin) and text.endswith(end)):
        return []
    new = text[len(begin) : len(text) - len(end)].strip()
    return [new] if 0 < len(new) <= LONGEST_VALUE and not _CUT.search(new) else []
