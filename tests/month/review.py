"""The end of the month: what faded and what did not, the wakes of the next day, and the same life under a new name."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from month.days import FRESH, FRIEND, NEVER_SAID, context_of, laddered, memories, remembered_of
from month.life import LUNA, USER, VOICE, at

if TYPE_CHECKING:
    from datetime import datetime

    from month.month_client import MonthClient

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Of a memory: it has 9999 in it by chance."""


async def look_back(client: MonthClient) -> None:
    """Check what is left of the month, and end it."""
    await faded(client)
    await looked_ahead(client)
    await woken(client)
    await carried_over(client)
    await retained(client)


async def faded(client: MonthClient) -> None:
    known = await memories(client)
    everything = _ID.sub("", str(known) + str(await memories(client, status="expired")))
    assert [words for words in NEVER_SAID if words in everything] == []
    assert known["用户对花生过敏"]["importance"] == laddered(0.8, 21) == 0.1
    assert known["我已经搬到苏州了"]["importance"] == laddered(0.8, 6)
    assert known["用户会弹吉他"]["importance"] == 0.5
    for content, importance in (("我鼓起勇气跟陈屿表白了，好激动", 1.0), ("我们第一次约会了，好开心 (断桥)", 0.825)):
        assert (known[content]["importance"], known[content]["recall_count"]) == (importance, 1), content
    gift = known["用户送了礼物：手绘明信片"]
    assert gift["importance"] == laddered(0.75, 10)
    happened = (await client.get(f"/v1/memories/{gift['memory_id']}/history"))["events"]
    strengths = [e["after"]["stored_strength"] for e in happened[1:] if "stored_strength" in e["after"]]
    assert strengths == [remembered_of(laddered(0.75, n), days + 4 / 24) for n, days in ((0, 0), (1, 7), (8, 14))]
    weak = (await memories(client, status="expired"))["我们今天（2026-03-12）和好了"]
    assert remembered_of(laddered(0.75, 9), 16 + 4 / 24) < 0.3
    assert weak["kind"] == "episodic"
    profile = await client.get(f"/v1/users/{USER}/profile", agent_id=VOICE)
    assert (profile["employer"], profile["allergies"]) == ("山海设计", ["花生"])
    assert "青藤文化" in str(await memories(client, status="superseded"))


async def looked_ahead(client: MonthClient) -> None:
    ahead = await client.get(f"/v1/users/{USER}/upcoming", as_of=at(31, 0).isoformat(), agent_id=LUNA)
    days = [(one["date"], one["kind"]) for one in ahead["items"]]
    assert days == [("2026-04-12", "yearly"), ("2026-04-18", "plan"), ("2026-04-28", "plan")]
    report = await client.get(f"/v1/users/{USER}/report", lang="zh", agent_id=LUNA)
    assert report["by_event_type"]["送礼"] == 2
    assert (report["by_event_type"]["纪念日"], "争吵" in report["by_event_type"]) == (1, False)
    feelings = await client.get(f"/v1/users/{USER}/emotions", agent_id=LUNA)
    assert "sad" not in feelings["by_emotion"]
    assert feelings["by_emotion"]["happy"]["count"] >= 3


async def woken(client: MonthClient) -> None:
    """Of the day after: a wake every six hours, each with other memories, and one reminder, once."""
    midnight = client.present.now.replace(hour=0, minute=0, second=0, microsecond=0)
    path = f"/v1/users/{USER}"
    wake = {"every_seconds": 21_600, "text": "看看今天有什么要做的", "memory_limit": 3, "agent_id": LUNA}
    await client.json("PUT", f"{path}/wake", wake)
    due = {"due_at": _hours(midnight, 7).isoformat(), "content": "给苏晴打电话", "channel": "dm", "agent_id": LUNA}
    await client.json("POST", f"{path}/reminders", due)
    dropped = await client.json("POST", f"{path}/reminders", due | {"content": "浇花"})
    await client.json("DELETE", f"{path}/reminders/{dropped['reminder_id']}")
    for hours in (6, 7, 7, 8, 12):
        await client.tick("wake", _hours(midnight, hours))
    heard = await client.get(f"{path}/wakes", agent_id=LUNA)
    first, reminder, second = heard["items"]
    assert [w["kind"] for w in heard["items"]] == ["periodic", "reminder", "periodic"]
    assert (reminder["content"], reminder["history"], reminder["memories"]) == ("给苏晴打电话", [], [])
    assert "给苏晴打电话" in reminder["text"]
    shown: list[set[str]] = [{m["memory_id"] for m in w["memories"]} for w in (first, second)]
    assert [len(ids) for ids in shown] == [3, 3]
    assert not shown[0] & shown[1]
    assert (await client.get(f"{path}/wakes", after=heard["next"]))["items"] == []
    assert (await client.get(f"{path}/reminders"))["total"] == 0
    assert (await client.get("/v1/sessions/system:dm:system/turns", user_id=USER))["items"] == []


def _hours(midnight: datetime, hours: float) -> datetime:
    return midnight + timedelta(hours=hours)


async def carried_over(client: MonthClient) -> None:
    """She takes everything along to a new device: what was forgotten stays so, and importing twice is once."""
    lines = await client.lines(f"/v1/users/{USER}/export")
    assert lines[-1]["type"] == "Exported"
    counts = [await client.json("POST", "/v1/import", lines, user_id=FRESH, wait=60) for _ in range(2)]
    assert counts[0]["imported"] == counts[1]["known"] > 0
    assert counts[1]["imported"] == 0
    old, new = [await memories(client, user) for user in (USER, FRESH)]
    assert set(new) == set(old)
    assert {c: m["importance"] for c, m in new.items()} == {c: m["importance"] for c, m in old.items()}
    profiles = [await client.get(f"/v1/users/{u}/profile", agent_id=LUNA) for u in (USER, FRESH)]
    names = ("user_name", "age", "city", "pet_names", "allergies", "dislikes", "skills")
    assert [profiles[0][n] for n in names] == [profiles[1][n] for n in names]
    assert "大吵" not in str(await context_of(client, "和陈屿吵架了吗", user_id=FRESH, similarity_threshold=0.0))
    assert list(await memories(client, FRIEND)) == ["我家猫叫年糕"]


async def retained(client: MonthClient) -> None:
    """After forty days the words are gone, and what was remembered of them is not."""
    path = "/v1/sessions/luna-25/turns"
    assert len((await client.get(path, user_id=USER))["items"]) == 2
    before = set(await memories(client))
    await client.tick("retention", _hours(client.present.now, 40 * 24))
    assert (await client.get(path, user_id=USER))["items"] == []
    assert set(await memories(client)) == before
    history: Any = await client.get(f"/v1/memories/{(await memories(client))['用户会弹吉他']['memory_id']}/history")
    assert history["events"][0]["type"] == "MemoryFormed"
