"""Plays the month: each day is published and remembered, what the agents do that day is done, and a tick ends it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from month.life import DAYS, LUNA, USER, VOICE, at, call, events

from mnemolog import AsyncClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from month.month_client import MonthClient

FRIEND, FRESH = "suqing", "xiaoman-new"
WEEKLY = (7, 14, 21, 28)
NEVER_SAID = ("热搜", "9999", "杏仁豆腐", "划船", "园林")
"""On a screen that does not matter, or only the assistant's."""


def laddered(importance: float, steps: int) -> float:
    """Return what so many of Evatar's steps leave of an importance."""
    for _ in range(steps):
        importance = min(importance, round(max(0.1, 0.9 * importance), 4))
    return importance


def remembered_of(importance: float, days: float) -> float:
    """Return how well Luna remembers an episode of an importance after so many days, never recalled."""
    grade = min(4.0, max(1.0, 4 * importance))
    return round(min(1.0, max(0.1, math.exp(-days / (grade * 30)) * (0.2 + 0.8 * grade / 4))), 4)


async def memories(client: MonthClient, user: str = USER, **query: Any) -> dict[str, Any]:
    """Return a user's memories by their content."""
    listed = await client.get("/v1/memories", user_id=user, page_size=200, **query)
    assert listed["total"] == len(listed["items"])
    return {m["content"]: m for m in listed["items"]}


async def context_of(client: MonthClient, query: str = "", agent: str | None = LUNA, **more: Any) -> Any:
    """Return the context of an agent before it speaks, without a recall."""
    body = {"user_id": USER, "agent_id": agent, "query": query, "recall": False, "memory_limit": 100} | more
    return await client.json("POST", "/v1/context", body)


async def live(client: MonthClient) -> None:
    """Live through the month, and check what she would expect on the way."""
    deeds: dict[int, Callable[[MonthClient], Awaitable[None]]] = {
        3: met,
        5: at_the_airport,
        8: looked_back,
        9: tidied,
        12: made_up,
        13: changed_her_mind,
        16: phoned,
        17: read_up,
        19: moved,
        22: passed_on,
        25: confided_in,
    }
    for day in DAYS:
        if published := events(day):
            await client.json("POST", "/v1/events", published)
        await save(client, day)
        if published or call(day):
            await client.settle()
        if day in deeds:
            await deeds[day](client)
        await client.tick("ladder", at(day + 1, 0))
        if day in WEEKLY:
            await client.tick("ebbinghaus", at(day + 1, 0))
        client.present.pass_by(5)


async def save(client: MonthClient, day: int) -> None:
    """Let the voice agent send its whole context again, as PowerMem's users do."""
    if context := call(day):
        async with AsyncClient(client.urls[day % len(client.urls)]) as memory:
            for _ in range(2):  # at the fifth round, and at the end
                await memory.add(context, user_id=USER, agent_id=VOICE)


async def met(client: MonthClient) -> None:
    profile = await client.get(f"/v1/users/{USER}/profile", agent_id=LUNA)
    known = [profile[n] for n in ("user_name", "age", "occupation", "city", "pet_names", "allergies", "dislikes")]
    assert known == ["林小满", None, None, None, [], [], []], "at an intimacy of 15 Luna is shown the name alone"
    slots = {memory["attribute"]: memory["value"] for memory in (await memories(client)).values()}
    told = {"age": "27", "occupation": "插画师", "city": "杭州", "allergies": "花生", "dislikes": "香菜"}
    assert told.items() <= slots.items()
    assert set(await memories(client)) & {"联系人：顾远航", "公司：云杉医疗", "合计 ¥86.50"}
    answer = await client.answer("GET", "/api/memories", device_id=USER, page_size=201)
    assert answer.status_code == 422


async def at_the_airport(client: MonthClient) -> None:
    now = await memories(client, as_of=at(5, 13).isoformat())
    assert now["我现在在机场"]["memory_type"] == "short_term"
    assert now["我现在在机场"]["expires_at"] == "2026-03-07T09:00:00Z"
    assert "我现在在机场" not in await memories(client, as_of=at(7, 10).isoformat())


