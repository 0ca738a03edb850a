"""A finding of one rule in one sentence: a key of the profile with its value, or something that happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN
from schemas.vocabulary.attributes import NICKNAME

if TYPE_CHECKING:
    from datetime import date

    from schemas.vocabulary.words import Kind, MemoryType

ORDINARY: Final = 0.5
"""Evatar's default importance."""
IDENTITY: Final = 0.8
"""Importance of who the user is: names, work, home, birthday, family, allergies."""
SHARED: Final = "personal_share"
"""The event type of a feeling, or of what the user confides."""

KEYS: Final = {
    "user_name": ("people", IDENTITY, "User's name is {}", "用户叫{}"),
    NICKNAME: ("people", IDENTITY, "User is called {}", "用户可以叫{}"),
    "age": ("fact", IDENTITY, "User is {} years old", "用户{}岁"),
    "birthday": ("fact", IDENTITY, "User's birthday is {}", "用户的生日是{}"),
    "occupation": ("fact", IDENTITY, "User's occupation is {}", "用户的职业是{}"),
    "employer": ("people", IDENTITY, "User works at {}", "用户在{}工作"),
    "city": ("fact", IDENTITY, "User lives in {}", "用户住在{}"),
    "relationship_status": ("fact", IDENTITY, "User is {}", "用户{}"),
    "family": ("people", IDENTITY, "User's family: {}", "用户的家人：{}"),
    "allergies": ("fact", IDENTITY, "User is allergic to {}", "用户对{}过敏"),
    "friends": ("people", ORDINARY, "User's friend is called {}", "用户的朋友叫{}"),
    "pet_names": ("people", ORDINARY, "User's pet is called {}", "用户的宠物叫{}"),
    "sensitive_topics": ("preference", ORDINARY, "User does not want to talk about {}", "用户不想谈{}"),
    "likes": ("preference", ORDINARY, "User likes {}", "用户喜欢{}"),
    "dislikes": ("preference", ORDINARY, "User doesn't like {}", "用户不喜欢{}"),
    "interests": ("interest", ORDINARY, "User is interested in {}", "用户对{}感兴趣"),
    "important_dates": ("schedule", ORDINARY, "A date of the user's: {}", "用户的重要日子：{}"),
    "skills": ("fact", ORDINARY, "User knows {}", "用户会{}"),
    "personality_traits": ("fact", ORDINARY, "User is {}", "用户的性格：{}"),
    "language": ("fact", ORDINARY, "User's native language is {}", "用户的母语是{}"),
    "accounts": ("fact", ORDINARY, "User's {}", "用户的{}"),
    "communication_style": ("fact", ORDINARY, "User prefers replies like this: {}", "用户偏好{}的回复"),
}
"""The category (Evatar's) of each key, its importance, and its sentence in English and in Chinese."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A proposal without its sources. Long-term unless the rule says otherwise."""

    content: str
    category: str = "fact"
    memory_type: MemoryType = "long_term"
    importance: float = ORDINARY
    attribute: str | None = None
    value: str | None = None
    about: str | None = None
    """Whom or what it is about, where that is not the speaker; what was said is then its content."""
    occurred_on: date | None = None
    since: date | None = None
    """The day since when the slot has its value, where the words say it."""
    kind: Kind = "semantic"
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: tuple[str, ...] = ()


def profile(
    attribute: str, value: str, content: str = "", *, told: str = "", is_chinese: bool | None = None
) -> Finding:
    """Return a finding that fills a slot. Its content is `content`, or the key's sentence with `told` or the value."""
    category, importance, *sentences = KEYS[attribute]
    in_chinese = HAN.search(value) is not None if is_chinese is None else is_chinese
    return Finding(
        content=content or sentences[in_chinese].format(told or value),
        category=category,
        importance=importance,
        attribute=attribute,
        value=value,
    )


def without_parts(events: list[Finding]) -> list[Finding]:
    """Return the events of a sentence without those whose words are a part of another event's."""
    words = [" ".join(event.key_dialogue) for event in events]
    return [
        e for e, own in zip(events, words, strict=True) if not any(own in other and own != other for other in words)
    ]
