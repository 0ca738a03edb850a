"""How two get on: feelings in order, and the months of a relationship in Luna's words."""

from __future__ import annotations

from support.examples import happened, later, remember
from support.given import given

from projections.profile.relationship import EVENT_TYPES, feelings, feelings_summary, report

KNOWN = given(
    happened("送了花", "t-1", event_type="gift", emotion="happy", emotion_intensity=0.5),
    happened("吵了一架", "t-2", later(days=1), event_type="fight", emotion="sad", emotion_intensity=0.9),
    happened("又送了书", "t-3", later(days=40), event_type="gift", emotion="happy", emotion_intensity=0.7),
    happened("看了日落", "t-4", later(days=41), event_type="sunset"),
    remember("喜欢花", "c-1"),
)
MEMORIES = list(KNOWN.state.memories.values())
AT = later(days=60)


def test_feelings_are_those_of_memories_that_carry_one_oldest_first():
    assert [m.content for m in feelings(MEMORIES, AT)] == ["送了花", "吵了一架", "又送了书"]
    assert [m.content for m in feelings(MEMORIES, AT, "aria")] == []
    summary = feelings_summary(feelings(MEMORIES, AT))
    assert summary["by_emotion"] == {
        "happy": {"count": 2, "mean_intensity": 0.6},
        "sad": {"count": 1, "mean_intensity": 0.9},
    }
    assert summary["by_month"] == [
        {"month": "2026-01", "emotions": {"happy": 1, "sad": 1}},
        {"month": "2026-02", "emotions": {"happy": 1}},
    ]


def test_a_report_tells_month_by_month_what_happened_and_how_close_they_were():
    told = report(MEMORIES, {"2025-12": 5.0, "2026-02": 42.5}, AT)
    assert (told["episodes"], told["intimacy"]) == (4, 42.5)
    assert told["by_event_type"] == {"gift": 2, "fight": 1, "sunset": 1}
    assert told["emotions"] == {"happy": 2, "sad": 1}
    assert [(first["event_type"], first["content"]) for first in told["firsts"]] == [
        ("gift", "送了花"),
        ("fight", "吵了一架"),
        ("sunset", "看了日落"),
    ]
    assert [(month["month"], month["episodes"], month["intimacy"]) for month in told["months"]] == [
        ("2025-12", 0, 5.0),
        ("2026-01", 2, None),
        ("2026-02", 2, 42.5),
    ]
    assert told["text"].splitlines() == [
        "2025-12: 0 episodes; intimacy 5",
        "2026-01: 2 episodes (fight 1, gift 1); felt happy 1, sad 1",
        "2026-02: 2 episodes (gift 1, sunset 1); felt happy 1; intimacy 42.5",
    ]


def test_in_chinese_event_types_have_lunas_words():
    assert list(EVENT_TYPES.values()) == [
        "表白", "初吻", "争吵", "和好", "送礼", "里程碑", "约会", "纪念日", "个人分享",
    ]  # fmt: skip
    told = report(MEMORIES, {}, AT, lang="zh")
    assert told["by_event_type"] == {"送礼": 2, "sunset": 1, "争吵": 1}
    assert told["text"].splitlines()[0] == "2026-01：2 件事（争吵 1、送礼 1）；情绪 happy 1、sad 1"


def test_a_report_as_of_an_instant_knows_nothing_that_came_later():
    assert report(MEMORIES, {}, later(hours=1))["by_event_type"] == {"gift": 1}
    nothing = report([], {}, AT)
    assert (nothing["episodes"], nothing["months"], nothing["text"], nothing["since"]) == (0, [], "", None)
