"""Habits of use: when a user talks, and how long the sentences are. They are counted from turns, never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from projections.shard.turn_statistics import Usage

_PARTS: Final = (
    (0, "at night", "凌晨"),
    (5, "in the morning", "早上"),
    (12, "in the afternoon", "下午"),
    (18, "in the evening", "晚上"),
)
"""The parts of the day: the first hour of each, and its English and Chinese names."""
_SHORT_WORDS: Final = 8
"""A sentence of fewer words is short; a Chinese character is a word."""
_LONG_WORDS: Final = 20
"""A sentence of more words is long."""


def patterns(usage: Usage) -> list[str]:
    """Return the habits as sentences, in the language of most of the turns; an empty list without turns."""
    if not usage.turns:
        return []
    by_part = [0] * len(_PARTS)
    for hour, count in usage.turns_by_hour.items():
        by_part[max(n for n, (begin, _, _) in enumerate(_PARTS) if begin <= hour)] += count
    most = max(range(len(_PARTS)), key=lambda n: by_part[n])
    _, english, chinese = _PARTS[most]
    length = usage.words / usage.sentences
    if 2 * usage.chinese_turns > usage.turns:
        size = "简短" if length < _SHORT_WORDS else "较长" if length > _LONG_WORDS else "适中"
        return [
            f"多在{chinese}说话（{usage.turns} 次中 {by_part[most]} 次）",
            f"句子{size}（平均 {length:.1f} 个字）",
        ]
    size = "short" if length < _SHORT_WORDS else "long" if length > _LONG_WORDS else "medium"
    return [
        f"talks mostly {english} ({by_part[most]} of {usage.turns} turns)",
        f"{size} sentences ({length:.1f} words on average)",
    ]
