"""A finding of one rule in one sentence: the words to keep and the slot of the profile that they fill."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_past, spoken, sure_spans
from projections.dates.spans import Days
from projections.dates.wording import brackets, with_brackets
from schemas.vocabulary.attributes import NICKNAME

if TYPE_CHECKING:
    from datetime import date

    from schemas.vocabulary.words import Kind, MemoryType

ORDINARY: Final = 0.5
"""Evatar's default importance."""
IDENTITY: Final = 0.8
"""Importance of who the user is: names, work, home, birthday, family, allergies."""

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
class Finding:
    """A proposal without its sources. Long-term unless the rule says otherwise."""

    content: str
    category: str = "fact"
    memory_type: MemoryType = "long_term"
    importance: float = ORDINARY
    attribute: str | None = None
    value: str | None = None
    occurred_on: date | None = None
    since: date | None = None
    """From when what fills a slot is so, where the words say it."""
    kind: Kind = "semantic"
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: tuple[str, ...] = ()


def profile(attribute: str, value: str, content: str) -> Finding:
    """Return a finding that fills a slot of the profile, with its category (Evatar's) and importance."""
    return Finding(
        content=content,
        category=_CATEGORIES.get(attribute, "fact"),
        importance=IDENTITY if attribute in _IDENTITY else ORDINARY,
        attribute=attribute,
        value=value,
    )


def plan(content: str, day: date, today: date) -> Finding:
    """Return a plan for a day; short-term where it is today, as it is over before a short-term memory expires."""
    return Finding(
        content=content,
        category="schedule",
        memory_type="short_term" if day == today else "long_term",
        occurred_on=day,
    )


def with_day(finding: Finding, today: date) -> Finding:
    """Return a finding with its date in brackets behind "tomorrow" or 周三, which mean another day later.

    A day that was said with its year stays as it is. What fills no slot and names a day, a week or a month by its
    distance from today (昨天, "last month", 下周) is of that day, or of the first, with all of them in brackets.
    """
    day, content = finding.occurred_on, finding.content
    if day is None and finding.category == "finance":
        day = day_past(content, today)
    named = spoken(content, day, today) if day else None
    if named is None and finding.attribute is None and finding.kind == "semantic":
        far = next(iter(sure_spans(content, today)), None)
        if far and day in (None, far.first):
            ahead = far.first > today and finding.category == "fact"
            finding = replace(finding, occurred_on=far.first, category="schedule" if ahead else finding.category)
            named, day = far, far.first
    if day is None or day.isoformat() in content or (named and not named.relative):
        return finding
    return replace(
        finding, content=with_brackets(content, named) if named else f"{content}{brackets(content, Days(day, day))}"
    )


def without_parts(events: list[Finding]) -> list[Finding]:
    """Return the events of a sentence without those whose words are a part of another one's."""
    words = [" ".join(event.key_dialogue) for event in events]
    return [
        e for e, own in zip(events, words, strict=True) if not any(own in other and own != other for other in words)
    ]
