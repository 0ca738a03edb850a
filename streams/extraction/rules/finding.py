"""What one rule found in one sentence: the words to keep and the slot that they fill."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from schemas.vocabulary.attributes import NICKNAME
from streams.extraction.rules.dates import days_ago, spoken

if TYPE_CHECKING:
    from datetime import date

    from schemas.vocabulary.words import Kind, MemoryType

ORDINARY: Final = 0.5
"""Evatar's default importance."""
IDENTITY: Final = 0.8
"""For who the user is and whom they belong to: names, work, home, birthday, family, allergies."""

_HAN: Final = re.compile(r"[一-鿿]")
_CATEGORIES: Final = {
    "user_name": "people",
    NICKNAME: "people",
    "employer": "people",
    "family": "people",
    "friends": "people",
    "pet_names": "people",
    "sensitive_topics": "preference",
    "likes": "preference",
    "dislikes": "preference",
    "interests": "interest",
    "important_dates": "schedule",
}
_IDENTITY: Final = frozenset(
    {
        "user_name",
        NICKNAME,
        "age",
        "birthday",
        "occupation",
        "employer",
        "city",
        "relationship_status",
        "family",
        "allergies",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A proposal that does not know its sources yet. Long-term unless the rule says otherwise."""

    content: str
    category: str = "fact"
    memory_type: MemoryType = "long_term"
    importance: float = ORDINARY
    attribute: str | None = None
    value: str | None = None
    occurred_on: date | None = None
    kind: Kind = "semantic"
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: tuple[str, ...] = ()


def profile(attribute: str, value: str, content: str) -> Found:
    """Fill a slot of the profile, in Evatar's category (names and companies are people) and with its importance."""
    return Found(
        content=content,
        category=_CATEGORIES.get(attribute, "fact"),
        importance=IDENTITY if attribute in _IDENTITY else ORDINARY,
        attribute=attribute,
        value=value,
    )


def plan(content: str, day: date, today: date) -> Found:
    """Keep a plan for a certain day. Long-term, unless it is over before a short-term memory would expire anyway."""
    return Found(
        content=content,
        category="schedule",
        memory_type="short_term" if day == today else "long_term",
        occurred_on=day,
    )


def dated(found: Found, today: date) -> Found:
    """Return what is found with its day in brackets behind the words that name it: they are read on other days.

    A day whose year was said is clear as it is.
    """
    day, said = found.occurred_on, found.content
    if day is None and found.category == "finance" and (paid := days_ago(said, today)):
        day = paid.day
    if day is None or day.isoformat() in said:
        return found
    where = spoken(said, day, today)
    end = where.end if where else len(said)
    if where and str(day.year) in said[where.start : end]:
        return found
    mark = f"\uff08{day}\uff09" if _HAN.search(said) else f" ({day})"
    return replace(found, content=f"{said[:end]}{mark}{said[end:]}")


def whole(events: list[Found]) -> list[Found]:
    """Return the events of a sentence without those whose words are a part of another one's."""
    words = [" ".join(event.key_dialogue) for event in events]
    return [e for e, said in zip(events, words, strict=True) if not any(said in o and said != o for o in words)]
