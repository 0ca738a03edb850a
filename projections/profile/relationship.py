"""The relationship of a user and an agent: feelings over time, and a report by month from episodes and intimacies."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal

from projections.state.importance import DECIMALS
from projections.state.memory import ACTIVE
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from projections.state.memory import Memory

MOST_WORDS: Final = 100
"""The most event types or emotions in one answer; the most frequent are kept."""
MOST_MONTHS: Final = 120
EVENT_TYPES: Final = {
    "confession": "表白",
    "first_kiss": "初吻",
    "fight": "争吵",
    "makeup": "和好",
    "gift": "送礼",
    "milestone": "里程碑",
    "date": "约会",
    "anniversary": "纪念日",
    "personal_share": "个人分享",
}
"""Luna's Chinese words for event types; other types have none."""


@dataclass(slots=True)
class _Month:
    """What happened in a month."""

    episodes: int = 0
    types: Counter[str] = field(default_factory=Counter)
    emotions: Counter[str] = field(default_factory=Counter)


def feelings(memories: Iterable[Memory], as_of: datetime, agent_id: str | None = None) -> list[Memory]:
    """Return the memories that carry an emotion and are visible at an instant, the oldest first."""
    felt = [m for m in memories if m.emotion and m.status_at(as_of) == ACTIVE and m.visible_to(agent_id)]
    return sorted(felt, key=lambda m: (m.occurred_at, m.memory_id))


def feeling_view(memory: Memory) -> dict[str, Any]:
    """Return the JSON form of one feeling."""
    return {
        "memory_id": memory.memory_id,
        "agent_id": memory.agent_id,
        "occurred_at": instant(memory.occurred_at),
        "emotion": memory.emotion,
        "emotion_intensity": memory.emotion_intensity,
        "event_type": memory.event_type,
        "content": memory.content,
    }


def feelings_summary(felt: Sequence[Memory]) -> dict[str, Any]:
    """Return the count and mean intensity of each emotion, and its count in each month."""
    intensities: dict[str, list[float]] = defaultdict(list)
    for memory in felt:
        if memory.emotion_intensity is not None:
            intensities[memory.emotion or ""].append(memory.emotion_intensity)
    counted = Counter(m.emotion or "" for m in felt)
    months: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for memory in felt:
        months[_month(memory)][memory.emotion or ""] += 1
    return {
        "by_emotion": {
            emotion: {
                "count": count,
                "mean_intensity": round(fmean(intensities[emotion]), DECIMALS) if intensities[emotion] else None,
            }
            for emotion, count in _most(counted).items()
        },
        "by_month": [
            {"month": month, "emotions": _most(each)} for month, each in sorted(months.items())[-MOST_MONTHS:]
        ],
    }


def report(
    memories: Iterable[Memory],
    intimacies: Mapping[str, float],
    as_of: datetime,
    agent_id: str | None = None,
    lang: Literal["en", "zh"] = "en",
) -> dict[str, Any]:
    """Return the course of a relationship from its episodes; `intimacies` has the last intimacy of each month.

    In Chinese, event types have Luna's words.
    """

    def named(event_type: str | None) -> str:
        return (EVENT_TYPES.get(event_type or "") if lang == "zh" else None) or event_type or "other"

    shown = (m for m in memories if m.status_at(as_of) == ACTIVE and m.visible_to(agent_id) and m.kind == "episodic")
    episodes = sorted((m for m in shown if m.occurred_at <= as_of), key=lambda m: (m.occurred_at, m.memory_id))
    months: defaultdict[str, _Month] = defaultdict(_Month)
    firsts: dict[str, Memory] = {}
    for memory in episodes:
        month = months[_month(memory)]
        month.episodes += 1
        month.types[named(memory.event_type)] += 1
        if memory.emotion:
            month.emotions[memory.emotion] += 1
        firsts.setdefault(named(memory.event_type), memory)
    listed = [
        {
            "month": name,
            "episodes": months[name].episodes,
            "by_event_type": _most(months[name].types),
            "emotions": _most(months[name].emotions),
            "intimacy": intimacies.get(name),
        }
        for name in sorted({*months, *intimacies})[-MOST_MONTHS:]
    ]
    return {
        "since": instant(episodes[0].occurred_at) if episodes else None,
        "until": instant(episodes[-1].occurred_at) if episodes else None,
        "episodes": len(episodes),
        "by_event_type": _most(Counter(named(m.event_type) for m in episodes)),
        "emotions": _most(Counter(m.emotion for m in episodes if m.emotion)),
        "intimacy": intimacies[max(intimacies)] if intimacies else None,
        "firsts": [
            {"event_type": name} | {k: v for k, v in feeling_view(m).items() if k != "event_type"}
            for name, m in list(firsts.items())[:MOST_WORDS]
        ],
        "months": listed,
        "text": "\n".join(_line(month, lang) for month in listed),
    }


def _line(month: Mapping[str, Any], lang: Literal["en", "zh"]) -> str:
    chinese = lang == "zh"
    comma, colon = ("、", "：") if chinese else (", ", ": ")

    def counted(counts: Mapping[str, int]) -> str:
        return comma.join(f"{word} {count}" for word, count in counts.items())

    types, emotions, intimacy = counted(month["by_event_type"]), counted(month["emotions"]), month["intimacy"]
    if chinese:
        parts = [f"{month['episodes']} 件事" + (f"（{types}）" if types else "")]
        parts += [f"情绪 {emotions}"] if emotions else []
        parts += [f"亲密度 {intimacy:g}"] if intimacy is not None else []
    else:
        parts = [f"{month['episodes']} episodes" + (f" ({types})" if types else "")]
        parts += [f"felt {emotions}"] if emotions else []
        parts += [f"intimacy {intimacy:g}"] if intimacy is not None else []
    return f"{month['month']}{colon}{('；' if chinese else '; ').join(parts)}"


def _month(memory: Memory) -> str:
    return memory.occurred_at.astimezone(UTC).strftime("%Y-%m")


def _most(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_WORDS])
