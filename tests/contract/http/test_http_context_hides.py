"""What an intimacy hides is hidden from the conversation and the greeting too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import context_of, front_door, turn
from contract.scripted_model import ScriptedModel, completion
from support.examples import nested

if TYPE_CHECKING:
    from pathlib import Path

EX = "前女友"


async def test_below_the_second_level_the_conversation_does_not_name_a_sensitive_topic(tmp_path: Path):
    said = ["今天天气很好", f"我和{EX}看过电影", "好的"]
    async with front_door(tmp_path) as door:
        await door.remember("别提她", attribute="sensitive_topics", value=EX)
        events = [turn(f"t-{n}", text, infer=False, session_id=f"about {EX}") for n, text in enumerate(said)]
        await door.http.post("/v1/events?wait=60", json=events)
        given = [{"content": text} for text in said] + [{"content": [{"type": "text", "text": f"no {EX}"}]}]
        for intimacy in (10, 49.9):
            found = await context_of(door, "u1", intimacy=intimacy, session_id=f"about {EX}")
            assert [t["content"] for t in found["working_memory"]] == ["今天天气很好", "好的"]
            found = await context_of(door, "u1", intimacy=intimacy, working_memory=given)
            assert found["working_memory"] == [given[0], given[2]]
        assert (await context_of(door, "u1", intimacy=50, working_memory=given))["working_memory"] == given
        assert len((await context_of(door, "u1", session_id=f"about {EX}"))["working_memory"]) == 3
        other = await context_of(door, "u2", intimacy=10, working_memory=given)
        assert other["working_memory"] == given, "a user without such topics"


async def test_a_sensitive_topic_whose_text_is_changed_hides_what_it_hid(tmp_path: Path):
    async with front_door(tmp_path) as door:
        topic = await door.remember(f"{EX}是敏感话题", attribute="sensitive_topics", value=EX)
        await door.remember(f"用户和{EX}看过电影")
        for change in ({"content": "千万不要提起她"}, {"content": "她是敏感话题"}):
            assert (await door.http.patch(f"/v1/memories/{topic['memory_id']}", json=change)).json()["value"] == EX
            assert (await context_of(door, "u1", "电影", intimacy=30))["memories"] == []
        await door.http.delete(f"/v1/memories/{topic['memory_id']}")
        assert len((await context_of(door, "u1", "电影", intimacy=30))["memories"]) == 1


async def test_a_sensitive_topic_of_somebody_else_is_hidden_as_the_users_own_is(tmp_path: Path):
    async with front_door(tmp_path) as door:
        topic = {"about": "my mother", "attribute": "sensitive_topics", "value": EX}
        await door.remember("妈妈不喜欢谈她", **topic)
        await door.remember(f"用户和{EX}看过电影")
        asked = {"min_relevance": 0}
        shown = [len((await context_of(door, "u1", "电影", intimacy=at, **asked))["memories"]) for at in (30, 60)]
        assert shown == [0, 2]


async def test_search_tool_and_profile_hide_what_the_last_intimacy_hides(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.remember("用户叫张三", attribute="user_name", value="张三")
        await door.remember("别提她", attribute="sensitive_topics", value=EX)
        await door.remember("用户喜欢看电影", attribute="likes", value="电影")
        await door.remember(f"用户和{EX}看过电影")

        async def shown() -> tuple[set[str], set[str], dict[str, Any]]:
            asked = {"user_id": "u1", "query": "看电影", "agent_id": "luna", "min_relevance": 0}
            found = (await door.post("/v1/search", asked)).json()["results"]
            tool = (await door.post("/v1/tools/memory_search", asked)).json()["results"]
            profile = (await door.get("/v1/users/u1/profile", agent_id="luna")).json()
            return {m["content"] for m in found}, {m["content"] for m in tool}, profile

        async def come_to(intimacy: int) -> None:
            event = turn(f"i-{intimacy}", "嗯", context={"intimacy": intimacy}, agent_id="luna")
            await door.http.post("/v1/events?wait=60", json=[event])

        found, tool, profile = await shown()
        assert f"用户和{EX}看过电影" in found == tool, "nobody said how close they are: all is shown, as in a context"
        await come_to(30)
        found, tool, profile = await shown()
        assert EX not in str((found, tool, profile))
        assert "用户喜欢看电影" in found == tool
        assert profile["likes"] != []
        await come_to(10)
        found, tool, profile = await shown()
        assert (found, tool) == (set(), set())
        assert "张三" in str(profile)
        assert "电影" not in str(profile)


async def test_working_memory_that_no_answer_could_spell_is_refused(tmp_path: Path):
    async with front_door(tmp_path) as door:
        asked = {"user_id": "u1", "query": "", "working_memory": [nested(253)]}
        response = await door.post("/v1/context", asked)
        assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "$.working_memory[0]")


@pytest.mark.parametrize(("intimacy", "seen"), [(10, []), (30, ["茶"]), (80, ["茶", EX])])
async def test_a_greeting_is_written_from_what_the_last_intimacy_shows(tmp_path: Path, intimacy: int, seen: list[str]):
    with ScriptedModel() as model:
        settings = {"llm_base_url": model.base_url, "llm_model": "scripted", "extractor": "rules"}
        async with front_door(tmp_path, **settings) as door:
            await door.remember("用户叫张三", attribute="user_name", value="张三")
            await door.remember("用户喜欢喝茶", attribute="likes", value="茶")
            await door.remember("别提她", attribute="sensitive_topics", value=EX)
            event = turn("t-1", "hm", infer=False, context={"intimacy": intimacy})
            await door.http.post("/v1/events?wait=60", json=event)
            model.play_body(completion("你好"))
            assert (await door.post("/v1/greeting", {"user_id": "u1"})).json() == {"greeting": "你好"}
            [request] = model.requests
    asked = request["messages"][0]["content"]
    assert "张三" in asked
    assert [word for word in ("茶", EX) if word in asked] == seen


async def test_lists_of_memories_and_episodes_hide_nothing(tmp_path: Path):
    """They are for whoever looks after the memories, also where they are asked what an agent knows."""
    async with front_door(tmp_path) as door:
        await door.remember(f"用户和{EX}看过电影", kind="episodic")
        await door.remember("别提她", attribute="sensitive_topics", value=EX)
        await door.http.post("/v1/events?wait=60", json=[turn("i-1", "嗯", context={"intimacy": 10}, agent_id="luna")])
        assert (await context_of(door, "u1", agent_id="luna"))["total_memories"] == 0
        listed = (await door.get("/v1/memories", user_id="u1", agent_id="luna")).json()["items"]
        episodes = (await door.get("/v1/users/u1/episodes", agent_id="luna")).json()["items"]
        assert (len(listed), [one["content"] for one in episodes]) == (2, [f"用户和{EX}看过电影"])
