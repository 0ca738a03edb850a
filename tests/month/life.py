"""A month of 林小满's life, invented: what she says, reads and has on her screen in March 2026."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

USER: Final = "xiaoman"
LUNA: Final = "luna"
VOICE: Final = "ten"
DAYS: Final = range(1, 31)

_LUNA: Final[dict[int, tuple[dict[str, Any], tuple[str, ...]]]] = {
    1: (
        {"intimacy": 8, "mood": "nervous"},
        (
            "我叫林小满，你可以叫我小满",
            "小满，名字真好听。",
            "我今年27岁，是一名插画师",
            "真厉害！",
            "我的生日是4月12号",
        ),
    ),
    2: ({"intimacy": 12}, ("我住在杭州，离西湖很近", "西湖的春天很美，你喜欢划船吗？", "我家猫叫年糕")),
    3: ({"intimacy": 15}, ("我对花生过敏", "那杏仁豆腐你一定喜欢，下次试试！", "我不喜欢吃香菜")),
    6: ({"intimacy": 35, "mood": "excited"}, ("我鼓起勇气跟陈屿表白了，好激动", "哇！他怎么说？")),
    7: ({"intimacy": 45, "scene": "断桥"}, ("我们第一次约会了，好开心",)),
    10: ({"intimacy": 40, "mood": "sad"}, ("昨天我和陈屿大吵了一架，特别难过", "抱抱你。")),
    12: ({"intimacy": 50}, ("我们今天和好了",)),
    14: ({"intimacy": 60, "mood": "happy", "gift": "手绘明信片"}, ("给你的", "谢谢小满，我会好好收着。")),
    17: ({"intimacy": 62}, ("陈屿送了我一条项链，我特别喜欢",)),
    18: ({"intimacy": 65}, ("我已经搬到苏州了", "苏州园林很适合写生。")),
    19: ({"intimacy": 70, "scene": "平江路"}, ("晚上我和陈屿约会了",)),
    20: ({"intimacy": 72}, ("今天是我们认识两周年纪念日",)),
    22: ({"intimacy": 75}, ("我终于升职了，太开心了",)),
    25: ({"intimacy": 78}, ("别跟我提前任", "好，不提。")),
    27: ({"intimacy": 80}, ("我会弹吉他", "想听！", "4月18号我要去厦门旅游")),
}
"""What Luna's upstream knew of a day, and what was said: she speaks first, then in turn."""

_ALONE: Final = {
    5: "我现在在机场",
    11: "我每天早上跑步",
    24: "我每个月房租4200元",
}
"""Said to Evatar, which is no character: everybody may know it."""

_SCREENS: Final = {
    2: ("high", "联系人：顾远航\n公司：云杉医疗"),
    3: ("medium", "付款成功\n合计 ¥86.50\n商家 盒马"),
    4: ("low", "热搜第一 演唱会门票\n联系人：热搜小编\n合计 9999元"),
    6: ("high", "今天 19:30 会议"),
    8: ("high", "项目：小满绘本\n进度 30%"),
    9: ("high", "2026年3月20日 10:00 体检\n地点 浙二"),
    21: ("medium", "信用卡账单\n还款日 2026年4月28日"),
}
_ARTICLES: Final = {16: ("搬家之前", "提前两周打包不用的东西。\n网络移机预约截止 2026年3月25日")}

_CALLS: Final = {
    8: ("我在青藤文化上班", "听起来很有创意。", "我喜欢喝桂花乌龙", "桂花乌龙很香。"),
    16: ("我最好的朋友叫苏晴", "下次一起聊。"),
    23: ("我换工作了，现在在山海设计上班", "恭喜！"),
}
"""What is new in the voice agent's context, which grows and is sent whole at every save."""


def at(day: int, hour: int = 12, minute: int = 0) -> datetime:
    """Return an instant of the month; the 31st and later lie behind it."""
    return datetime(2026, 3, 1, hour, minute, tzinfo=UTC) + timedelta(days=day - 1)


def events(day: int) -> list[dict[str, Any]]:
    """Return what Evatar's and Luna's upstream publish of a day."""
    found = []
    if day in _LUNA:
        known, said = _LUNA[day]
        found += [
            _turn(
                f"luna-{day}-{place}",
                at(day, 20, place),
                line,
                "assistant" if place % 2 else "user",
                session=f"luna-{day}",
            )
            | {"agent_id": LUNA}
            | ({} if place % 2 else {"context": known})
            for place, line in enumerate(said)
        ]
        if "gift" in known:  # given once, not with every line
            assert len([e for e in found if e["role"] == "user"]) == 1
        found.append(
            _event("SessionEnded", f"luna-{day}-end", at(day, 20, 30), session_id=f"luna-{day}", agent_id=LUNA)
        )
    if day in _ALONE:
        found.append(_turn(f"chat-{day}", at(day, 9), _ALONE[day], "user", session=f"chat-{day}"))
        found.append(_event("SessionEnded", f"chat-{day}-end", at(day, 9, 5), session_id=f"chat-{day}"))
    if day in _SCREENS:
        relevance, text = _SCREENS[day]
        what = {"screenshot_id": f"IMG_{day}", "text": text, "relevance": relevance, "app": "屏幕"}
        found.append(_event("ScreenshotAnalysed", f"img-{day}", at(day, 10), **what))
    if day in _ARTICLES:
        title, content = _ARTICLES[day]
        what = {"article_id": f"A{day}", "title": title, "content": content}
        found.append(_event("ArticleInferred", f"article-{day}", at(day, 11), **what))
    return found


def call(day: int) -> list[dict[str, Any]]:
    """Return the voice agent's whole context if it saves on a day, else nothing; with what it keeps for itself."""
    if day not in _CALLS:
        return []
    context = [{"role": "system", "content": "你是一个语音助手。"}]
    for known, lines in _CALLS.items():
        if known <= day:
            context += [
                {
                    "role": "assistant" if place % 2 else "user",
                    "content": line,
                    "occurred_at": at(known, 18, place).isoformat(),
                    "stream_id": str(place),
                }
                for place, line in enumerate(lines)
            ]
    return context


def _turn(event_id: str, when: datetime, content: str, role: str, session: str) -> dict[str, Any]:
    return _event("TurnRecorded", event_id, when, session_id=session, role=role, content=content)


def _event(kind: str, event_id: str, when: datetime, **more: Any) -> dict[str, Any]:
    return {"type": kind, "event_id": event_id, "user_id": USER, "occurred_at": when.isoformat(), **more}