async def looked_back(client: MonthClient) -> None:
    """Let Luna look up what matters: that does not fade."""
    gone = await memories(client, status="expired")
    over = {"我现在在机场", "今天（2026-03-06） 19:30 会议"}
    assert over <= set(gone), "the meeting too, though no tick has come since"
    airport = await client.get(f"/v1/memories/{gone['我现在在机场']['memory_id']}/history")
    assert [e["type"] for e in airport["events"]] == ["MemoryFormed", "MemoryExpired"]
    assert airport["events"][1]["tick"]
    for asked in ("跟陈屿表白", "第一次约会"):
        body = {"user_id": USER, "agent_id": LUNA, "query": asked, "limit": 1, "filters": {"kind": "episodic"}}
        [best] = (await client.json("POST", "/v1/search", body))["results"]
        assert asked in best["memory"]
    await client.settle()


async def tidied(client: MonthClient) -> None:
    """Remove a payment in Evatar's list; counts and the block follow."""
    first, second = [await client.get("/api/memories", device_id=USER, page=p, page_size=5) for p in (1, 2)]
    assert not {m["id"] for m in first["items"]} & {m["id"] for m in second["items"]}
    before = await client.get("/api/memories/stats", device_id=USER)
    assert before["total"] == first["total"]
    [payment] = (await client.get("/api/memories", device_id=USER, category="finance"))["items"]
    assert (payment["content"], payment["source_type"], payment["source_id"]) == ("合计 ¥86.50", "photo", "IMG_3")
    await client.json("DELETE", f"/api/memories/{payment['id']}")
    after = await client.get("/api/memories/stats", device_id=USER)
    assert (after["total"], after["by_category"].get("finance", 0)) == (before["total"] - 1, 0)
    block = (await context_of(client, agent=None))["block"]
    assert block.startswith("## 用户记忆")
    assert "项目：小满绘本" in block
    assert "86.50" not in block
    assert "林小满" in block


async def made_up(client: MonthClient) -> None:
    """Forget the quarrel, now that they have made up."""
    episodes = await memories(client, agent_id=LUNA, kind="episodic")
    quarrel = episodes["昨天（2026-03-09）我和陈屿大吵了一架，特别难过"]
    assert (quarrel["event_type"], quarrel["emotion"], quarrel["importance"]) == ("fight", "sad", 1.0)
    assert quarrel["occurred_at"] == "2026-03-09T00:00:00Z"
    await client.json("DELETE", f"/v1/memories/{quarrel['memory_id']}")
    seen = await context_of(client, "和陈屿吵架了吗", similarity_threshold=0.0)
    assert "大吵" not in str(seen)
    feelings = await client.get(f"/v1/users/{USER}/emotions", agent_id=LUNA)
    assert "fight" not in {f["event_type"] for f in feelings["items"]}


async def changed_her_mind(client: MonthClient) -> None:
    """Forget a dislike and bring it back; give the project another name."""
    known = await memories(client)
    coriander = f"/v1/memories/{known['用户不喜欢吃香菜']['memory_id']}"
    await client.json("DELETE", coriander)
    assert (await client.get(f"/v1/users/{USER}/profile", agent_id=LUNA))["dislikes"] == []
    assert (await client.json("POST", f"{coriander}/restore"))["status"] == "active"
    project = known["项目：小满绘本"]
    change = {"content": "项目：小满的月亮绘本", "expected_version": project["version"]}
    path = f"/v1/memories/{project['memory_id']}"
    assert (await client.json("PATCH", path, change))["content"] == "项目：小满的月亮绘本"
    assert (await client.answer("PATCH", path, change | {"importance": 0.9})).status_code == 409


async def phoned(client: MonthClient) -> None:
    """See that the voice agent knows what it was told, once, and nothing of what is Luna's."""
    async with AsyncClient(client.urls[0]) as memory:
        text = await memory.get_user_profile(user_id=USER, agent_id=VOICE)
        found = await memory.search(user_id=USER, agent_id=VOICE, query="喜欢喝什么茶", limit=1, recall=False)
        assert [one["memory"] for one in found["results"]] == ["用户喜欢喝桂花乌龙"]
        assert (await memory.greeting(USER, VOICE)) == ""  # no model
    assert "青藤文化" in text
    assert "林小满" not in text
    mine = [m for m in (await memories(client)).values() if m["agent_id"] == VOICE]
    assert sorted(m["content"] for m in mine) == ["我在青藤文化上班", "用户喜欢喝桂花乌龙", "用户最好的朋友叫苏晴"]
    assert {m["access_count"] for m in mine} == {0}, "a context that is sent again says nothing again"


