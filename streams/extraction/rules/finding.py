"""A finding of one rule in one sentence: the words to keep and the slot of the profile that they fill."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.vocabulary.attributes import NICKNAME

if TYPE_CHECKING:
    from datetime import date

    from schemas.vocabulary.words import Kind, MemoryType

ORDINARY: Final = 0.5
"""Evatar's default importance."""
IDENTITY: Final = 0.8
"""Importance of who the user is: names, work, home, birthday, family, allergies."""

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


_SENTENCES: Final = {"skills": ("User can do {}", "用户会{}"), "occupation": ("User's work is {}", "用户的工作是{}")}
"""The sentence of a key, in English and Chinese, where a rule gives none."""


def profile(attribute: str, value: str, content: str = "") -> Finding:
    """Return a finding that fills a slot of the profile, with its category (Evatar's) and importance."""
    return Finding(
        content=content or _SENTENCES[attribute][_HAN.search(value) is not None].format(value),
        category=_CATEGORIES.get(attribute, "fact"),
        importance=IDENTITY if attribute in _IDENTITY else ORDINARY,
        attribute=attribute,
        value=value,
    )


def without_parts(events: list[Finding]) -> list[Finding]:
    """Return the events of a sentence without those whose words are a part of another one's."""
    words = [" ".join(event.key_dialogue) for event in events]
    return [
        e for e, own in zip(events, words, strict=True) if not any(own in other and own != other for other in words)
    ]
