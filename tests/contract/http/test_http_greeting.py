"""A greeting by a scripted model: from what is known, in time, or none."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from contract.scripted_model import ScriptedModel, completion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contract.front_door import FrontDoor

WELCOME = "张三你好！好久不见！"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def asks(model: ScriptedModel, **more: object) -> dict[str, Any]:
    """Return the settings of a worker that extracts by rules and greets with a model."""
    return {"llm_base_url": model.base_url, "llm_model": "scripted", "extractor": "rules"} | more


async def greeted(door: FrontDoor, user_id: str = "u1", **more: object) -> str:
    response = await door.post("/v1/greeting", {"user_id": user_id} | more)
    assert response.status_code == 200, response.text
    greeting: str = response.json()["greeting"]
    return greeting


async def test_a_greeting_is_asked_for_with_powermems_template_and_the_profile(model: ScriptedModel, tmp_path: Path):
    async with front_door(tmp_path, **asks(model)) as door:
        memory = await door.remember("用户叫张三", attribute="user_name", value="张三", agent_id="luna")
        await door.remember("用户住在北京", attribute="city", value="北京", agent_id="aria")
        model.play_body(completion(f"\n{WELCOME} "))
        assert await greeted(door, agent_id="luna") == WELCOME
        [request] = model.requests
        [said] = request["messages"]
        assert said["role"] == "user"
        assert said["content"].startswith("You are a friendly and helpful voice assistant. Based on the following")
        assert (
            "please respond in the most commonly used language of that region.\n\nMemory Summary:\n" in said["content"]
        )
        assert said["content"].endswith("\n- user_name: 张三\n\nGenerate a personalized greeting:")
        assert "response_format" not in request
        await door.post("/v1/admin/drain")
        assert (await door.get(f"/v1/memories/{memory['memory_id']}")).json()["recall_count"] == 0


async def test_a_greeting_draws_on_plans_that_come_and_on_what_happened_lately(model: ScriptedModel, tmp_path: Path):
    async with front_door(tmp_path, **asks(model)) as door:
        now = door.worker.clock.now()
        soon, past = now + timedelta(days=3), now - timedelta(days=200)
        for number, (text, day) in enumerate(
            (
                (f"我{soon.month}月{soon.day}号要去看牙医", now),
                ("我跟老公大吵了一架，好难过", now),
                ("我跟闺蜜大吵了一架，好难过", past),
            )
        ):
            said = turn(f"n-{number}", text, session_id=f"s-{number}", occurred_at=day.isoformat())
            response = await door.http.post("/v1/events?wait=60", json=said)
            assert response.json()["accepted"][0]["memory_ids"], response.text
        model.play_body(completion(WELCOME))
        assert await greeted(door) == WELCOME
        asked = model.requests[-1]["messages"][0]["content"]
        news = asked.partition("Plans and recent events:\n")[2].partition("\n\nGenerate")[0].splitlines()
        assert [("看牙医" in line, "老公" in line) for line in news] == [(True, False), (False, True)]


async def test_a_greeting_draws_on_what_was_said_lately_and_fills_no_slot(model: ScriptedModel, tmp_path: Path):
    """PowerMem's returning user: 「上次你说在准备爬香山，那次爬山怎么样？」, of whom no profile is known."""
    async with front_door(tmp_path, **asks(model)) as door:
        now = door.worker.clock.now()
        for number, (text, day) in enumerate((("我在学吹笛子", now - timedelta(days=200)), ("我在准备爬香山", now))):
            said = turn(f"s-{number}", text, session_id=f"s-{number}", occurred_at=day.isoformat())
            response = await door.http.post("/v1/events?wait=60", json=said)
            assert response.json()["accepted"][0]["memory_ids"], response.text
        model.play_body(completion(WELCOME))
        assert await greeted(door) == WELCOME
        asked = model.requests[-1]["messages"][0]["content"]
        assert asked.partition("Memory Summary:\n")[2].partition("\n\nGenerate")[0] == "Said lately:\n- 我在准备爬香山"


async def test_nobody_is_greeted_of_whom_nothing_is_remembered(model: ScriptedModel, tmp_path: Path):
    async with front_door(tmp_path, **asks(model)) as door:
        await door.http.post("/v1/events?wait=60", json=turn("t-1", "Hm."))
        assert await greeted(door, "u1") == ""
        assert await greeted(door, "nobody") == ""
        memory = await door.remember("is called Li", "u2", attribute="user_name", value="Li")
        await door.http.delete(f"/v1/memories/{memory['memory_id']}")
        assert await greeted(door, "u2") == ""
    assert model.requests == []


@pytest.mark.parametrize("off", ["memorize", "user_profile"])
async def test_nobody_is_greeted_where_nothing_is_to_be_remembered(model: ScriptedModel, tmp_path: Path, off: str):
    async with front_door(tmp_path, **asks(model, **{off: False})) as door:
        await door.remember("is called Li", attribute="user_name", value="Li")
        assert await greeted(door) == ""
    assert model.requests == []


async def test_without_a_model_there_is_no_greeting(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.remember("is called Li", attribute="user_name", value="Li")
        assert await greeted(door) == ""


async def test_a_model_that_fails_or_takes_too_long_gives_no_greeting(model: ScriptedModel, tmp_path: Path):
    async with front_door(tmp_path, **asks(model, greeting_timeout_seconds=3.0)) as door:
        await door.remember("is called Li", attribute="user_name", value="Li")
        for mode in ("500", "429", "empty"):
            model.play(mode, 1)
            assert await greeted(door) == "", mode
        for _ in range(2):  # once more in the plainest words
            model.play_error(400)
        assert await greeted(door) == ""
        model.play("hang")
        began = time.monotonic()
        assert await greeted(door) == ""
        assert time.monotonic() - began < 30  # a model that hangs does so for a minute
        model.play("ok")
        model.play_body(completion(WELCOME))
        assert await greeted(door) == WELCOME


async def test_a_greeting_leaves_the_form_of_extractions_alone(model: ScriptedModel, tmp_path: Path):
    async with front_door(tmp_path, **asks(model, extractor="model")) as door:
        await door.remember("is called Li", attribute="user_name", value="Li")
        model.play_body(completion(WELCOME))
        await greeted(door)
        await door.http.post("/v1/events?wait=60", json=turn("t-1", "I like tea."))
        await door.post("/v1/admin/drain")
    assert [r.get("response_format", {}).get("type") for r in model.requests] == [None, "json_schema"]
