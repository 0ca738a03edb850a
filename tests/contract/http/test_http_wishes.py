"""What the user asks of the memory in a conversation: not to keep something, to forget something, to remember it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

from mnemolog.publishing.states import NOT_READ, NOT_TO_KEEP, SHOWN
from streams.decisions.commands import NONE_MEANT, SEVERAL_MEANT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def say(door: FrontDoor, user_id: str, *words: str) -> list[dict[str, Any]]:
    """Say each of some words in a call of its own; return the states of the user's turns."""
    states = []
    for content in words:
        body = {"user_id": user_id, "session_id": "s", "messages": [{"role": "user", "content": content}]}
        response = await door.http.post("/v1/conversations?wait=20", json=body)
        assert response.status_code == 200, response.text
        states.append(response.json()["accepted"][0])
    return states


async def memories_of(door: FrontDoor, user_id: str) -> list[str]:
    return [m["content"] for m in (await door.get("/v1/memories", user_id=user_id)).json()["items"]]


async def turns_of(door: FrontDoor, user_id: str) -> list[str]:
    items = (await door.get("/v1/sessions/s/turns", user_id=user_id)).json()["items"]
    return [item["content"] for item in items]


async def found(door: FrontDoor, user_id: str, query: str) -> str:
    """Return all that a search with turns answers, as text."""
    body = {"user_id": user_id, "query": query, "include": ["memories", "turns"]}
    return (await door.post("/v1/search", body)).text


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("w1", "Don't save this, but I'm HIV positive."),
        ("w2", "Please do not log the following. I live in Kiel."),
        ("w3", "Between us: I live in Kiel."),
        ("w4", "这个你别记，我离婚了。"),
    ],
)
async def test_what_is_not_to_be_kept_is_neither_remembered_nor_shown(door: FrontDoor, user: str, words: str):
    [state] = await say(door, user, words)
    assert (state["state"], state["reason"]) == ("nothing", NOT_TO_KEEP)
    assert await memories_of(door, user) == []
    assert await turns_of(door, user) == []
    assert words not in await found(door, user, words)


@pytest.mark.parametrize(
    ("user", "words", "reason"),
    [
        ("w20", "What's this song about?\n\n\"I was born in a small town\nMy mama told me don't you cry\"", SHOWN),
        ("w21", "个人简历\n姓名：赵敏\n现居：深圳\n\n看看我hr发来的这份简历，能约面试不", SHOWN),
        ("w22", "mình sống ở Đà Nẵng", NOT_READ),
    ],
)
async def test_why_nothing_of_a_turn_is_kept_is_said(door: FrontDoor, user: str, words: str, reason: str):
    [state] = await say(door, user, words)
    assert (state["state"], state["reason"]) == ("nothing", reason)


async def test_the_rest_of_a_turn_is_kept(door: FrontDoor):
    await say(door, "w5", "I live in Rome. My salary is 80000 euros. Don't save that.")
    assert await turns_of(door, "w5") == ["I live in Rome."]
    assert not any("80000" in content for content in await memories_of(door, "w5"))
    assert any("Rome" in content for content in await memories_of(door, "w5"))
    assert "80000" not in await found(door, "w5", "What is my salary?")


async def test_the_next_turn_takes_a_turn_back(door: FrontDoor):
    await say(door, "w6", "I live in Kiel.", "Please don't save that.")
    assert await memories_of(door, "w6") == []
    assert await turns_of(door, "w6") == []
    assert "Kiel" not in await found(door, "w6", "Where do I live, in Kiel?")


async def test_the_history_of_a_memory_shows_of_its_words_what_is_kept(door: FrontDoor):
    [state] = await say(door, "w13", "I live in Rome. My salary is 80000 euros. Don't save that.")
    [memory_id] = state["memory_ids"]
    history = (await door.get(f"/v1/memories/{memory_id}/history", user_id="w13")).json()
    assert [one["content"] for one in history["lineage"]["observations"]] == ["I live in Rome."]


