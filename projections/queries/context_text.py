"""The context as plain text for a model: in the user's language, without empty labels, within a number of tokens.

What does not depend on the message stands first, in half of the room: who the user is, what lies ahead, what matters
most. It is the same from turn to turn as long as nothing new is known, so that a provider's cache of prompts hits as
far as that; how the user is used to write is counted anew with every turn, and left out. What fits the message has the
rest, without what was said above. Where there is too little room, name and allergies stand before all else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from projections.text.analyser import tokens
from projections.text.measure import rough_tokens
from schemas.text import on_one_line
from schemas.vocabulary.attributes import LISTS, MAPS, SINGLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Language: TypeAlias = Literal["zh", "en"]

FIRST: Final = ("user_name", "allergies", "sensitive_topics")
"""What of the profile is never left out before anything else."""
COUNTED: Final = "usage_patterns"
"""What is counted of the user's turns."""
_DAY: Final = re.compile(r"^- \d{4}-\d{2}-\d{2}(?:T[\d:]{5}Z)?(?: \(past\)|（已过）)? ?")
"""What stands before a line that has a day: with another day the same words say nothing new."""
SAME: Final = 0.8
"""Of the words of the shorter of two lines: with so many in common the second says nothing new."""
_HEADINGS: Final[Mapping[Language, tuple[str, str, str, str, str]]] = {
    "en": ("About the user", "Coming up", "Worth knowing", "About this message", "Said before"),
    "zh": ("关于用户", "接下来", "值得记住", "与这条消息有关", "以前说过"),
}
_CHINESE_LABELS: Final = {
    "user_name": "名字",
    "age": "年龄",
    "birthday": "生日",
    "occupation": "职业",
    "employer": "工作单位",
    "city": "城市",
    "relationship_status": "感情状况",
    "language": "语言",
    "communication_style": "交流方式",
    "likes": "喜欢",
    "dislikes": "不喜欢",
    "interests": "兴趣",
    "skills": "会做的事",
    "allergies": "过敏",
    "personality_traits": "性格",
    "pet_names": "昵称",
    "family": "家人",
    "friends": "朋友",
    "accounts": "账号",
    "sensitive_topics": "不要提起",
    "usage_patterns": "使用习惯",
    "important_dates": "重要日子",
}
_ENGLISH_LABELS: Final = {"user_name": "name", "pet_names": "pet names", "sensitive_topics": "not to be mentioned"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLines:
    """What there is to say, a line each, in the order of its worth within its part."""

    profile: Mapping[str, Any] | None
    spell: Callable[[str, str], str]
    """Returns a value of the profile, by its attribute, as it is shown."""
    coming: Sequence[str]
    important: Sequence[str]
    relevant: Sequence[str]
    said: Sequence[str]

    def text(self, language: Language, max_tokens: int) -> str:
        """Return the parts that have something to say, within so many tokens; empty where nothing is known."""
        about, coming, important, relevant, said = _HEADINGS[language]
        room = _Room(max_tokens // 2)
        lasting = (
            room.filled(about, _profile_lines(self.profile, self.spell, language)),
            room.filled(coming, self.coming),
            room.filled(important, self.important),
        )
        room.add(max_tokens - max_tokens // 2)
        kept = (*lasting, room.filled(relevant, self.relevant), room.filled(said, self.said))
        sections = zip(_HEADINGS[language], kept, strict=True)
        return "\n\n".join("\n".join([f"{heading}:", *lines]) for heading, lines in sections if lines)


class _Room:
    """Tokens that are left, and what was said already."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._said: list[frozenset[str]] = []

    def add(self, tokens_more: int) -> None:
        """Take in that there is more room."""
        self._left += tokens_more

    def filled(self, heading: str, lines: Iterable[str]) -> list[str]:
        """Return the lines that there is room for, and that say something new."""
        kept: list[str] = []
        for line in lines:
            words = frozenset(tokens(_DAY.sub("- ", line)))
            cost = rough_tokens(line) + (0 if kept else rough_tokens(heading) + 1)
            if cost > self._left or any(_are_same(words, other) for other in self._said):
                continue
            self._left -= cost
            self._said.append(words)
            kept.append(line)
        return kept


def _are_same(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= SAME * max(1, min(len(words), len(others))) and len(words) <= len(others)


def _profile_lines(
    profile: Mapping[str, Any] | None, spell: Callable[[str, str], str], language: Language
) -> list[str]:
    if profile is None:
        return []
    comma, colon = ("、", "：") if language == "zh" else (", ", ": ")
    found = {name: _listed(profile[name]) for name in dict.fromkeys((*FIRST, *SINGLE, *LISTS))}
    found |= {name: [f"{label} {date}" for label, date in profile[name].items()] for name in MAPS}
    found |= {name: _listed(value) for name, value in profile["other"].items()}
    return [
        on_one_line(f"- {_label(name, language)}{colon}{comma.join(spell(name, value) for value in values)}")
        for name, values in found.items()
        if values and name != COUNTED
    ]


def _listed(value: str | Sequence[str] | None) -> Sequence[str]:
    return [value] if isinstance(value, str) else value or ()


def _label(name: str, language: Language) -> str:
    labels = _CHINESE_LABELS if language == "zh" else _ENGLISH_LABELS
    return labels.get(name, name.replace("_", " "))
