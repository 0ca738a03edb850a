"""The context as plain text for a model: in the user's language, without empty labels, within a number of tokens.

The first half of the tokens is for the parts that do not depend on the message: the user, upcoming plans and important
memories. They stay the same from turn to turn as long as nothing new is known, so that a provider's prompt cache hits
on them. Usage patterns change with every turn and are therefore left out. The second half is for results that fit the
message and repeat nothing above. If there is too little room, the name and the allergies take precedence.
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
"""The attributes of the profile that come first, and are therefore the last to be left out."""
COUNTED: Final = "usage_patterns"
"""The attribute that is counted from the user's turns."""
_DAY: Final = re.compile(r"^- \d{4}-\d{2}-\d{2}(?:T[\d:]{5}Z)?(?: \(past\)|（已过）)? ?")
"""The beginning of a line with a day. Lines are compared without it: a different day alone adds nothing new."""
SAME: Final = 0.8
"""The share of the shorter line's words that makes two lines the same; the second line is then left out."""
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
    """The lines of a context by part, each part in descending order of value."""

    profile: Mapping[str, Any] | None
    spell: Callable[[str, str], str]
    """A function of an attribute and a value of the profile that returns the value as it is shown."""
    coming: Sequence[str]
    important: Sequence[str]
    relevant: Sequence[str]
    said: Sequence[str]

    def text(self, language: Language, max_tokens: int) -> str:
        """Return the parts that are not empty, within a number of tokens; an empty text if nothing is known."""
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
    """The remaining tokens, and the lines that are already used."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._said: list[frozenset[str]] = []

    def add(self, tokens_more: int) -> None:
        """Add to the remaining tokens."""
        self._left += tokens_more

    def filled(self, heading: str, lines: Iterable[str]) -> list[str]:
        """Return the lines that fit and that add something new, and use up their tokens."""
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