async def test_what_was_taken_back_shows_no_words_in_the_history_of_what_it_had_led_to(door: FrontDoor):
    [first] = await say(door, "w14", "I live in Kiel.")
    await say(door, "w14", "Please don't save that.")
    [memory_id] = first["memory_ids"]
    history = (await door.get(f"/v1/memories/{memory_id}/history", user_id="w14")).json()
    assert [one["content"] for one in history["lineage"]["observations"]] == [None]


async def test_what_is_asked_to_be_forgotten_is_and_can_be_restored(door: FrontDoor):
    told = await say(door, "w7", "I live in Lisbon.", "I love chess.", "Forget that I live in Lisbon.")
    assert await memories_of(door, "w7") == ["I love chess."], told
    [memory_id] = told[0]["memory_ids"]
    assert "the user asked to forget it" in told[2]["reason"]
    assert (await door.http.post(f"/v1/memories/{memory_id}/restore?user_id=w7")).status_code == 200
    assert len(await memories_of(door, "w7")) == 2


@pytest.mark.parametrize(
    ("user", "told", "wish"),
    [
        ("w19", "I live in Lyon.", "Don't tell anyone, but forget that I live in Lyon."),
        ("w21", "I owe Tom 40 euros for the concert.", "Forget Tom."),
    ],
)
async def test_however_it_is_asked_what_is_named_is_forgotten_and_nothing_else(
    door: FrontDoor, user: str, told: str, wish: str
):
    states = await say(door, user, "I have a cat named Miso.", told, wish)
    assert "the user asked to forget it" in states[2]["reason"]
    assert len(await memories_of(door, user)) == 1


async def test_the_value_of_a_slot_is_forgotten_if_a_question_names_it(door: FrontDoor):
    told = await say(door, "w15", "我对虾过敏。", "我住在厦门。", "别再记得我住哪儿了，其他的留着。")
    assert "the user asked to forget it" in told[2]["reason"]
    assert [one for one in await memories_of(door, "w15") if "厦门" in one] == []
    assert len(await memories_of(door, "w15")) == 1


async def test_what_is_asked_to_be_forgotten_is_not_shown_by_the_wish_itself(door: FrontDoor):
    for user, told, wish in (
        ("w17", "I have diabetes.", "Please forget that I have diabetes. I like tea."),
        ("w18", "我有糖尿病。", "请忘掉我有糖尿病。"),
    ):
        await say(door, user, told, wish)
        for word in ("diabetes", "糖尿病"):
            found = await door.post("/v1/search", {"user_id": user, "query": word})
            assert not [one for one in found.json()["results"] if word in one["content"]]
    left = await door.post("/v1/search", {"user_id": "w17", "query": "tea"})
    assert any("tea" in one["content"] for one in left.json()["results"])


async def test_a_word_within_another_names_no_memory(door: FrontDoor):
    states = await say(door, "w16", "I studied education in Leeds.", "Forget my cat.")
    assert states[1]["reason"] == NONE_MEANT
    assert len(await memories_of(door, "w16")) == 1


async def test_what_several_memories_or_none_say_is_left_to_the_hand(door: FrontDoor):
    states = await say(
        door, "w8", "My sister Anna lives in Rome.", "My brother Ben lives in Rome.", "Forget about Rome."
    )
    assert states[2]["reason"] in (SEVERAL_MEANT, NONE_MEANT)
    assert (await say(door, "w9", "Forget that I own a boat."))[0]["reason"] == NONE_MEANT


@pytest.mark.parametrize(
    ("user", "words", "kept"),
    [
        ("w10", "Remember this: the deploy command for Falcon is make ship ENV=prod.", "make ship ENV=prod"),
        ("w11", "Don't forget that Lena is lactose intolerant.", "actose intolerant"),
        ("w12", "请记住我周一没空。", "周一没空"),
    ],
)
async def test_what_is_asked_to_be_remembered_is(door: FrontDoor, user: str, words: str, kept: str):
    await say(door, user, words)
    assert len([content for content in await memories_of(door, user) if kept in content]) == 1
    assert await turns_of(door, user) == [words]
