"""The examples in a question: conversations with the expected answers, in both languages.

They are turns of the question, so that a server can cache them, and no two share their wording. In each language, the
answer to one of them is that there is nothing to remember.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Language: TypeAlias = Literal["zh", "en"]
_Entry: TypeAlias = "Mapping[str, str | list[int] | None]"

KNOWN: Final = "Known already (do not repeat):"
"""The heading of the known memories, which precede the observations."""


class Example(NamedTuple):
    """Observations as numbered lines, and the answer to them as JSON."""

    lines: str
    answer: str


def _entry(sources: list[int], content: str, category: str, attribute: str | None = None, value: str = "") -> _Entry:
    slot: _Entry = {"attribute": attribute, "value": value} if attribute else {"attribute": None}
    fixed: _Entry = {"kind": "semantic", "category": category, "memory_type": "long_term"}
    return {"sources": sources, "content": content, **fixed, **slot}


def _event(sources: list[int], content: str, category: str, event_type: str, emotion: str) -> _Entry:
    return {
        **_entry(sources, content, category),
        "kind": "episodic",
        "event_type": event_type,
        "emotion": emotion,
    }


def _example(lines: list[str], *memories: _Entry, known: str = "") -> Example:
    answer = json.dumps({"memories": memories}, ensure_ascii=False, separators=(",", ":"))
    before = f"{KNOWN}\nK1 {known}\n\n" if known else ""
    return Example(before + "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1)), answer)


EXAMPLES: Final[Mapping[Language, tuple[Example, ...]]] = {
    "en": (
        _example(
            [
                (
                    "2025-03-04 09:12 user: Hi, I'm Priya, a geography teacher at Northgate School. Lunch ideas? "
                    "I can't have eggs, I'm allergic."
                ),
                "2025-03-04 09:12 assistant: Falafel, perhaps? You could also join a cooking class.",
                "2025-03-04 09:13 user: Hm. My brother Dev arrives next Friday. Sorry, next Saturday.",
            ],
            _entry([1], "The user's name is Priya.", "people", "user_name", "Priya"),
            _entry([1], "The user is a geography teacher.", "fact", "occupation", "geography teacher"),
            _entry([1], "The user works at Northgate School.", "people", "employer", "Northgate School"),
            _entry([1], "The user is allergic to eggs.", "preference", "allergies", "eggs"),
            {**_entry([3], "The user's brother Dev arrives next Saturday.", "schedule"), "about": "my brother Dev"},
        ),
        _example(
            [
                "2025-06-18 20:40 user: Hey, how tall is Mount Elbrus? And how do you spell it?",
                "2025-06-18 20:40 assistant: It is 5,642 metres tall: E-l-b-r-u-s. Do you like mountains?",
                "2025-06-18 20:41 user: Great, thanks!",
            ],
        ),
        _example(
            [
                (
                    "2024-12-09 17:05 user: Rob brought me tulips yesterday, I was so touched! I paint every Sunday "
                    "now, and can't stand loud places."
                ),
            ],
            _event(
                [1],
                "Rob brought the user tulips yesterday, and the user was touched.",
                "people",
                "gift",
                "touched",
            ),
            {**_entry([1], "The user paints every Sunday.", "habit"), "replaces": [1]},
            _entry([1], "The user can't stand loud places.", "preference", "dislikes", "loud places"),
            known="2024-10-05 The user paints every Friday.",
        ),
    ),
    "zh": (
        _example(
            [
                "2025-03-04 09:12 user: 你好，我叫林珂，在北辰中学当地理老师。中午吃什么好？我对鸡蛋过敏。",
                "2025-03-04 09:12 assistant: 可以试试豆腐，也可以报个烹饪班。",
                "2025-03-04 09:13 user: 嗯。我弟弟下周五来看我，不对，是下周六。",
            ],
            _entry([1], "用户叫林珂。", "people", "user_name", "林珂"),
            _entry([1], "用户是地理老师。", "fact", "occupation", "地理老师"),
            _entry([1], "用户在北辰中学工作。", "people", "employer", "北辰中学"),
            _entry([1], "用户对鸡蛋过敏。", "preference", "allergies", "鸡蛋"),
            {**_entry([3], "用户的弟弟下周六来看用户。", "schedule"), "about": "我弟弟"},
        ),
        _example(
            [
                "2025-06-18 20:40 user: 嗨，黄山有多高？“峰”字怎么写？",
                "2025-06-18 20:40 assistant: 海拔1864米，“峰”是山字旁。你喜欢爬山吗？",
                "2025-06-18 20:41 user: 知道了，谢谢！",
            ],
        ),
        _example(
            ["2024-12-09 17:05 user: 阿哲昨天送了我一束郁金香，我好感动！我现在每个星期天画画，受不了吵闹的地方。"],
            _event([1], "阿哲昨天送了用户一束郁金香，用户很感动。", "people", "gift", "感动"),
            {**_entry([1], "用户每个星期天画画。", "habit"), "replaces": [1]},
            _entry([1], "用户受不了吵闹的地方。", "preference", "dislikes", "吵闹的地方"),
            known="2024-10-05 用户每个星期五画画。",
        ),
    ),
}