async def read_up(client: MonthClient) -> None:
    """See that an article's date is known to every agent, and cites the article."""
    article = (await memories(client, source_type="inferred"))["网络移机预约截止 2026年3月25日"]
    assert (article["category"], article["source_ref"], article["agent_id"]) == ("schedule", "A16", None)
    seen = await context_of(client, "网络移机什么时候截止", agent=VOICE)
    assert "网络移机预约截止 2026年3月25日" in seen["message"]
    assert "网络移机什么时候截止" in seen["message"]
    assert "林小满" not in seen["block"], "what is told to Luna is Luna's"


async def moved(client: MonthClient) -> None:
    """See that the new city supersedes the old one, and gifts and dates are told as they were."""
    assert (await client.get(f"/v1/users/{USER}/profile", agent_id=LUNA))["city"] == "苏州"
    old = (await memories(client, status="superseded"))["我住在杭州，离西湖很近"]
    assert old["superseded_by"] == (await memories(client))["我已经搬到苏州了"]["memory_id"]
    happened = await memories(client, kind="episodic")
    gift = happened["用户送了礼物：手绘明信片"]
    assert (gift["event_type"], gift["emotion"], gift["key_dialogue"]) == ("gift", "happy", ["给你的"])
    necklace = happened["陈屿送了我一条项链，我特别喜欢"]
    assert (necklace["event_type"], necklace["emotion_intensity"], necklace["importance"]) == ("gift", 0.8, 0.85)
    assert happened["晚上我和陈屿约会了 (平江路)"]["event_type"] == "date"
    assert {m["event_type"] for c, m in happened.items() if "第一次约会" in c} == {"milestone"}


async def passed_on(client: MonthClient) -> None:
    """Pass what Luna knows on to another character, to a friend, and to everyone."""
    known = await memories(client)
    peanuts, cat = known["用户对花生过敏"]["memory_id"], known["我家猫叫年糕"]["memory_id"]
    inherited = await client.json("POST", f"/v1/memories/{peanuts}/share", {"agent_id": VOICE})
    assert inherited["shared_with"] == [VOICE]
    copy = await client.json("POST", f"/v1/memories/{cat}/share", {"user_id": FRIEND})
    assert copy["metadata"]["shared_from"] == {"user_id": USER, "memory_id": cat}
    office = {"user_id": USER, "content": "山海设计的前台六点下班", "scope": "global"}
    assert (await client.json("POST", "/v1/tools/memory_add", office))["scope"] == "global"
    key = {"user_id": USER, "content": "备用钥匙放在花盆下面", "type": "fact", "session_id": "s-22"}
    assert (await client.json("POST", "/v1/tools/memory_add", key))["session_id"] == "s-22"
    asked = {"user_id": FRIEND, "query": "前台几点下班", "scope": "global", "limit": 1}
    [shared] = (await client.json("POST", "/v1/tools/memory_search", asked))["results"]
    assert shared["memory"] == "山海设计的前台六点下班"
    asked = {"user_id": USER, "query": "备用钥匙在哪里", "scope": "personal", "limit": 1}
    [mine] = (await client.json("POST", "/v1/tools/memory_search", asked))["results"]
    await client.settle()
    counted = await client.get(f"/v1/memories/{mine['memory_id']}")
    assert (counted["content"], counted["recall_count"]) == ("备用钥匙放在花盆下面", 1)


async def confided_in(client: MonthClient) -> None:
    """See that what intimacy hides is nowhere in the answer, and that who does not pay is shown less."""
    close = await context_of(client, "能聊聊前任吗", intimacy=90)
    assert "前任" in str(close["user_profile"])
    friend = await context_of(client, "吃什么", intimacy=30)
    assert "前任" not in str(friend)
    assert friend["user_profile"]["allergies"] == ["花生"]
    stranger = await context_of(client, "吃什么", intimacy=5)
    assert stranger["user_profile"]["user_name"] == "林小满"
    assert "花生" not in str(stranger)
    free = await context_of(client, "约会", tier="free")
    assert (free["relevant_episodes"], len(free["recent_episodes"])) == ([], 3)
    assert "姓名: 林小满" in free["prompt"]
    assert "插画师" not in free["prompt"]
    turns = await client.get("/v1/sessions/luna-25/turns", user_id=USER)
    assert [t["content"] for t in turns["items"]] == ["别跟我提前任", "好，不提。"]
