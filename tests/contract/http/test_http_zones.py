"""Everybody lives in their own time: days and hours are those of who speaks, wherever the server stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import FrontDoor, front_door
from contract.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DENTIST = "I have a dentist appointment tomorrow."
LOS_ANGELES = {"timezone": "America/Los_Angeles"}
BEFORE_MIDNIGHT = {"occurred_at": "2026-03-09T23:30:00-08:00"}
AFTER_MIDNIGHT = {"occurred_at": "2026-03-10T00:30:00+09:00"}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as opened:
        yield opened


async def say(door: FrontDoor, *messages: dict[str, Any], user_id: str = "u1") -> list[dict[str, Any]]:
    """Return what is remembered of a user who has said this."""
    said = [{"role": "user"} | message for message in messages]
    response = await door.http.post(
        "/v1/conversations?wait=30", json={"user_id": user_id, "session_id": "s1", "messages": said}
    )
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = (await door.get("/v1/memories", user_id=user_id)).json()["items"]
    return found


SAID: list[tuple[dict[str, Any], str]] = [
    ({"content": DENTIST} | BEFORE_MIDNIGHT, "2026-03-10"),
    ({"content": DENTIST} | AFTER_MIDNIGHT, "2026-03-11"),
    ({"content": "我明天要去看牙医。"} | BEFORE_MIDNIGHT, "2026-03-10"),
    ({"content": "我明天要去看牙医。"} | AFTER_MIDNIGHT, "2026-03-11"),
    ({"content": "我昨天去看了牙医。"} | BEFORE_MIDNIGHT, "2026-03-08"),
    ({"content": DENTIST, "occurred_at": "2026-03-10T07:30:00Z"}, "2026-03-11"),
    # In summer time, since 2026-03-08, it is half past midnight of the 10th; before, half past eleven of the 7th.
    ({"content": DENTIST, "occurred_at": "2026-03-10T07:30:00Z", "metadata": LOS_ANGELES}, "2026-03-11"),
    ({"content": DENTIST, "occurred_at": "2026-03-08T07:30:00Z", "metadata": LOS_ANGELES}, "2026-03-08"),
    ({"content": DENTIST, "metadata": {"timezone": "-08:00"}} | AFTER_MIDNIGHT, "2026-03-10"),
]


async def test_tomorrow_is_that_of_who_says_it(door: FrontDoor):
    for number, (said, day) in enumerate(SAID):
        (memory,) = await say(door, said, user_id=f"u{number}")
        assert memory["occurred_at"] == f"{day}T00:00:00Z", said
        assert day in memory["content"]
        assert memory["metadata"] == {}, "where it was said is no part of what is remembered"


async def test_without_an_offset_the_setting_counts_and_the_offset_z_is_one(tmp_path: Path):
    async with front_door(tmp_path, timezone="Asia/Shanghai") as door:
        (memory,) = await say(door, {"content": DENTIST, "occurred_at": "2026-03-09T20:00:00-00:00"})
        assert memory["occurred_at"] == "2026-03-11T00:00:00Z"
        (memory,) = await say(door, {"content": DENTIST, "occurred_at": "2026-03-09T20:00:00Z"}, user_id="u2")
        assert memory["occurred_at"] == "2026-03-10T00:00:00Z"


async def test_a_turn_shows_the_offset_that_it_came_with_and_its_instant_in_utc(door: FrontDoor):
    await say(door, {"content": DENTIST} | BEFORE_MIDNIGHT, {"content": "Hi", "occurred_at": "2026-03-10T07:31:00Z"})
    turns = (await door.get("/v1/sessions/s1/turns", user_id="u1")).json()["items"]
    assert [(t["occurred_at"], t["metadata"]) for t in turns] == [
        ("2026-03-10T07:30:00Z", {"timezone": "-08:00"}),
        ("2026-03-10T07:31:00Z", {}),
    ]


async def test_a_model_is_shown_each_line_by_its_own_clock(tmp_path: Path):
    def remembered(lines: list[tuple[int, str]]) -> list[dict[str, Any]]:
        return [{"content": text, "memory_type": "long_term", "sources": [number]} for number, text in lines]

    with ScriptedModel(remembered) as model:
        async with front_door(tmp_path, extractor="model", llm_base_url=model.base_url) as door:
            (memory,) = await say(door, {"content": DENTIST} | BEFORE_MIDNIGHT)
        lines = orjson.dumps(model.requests).decode()
        assert "[1] 2026-03-09 23:30-08:00 user: I have a dentist appointment tomorrow." in lines
        assert memory["content"] == "The user has a dentist appointment tomorrow (2026-03-10)."
        assert memory["occurred_at"] == "2026-03-10T00:00:00Z"


async def test_messages_of_mem0_have_the_offset_of_their_time(door: FrontDoor):
    said = {
        "messages": [{"role": "user", "content": DENTIST}],
        "user_id": "u1",
        "timestamp": AFTER_MIDNIGHT["occurred_at"],
    }
    await door.post("/v1/memories/", said)
    await door.post("/v1/admin/drain")
    (memory,) = (await door.get("/v1/memories", user_id="u1")).json()["items"]
    assert memory["occurred_at"] == "2026-03-11T00:00:00Z"


async def test_yesterday_is_that_of_where_the_user_was_last(door: FrontDoor):
    await say(door, {"content": "I bought a red bicycle.", "occurred_at": "2026-03-09T23:30:00-08:00"})
    await say(door, {"content": "I bought a blue bicycle.", "occurred_at": "2026-03-08T23:30:00-08:00"})
    asked = {"user_id": "u1", "query": "Which bicycle did I buy yesterday?", "as_of": "2026-03-10T20:00:00Z"}
    found = (await door.post("/v1/search", asked)).json()["results"]
    assert "red" in found[0]["content"]
    moved = {"content": "Good evening!", "occurred_at": "2026-03-12T20:00:00+09:00"}
    await say(door, moved)
    found = (await door.post("/v1/search", asked | {"as_of": "2026-03-10T14:59:00Z"})).json()["results"]
    assert "blue" in found[0]["content"]


async def test_what_is_planned_for_today_lies_ahead_until_the_day_is_over_where_the_user_is(door: FrontDoor):
    await say(door, {"content": DENTIST} | BEFORE_MIDNIGHT)
    for at, dates in (("2026-03-11T07:59:00Z", ["2026-03-10"]), ("2026-03-11T08:00:00Z", [])):
        ahead = (await door.get("/v1/users/u1/upcoming", as_of=at)).json()["items"]
        assert [one["date"] for one in ahead] == dates


async def test_habits_are_counted_by_the_users_clock(door: FrontDoor):
    await say(door, {"content": "I like tea."} | BEFORE_MIDNIGHT)
    profile = (await door.get("/v1/users/u1/profile")).json()
    assert profile["usage_patterns"][0] == "talks mostly in the evening (1 of 1 turns)"


PLANS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"content": "I have a dentist appointment tomorrow at 3pm."} | BEFORE_MIDNIGHT,
        "2026-03-10",
        "2026-03-10T23:00:00Z",
    ),
    ({"content": "我明天下午三点要去看牙医。"} | AFTER_MIDNIGHT, "2026-03-11", "2026-03-11T06:00:00Z"),
    # Summer time begins in the night between.
    (
        {
            "content": "I have a dentist appointment tomorrow at 15:00.",
            "occurred_at": "2026-03-07T20:00:00Z",
            "metadata": LOS_ANGELES,
        },
        "2026-03-08",
        "2026-03-08T22:00:00Z",
    ),
    # A plan at midnight in UTC is no day without an hour.
    (
        {"content": "我明天早上八点要去看牙医。", "occurred_at": "2026-03-10T20:00:00+08:00"},
        "2026-03-11",
        "2026-03-11T00:00:00.000001Z",
    ),
]


async def test_a_plan_keeps_its_hour_and_the_text_its_day(door: FrontDoor):
    for number, (said, day, at) in enumerate(PLANS):
        (memory,) = await say(door, said, user_id=f"u{number}")
        assert memory["occurred_at"] == at, said
        assert day in memory["content"]
        ahead = (await door.get(f"/v1/users/u{number}/upcoming", as_of=at)).json()["items"]
        assert [(one["date"], one["at"]) for one in ahead] == [(day, at)]
    rebuilt = (await door.post("/v1/admin/rebuild")).json()
    assert rebuilt["equal"]
