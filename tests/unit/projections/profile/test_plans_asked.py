"""Questions for what lies ahead are told from those for what has been, in both languages."""

from __future__ import annotations

from support.tables import each

from projections.profile.upcoming import asks_for_plans


@each(
    ("question", "asks"),
    [
        ("What appointments do I have coming up?", True),
        ("What is on my schedule tomorrow?", True),
        ("Do I have any plans?", True),
        ("What am I doing next week?", True),
        ("接下来有什么安排？", True),
        ("我明天要做什么？", True),
        ("下周有哪些日程？", True),
        ("What appointments did I have last week?", False),
        ("What were my plans for Easter?", False),
        ("When was I at the dentist's?", False),
        ("上周有什么安排？", False),
        ("我妹妹是做什么的？", False),
        ("What is my rent?", False),
    ],
)
def test_it_asks_for_plans(question: str, asks: bool):  # noqa: FBT001 - a case
    assert asks_for_plans(question) is asks
