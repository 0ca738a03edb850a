"""How user and agent get on, over HTTP: feelings, what lies ahead, how it developed, and how the user talks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from contract.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SAID: dict[str, dict[str, Any]] = {
    "我送你花": {"event_type": "gift", "emotion": "happy", "emotion_intensity": 0.8, "occurred_on": "2026-01-05"},
    "我们吵架了": {"event_type": "fight", "emotion": "sad", "emotion_intensity": 0.6, "occurred_on": "2026-02-05"},
    "我的生日是三月五日": {"attribute": "birthday", "value": "1990-03-05", "kind": "semantic"},
    "三月一日开会": {"category": "schedule", "occurred_on": "2026-03-01", "kind": "semantic"},
}
FEBRUARY = "2026-02-20T00:00:00Z"


def remembered(lines: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return what the scripted model remembers of the lines."""
    return [
        {"content": text, "kind": "episodic", "memory_type": "long_term", "importance": 0.6, "sources": [number]}
        | SAID.get(text, {})
        for number, text in ((number, said.partition(" (")[0]) for number, said in lines)
    ]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    """Give a worker whose user has been through something with Luna."""
    with ScriptedModel(remembered) as model:
        async with front_door(tmp_path, extractor="model", llm_base_url=model.base_url) as opened:
            for number, text in enumerate(SAID):
                at = f"2026-0{1 + number // 2}-05T08:0{number}:00Z"
                more = {"occurred_at": at, "agent_id": "luna", "context": {"intimacy": 10 * number}}
                await opened.post("/v1/events", turn(f"r-{number}", text, session_id=f"s{number}", **more))
            await opened.post("/v1/admin/drain")
            yield opened


async def test_feelings_are_told_over_time(door: FrontDoor):
    path = "/v1/users/u1/emotions"
    told = (await door.get(path)).json()
    assert [(i["occurred_at"], i["emotion"], i["event_type"]) for i in told["items"]] == [
        ("2026-01-05T00:00:00Z", "happy", "gift"),
        ("2026-02-05T00:00:00Z", "sad", "fight"),
    ]
    assert told["by_emotion"]["sad"] == {"count": 1, "mean_intensity": 0.6}
    assert [(m["month"], m["emotions"]) for m in told["by_month"]] == [
        ("2026-01", {"happy": 1}),
        ("2026-02", {"sad": 1}),
    ]
    assert (await door.get(path, page=2, page_size=1)).json()["items"] == told["items"][1:]
    assert [i["emotion"] for i in (await door.get(path, since="2026-02-01")).json()["items"]] == ["sad"]
    assert [i["emotion"] for i in (await door.get(path, until="2026-02-01")).json()["items"]] == ["happy"]
    assert (await door.get(path, agent_id="aria")).json()["total"] == 0
    assert (await door.get(path, as_of="2025-01-01")).json()["items"] == []
    assert (await door.get(path, page_size=201)).status_code == 422


async def test_plans_and_yearly_days_lie_ahead(door: FrontDoor):
    told = (await door.get("/v1/users/u1/upcoming", as_of=FEBRUARY)).json()
    assert [(i["date"], i["kind"], i["name"], i["years"], i["content"]) for i in told["items"]] == [
        ("2026-03-01", "plan", None, None, "三月一日（2026-03-01）开会"),
        ("2026-03-05", "yearly", "birthday", 36, "用户的生日是三月五日"),
    ]
    assert (told["total"], told["as_of"]) == (2, FEBRUARY)
    nearest = (await door.get("/v1/users/u1/upcoming", as_of=FEBRUARY, limit=1)).json()
    assert (nearest["items"], nearest["total"]) == (told["items"][:1], 2)
    assert (await door.get("/v1/users/u1/upcoming", as_of=FEBRUARY, days=3)).json()["items"] == []
    assert (await door.get("/v1/users/u1/upcoming", days=367)).status_code == 422


async def test_a_report_speaks_lunas_words(door: FrontDoor):
    told = (await door.get("/v1/users/u1/report", lang="zh", agent_id="luna")).json()
    assert told["by_event_type"] == {"争吵": 1, "送礼": 1}
    assert told["intimacy"] == 30
    assert told["text"].splitlines() == [
        "2026-01：1 件事（送礼 1）；情绪 happy 1；亲密度 10",
        "2026-02：1 件事（争吵 1）；情绪 sad 1；亲密度 30",
    ]
    assert (await door.get("/v1/users/u1/report")).json()["by_event_type"] == {"fight": 1, "gift": 1}
    assert (await door.get("/v1/users/u1/report", lang="fr")).status_code == 422


async def test_how_the_user_talks_is_counted_in_the_profile_and_the_same_after_a_rebuild(door: FrontDoor):
    expected = ["多在早上说话（4 次中 4 次）", "句子简短（平均 6.0 个字）"]
    profile = (await door.get("/v1/users/u1/profile", agent_id="luna")).json()
    assert profile["usage_patterns"] == expected
    assert f"- usage_patterns: {', '.join(expected)}" in profile["text"]
    assert "usage_patterns" not in profile["sources"]
    assert (await door.get("/v1/users/u1/profile", agent_id="aria")).json()["usage_patterns"] == []
    early = await door.get("/v1/users/u1/profile", as_of="2026-01-05T08:00:30Z")
    assert early.json()["usage_patterns"][0] == "多在早上说话（1 次中 1 次）"
    told = (await door.post("/v1/context", {"user_id": "u1", "agent_id": "luna", "query": "", "intimacy": 100})).json()
    assert told["user_profile"]["usage_patterns"] == expected
    hidden = (await door.post("/v1/context", {"user_id": "u1", "agent_id": "luna", "query": "", "intimacy": 0})).json()
    assert "早上" not in str(hidden["user_profile"]) + hidden["prompt"] + hidden["block"]
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    assert (await door.get("/v1/users/u1/profile", agent_id="luna")).json() == profile


async def test_without_profiles_nothing_is_told_of_how_the_user_talks(tmp_path: Path):
    async with front_door(tmp_path, user_profile=False) as opened:
        await opened.http.post("/v1/events", json=turn("t-1", "早上好"))
        profile = (await opened.get("/v1/users/u1/profile")).json()
        assert (profile["usage_patterns"], profile["text"]) == ([], "")


async def test_what_was_felt_comes_with_what_is_recalled(tmp_path: Path):
    """An agent that recalls an event knows what was felt, how strongly, and what was said."""
    said = "男朋友送了我一条项链，我特别喜欢"
    async with front_door(tmp_path, similarity_threshold=0.3) as opened:
        await opened.post("/v1/events", turn("t-1", said, context={"intimacy": 60}))
        await opened.post("/v1/admin/drain")
        told = (await opened.post("/v1/context", {"user_id": "u1", "query": "项链"})).json()
    [episode] = told["relevant_episodes"]
    assert (episode["event_type"], episode["emotion"], episode["emotion_intensity"]) == ("gift", "happy", 0.8)
    assert (episode["key_dialogue"], episode["kind"]) == ([said], "episodic")
