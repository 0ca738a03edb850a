"""Conversations over HTTP: an agent may send its whole context again at every save."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

from mnemolog.log.word_ids import UNKEYED as STAY_UNKEYED
from mnemolog.publishing.utterances import RESEND_SECONDS
from schemas.identity import derived_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


OK = {"role": "assistant", "content": "OK."}
FIRST = [{"role": "user", "content": "My sister is called Anna."}, {"role": "assistant", "content": "Nice name!"}]
MORE = [*FIRST, {"role": "user", "content": "I live in Berlin."}, {"role": "assistant", "content": "Nice name!"}]


async def converse(door: FrontDoor, user_id: str, messages: list[dict[str, Any]], **more: object) -> Any:
    response = await door.post("/v1/conversations", {"user_id": user_id, "messages": messages} | more)
    assert response.status_code == 202, response.text
    return response.json()


def ids_and_places(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the events that an answer names."""
    return [(item["event_id"], item["position"]) for item in answer["accepted"]]


async def test_messages_and_the_end_of_the_session_are_accepted(door: FrontDoor):
    response = await door.http.post("/v1/conversations?wait=10", json={"user_id": "c1", "messages": FIRST})
    assert response.status_code == 200
    assert [item["state"] for item in response.json()["accepted"]] == ["remembered", "nothing", "nothing"]


async def test_the_whole_context_sent_again_adds_only_what_is_new(door: FrontDoor):
    first = await converse(door, "c2", FIRST, session_id="s")
    more = await converse(door, "c2", MORE, session_id="s")
    again = await converse(door, "c2", MORE, session_id="s")
    assert ids_and_places(again) == ids_and_places(more)
    assert ids_and_places(more)[:2] == ids_and_places(first)[:2]
    assert [item["known"] for item in more["accepted"]] == [True, True, False, False, False]
    assert {item["known"] for item in again["accepted"]} == {True}
    turns = (await door.get("/v1/sessions/s/turns", user_id="c2")).json()["items"]
    assert [item["content"] for item in turns] == [message["content"] for message in MORE]


async def test_turns_without_times_keep_their_order(door: FrontDoor):
    await converse(door, "c3", MORE, session_id="s")
    turns = (await door.get("/v1/sessions/s/turns", user_id="c3")).json()["items"]
    times = [item["occurred_at"] for item in turns]
    assert times == sorted(set(times))


async def test_a_session_is_derived_from_user_and_agent(door: FrontDoor):
    one = (await converse(door, "c4", FIRST, agent_id="luna"))["session_id"]
    assert (await converse(door, "c4", FIRST, agent_id="luna"))["session_id"] == one
    assert (await converse(door, "c4", FIRST))["session_id"] != one
    assert (await converse(door, "c5", FIRST, agent_id="luna"))["session_id"] != one


async def test_the_session_ends_by_default_and_goes_on_when_told(door: FrontDoor):
    assert len((await converse(door, "c6", FIRST))["accepted"]) == 3
    assert len((await converse(door, "c7", FIRST, end_session=False))["accepted"]) == 2


async def test_ids_and_times_that_are_given_are_kept(door: FrontDoor):
    message = FIRST[0] | {"event_id": "my-own", "occurred_at": "2026-01-05T09:00:00+01:00"}
    await converse(door, "c8", [message], session_id="s")
    [turn] = (await door.get("/v1/sessions/s/turns", user_id="c8")).json()["items"]
    assert (turn["event_id"], turn["occurred_at"]) == ("my-own", "2026-01-05T08:00:00Z")


async def test_without_inference_each_user_message_is_remembered_word_for_word(door: FrontDoor):
    body = {"user_id": "c9", "messages": MORE, "infer": False}
    response = await door.http.post("/v1/conversations?wait=10", json=body)
    assert response.status_code == 200
    memories = (await door.get("/v1/memories", user_id="c9")).json()["items"]
    assert {m["content"] for m in memories} == {"My sister is called Anna.", "I live in Berlin."}
    assert {(m["memory_type"], m["category"], m["kind"]) for m in memories} == {("long_term", "fact", "semantic")}


@pytest.mark.parametrize(
    ("user", "first", "again"),
    [
        (
            "near-1",
            "The user likes to drink black coffee in the morning.",
            "The user likes drinking black coffee in the morning.",
        ),
        ("near-2", "In the morning I drink black tea.", "I drink black tea in the morning."),
        ("near-3", "用户周末喜欢去香山徒步", "周末用户喜欢去香山徒步"),
    ],
)
async def test_what_is_said_again_with_another_verb_form_or_order_is_one_memory(
    door: FrontDoor, user: str, first: str, again: str
):
    for said in (first, again):
        body = {"user_id": user, "messages": [{"role": "user", "content": said}], "infer": False}
        assert (await door.http.post("/v1/conversations?wait=10", json=body)).status_code == 200
    [memory] = (await door.get("/v1/memories", user_id=user)).json()["items"]
    assert (memory["content"], memory["access_count"]) == (first, 1)


async def test_a_bad_message_is_named_and_refuses_all(door: FrontDoor):
    messages = [FIRST[0], {"role": "user", "content": "x", "occurred_at": "yesterday"}]
    response = await door.post("/v1/conversations", {"user_id": "c10", "session_id": "s", "messages": messages})
    assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "$.messages[1].occurred_at")
    assert (await door.get("/v1/sessions/s/turns", user_id="c10")).json()["items"] == []


async def test_content_that_is_no_text_is_refused(door: FrontDoor):
    body = {"user_id": "c11", "messages": [{"role": "user", "content": 5}]}
    response = await door.post("/v1/conversations", body)
    assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "$.messages[0].content")


async def test_a_message_id_with_another_body_is_a_conflict(door: FrontDoor):
    await converse(door, "c12", [FIRST[0] | {"event_id": "e"}], session_id="s")
    body = {"user_id": "c12", "session_id": "s", "messages": [FIRST[1] | {"event_id": "e"}]}
    response = await door.post("/v1/conversations", body)
    assert (response.status_code, response.json()["errors"][0]["path"]) == (409, "$.messages[0].event_id")


UNKEYED = derived_id("turn", "", "s", "user", FIRST[0]["content"], 0)


async def ids_of(folder: Path, **settings: object) -> list[str]:
    """Start a worker in a folder, send it a conversation, and return the ids that it gave to the turns."""
    async with front_door(folder, **settings) as door:
        accepted = (await converse(door, "c9", FIRST, session_id="s"))["accepted"]
        turns = (await door.get("/v1/sessions/s/turns", user_id="c9")).json()["items"]
        assert [turn["content"] for turn in turns] == [message["content"] for message in FIRST]
        return [item["event_id"] for item in accepted]


async def test_where_encryption_is_strict_nobody_can_try_a_guess_at_the_words_of_an_id(tmp_path: Path):
    ids = await ids_of(tmp_path / "one", encryption="strict")
    assert await ids_of(tmp_path / "one", encryption="strict") == ids  # started again, the same turns are the same
    assert await ids_of(tmp_path / "one") == ids
    assert UNKEYED not in ids
    assert not set(ids) & set(await ids_of(tmp_path / "another", encryption="strict"))


async def test_two_installations_have_the_same_ids_and_so_can_compare_their_digests(tmp_path: Path):
    ids = await ids_of(tmp_path / "one")
    assert ids[0] == UNKEYED
    assert await ids_of(tmp_path / "another") == ids


async def test_who_has_turns_goes_on_with_their_ids_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    ids = await ids_of(tmp_path, encryption="off")
    assert STAY_UNKEYED not in caplog.messages
    assert await ids_of(tmp_path, encryption="strict") == ids
    assert STAY_UNKEYED in caplog.messages


async def test_a_session_ends_again_where_the_assistant_says_the_same_twice(door: FrontDoor):
    for place, said in enumerate(("I live in Berlin.", "I have a red bike.")):
        body = {"user_id": "c-twice", "session_id": "s", "messages": [{"role": "user", "content": said}, OK]}
        response = await door.http.post("/v1/conversations?wait=10", json=body)
        assert response.status_code == 200, place
        assert response.json()["accepted"][0]["state"] == "remembered"


def said(content: str, **more: object) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": content} | more


async def turns_of(door: FrontDoor, user_id: str, session_id: str = "s") -> list[str]:
    """Return the words of a session's turns."""
    items = (await door.get(f"/v1/sessions/{session_id}/turns", user_id=user_id)).json()["items"]
    return [item["content"] for item in items]


async def keyed(door: FrontDoor, key: str, user_id: str, messages: list[dict[str, Any]], **more: object) -> Any:
    """Send a conversation with an Idempotency-Key, and return what was accepted of its messages."""
    body = {"user_id": user_id, "messages": messages, "session_id": "s", "end_session": False} | more
    response = await door.http.post("/v1/conversations", json=body, headers={"Idempotency-Key": key})
    assert response.status_code == 202, response.text
    return response.json()["accepted"]


async def test_the_same_words_at_another_time_are_another_turn(door: FrontDoor):
    yes = [said("yes", occurred_at="2026-01-05T10:00:00Z")]
    await converse(door, "t1", yes, session_id="s")
    later = [
        said("yes", occurred_at="2026-01-05T10:01:00Z"),
        said("I live in Rome", occurred_at="2026-01-05T10:01:20Z"),
    ]
    for _ in range(2):
        await converse(door, "t1", later, session_id="s")
    again = await converse(door, "t1", [said("yes", occurred_at="2026-01-05T11:00:00+01:00")], session_id="s")
    assert again["accepted"][0]["known"]
    assert await turns_of(door, "t1") == ["yes", "yes", "I live in Rome"]


async def test_another_key_says_the_same_words_again_and_the_same_key_sends_them_again(door: FrontDoor):
    first = await keyed(door, "k1", "t2", [said("ok")])
    assert await keyed(door, "k1", "t2", [said("ok")]) == [first[0] | {"known": True}]
    second = await keyed(door, "k2", "t2", [said("ok")])
    third = await keyed(door, "k3", "t2", [said("ok")])
    assert await keyed(door, "k3", "t2", [said("ok")]) == [third[0] | {"known": True}]
    assert [one[0]["event_id"] for one in (second, third)] == [f"{first[0]['event_id']}.{n}" for n in (1, 2)]
    history = [said("ok"), said("ok"), said("ok"), said("I live in Rome")]
    grown = await keyed(door, "k4", "t2", history)
    assert [item["known"] for item in grown] == [True, True, True, False]
    assert await turns_of(door, "t2") == ["ok", "ok", "ok", "I live in Rome"]


async def test_without_a_key_the_same_words_are_said_again_once_a_request_is_no_longer_repeated(tmp_path: Path):
    async with front_door(tmp_path) as door:
        for ahead, turns in ((0, 1), (RESEND_SECONDS - 1, 1), (RESEND_SECONDS + 1, 2)):
            door.clock.ahead = timedelta(seconds=ahead)
            await converse(door, "t3", [said("ok")], session_id="s", end_session=False)
            assert len(await turns_of(door, "t3")) == turns


async def test_an_answer_given_twice_in_new_rounds_is_said_twice(door: FrontDoor):
    for words in ("My sister is called Anna.", "I have a red bike."):
        await converse(door, "t4", [said(words), OK], session_id="s")
    assert await turns_of(door, "t4") == ["My sister is called Anna.", "OK.", "I have a red bike.", "OK."]


async def test_a_window_on_the_newest_messages_adds_only_what_is_new(door: FrontDoor):
    told = [said("My sister is called Anna."), OK, said("I live in Berlin."), OK]
    await converse(door, "t5", told, session_id="s", end_session=False)
    window = [*told[2:], said("I have a red bike."), OK]
    answer = await converse(door, "t5", window, session_id="s", end_session=False)
    assert [item["known"] for item in answer["accepted"]] == [True, True, False, False]
    assert len(await turns_of(door, "t5")) == 6


async def test_what_was_changed_and_is_told_again_in_the_session_of_a_user_is_true_again(door: FrontDoor):
    for place in ("Berlin", "Rome", "Berlin"):
        body = {"user_id": "t6", "messages": [said(f"I live in {place}.")]}
        response = await door.http.post("/v1/conversations?wait=10", json=body)
        assert response.status_code == 200
    assert "Berlin" in (await door.get("/v1/users/t6/profile")).json()["text"]


async def test_what_was_forgotten_and_is_told_again_is_remembered(door: FrontDoor):
    body = {"user_id": "t7", "messages": [said("I love chess.")]}
    told = (await door.http.post("/v1/conversations?wait=10", json=body)).json()["accepted"][0]
    [memory_id] = told["memory_ids"]
    assert (await door.http.delete(f"/v1/memories/{memory_id}?user_id=t7")).status_code == 200
    again = (await door.http.post("/v1/conversations?wait=10", json=body)).json()["accepted"][0]
    assert again["memory_ids"] not in ([], [memory_id])
    assert len((await door.get("/v1/memories", user_id="t7")).json()["items"]) == 1


async def test_nothing_of_an_erased_turn_comes_back_with_the_history(door: FrontDoor):
    told = [said("My sister is called Anna."), OK, said("I live in Berlin.")]
    body = {"user_id": "t8", "session_id": "s", "messages": told, "end_session": True}
    accepted = (await door.http.post("/v1/conversations?wait=10", json=body)).json()["accepted"]
    [memory_id] = accepted[0]["memory_ids"]
    erased = await door.http.delete(f"/v1/memories/{memory_id}?user_id=t8&forever=true")
    assert erased.status_code == 200, erased.text
    again = (await door.http.post("/v1/conversations?wait=10", json=body)).json()["accepted"]
    assert [item["event_id"] for item in again] == [item["event_id"] for item in accepted]
    assert "Anna" not in str((await door.get("/v1/memories", user_id="t8")).json())


async def test_other_metadata_are_no_conflict_where_nobody_gave_an_id(door: FrontDoor):
    for shelf in ("x", "y"):
        messages = [said("I live in Ghent.", metadata={"shelf": shelf})]
        await converse(door, "t9", messages, session_id="s", end_session=False)
    assert await turns_of(door, "t9") == ["I live in Ghent.", "I live in Ghent."]


async def test_names_that_differ_are_different_speakers(door: FrontDoor):
    messages = [said("Me too!", name="Ann"), said("Me too!", name="Ben")]
    for _ in range(2):
        answer = await converse(door, "t10", messages, session_id="s", end_session=False)
    assert len({item["event_id"] for item in answer["accepted"]}) == 2
    assert await turns_of(door, "t10") == ["Me too!", "Me too!"]


async def test_equal_requests_at_once_are_one_or_as_many_as_their_keys_are(door: FrontDoor):
    sent = [keyed(door, key, "t11", [said("ok")]) for key in ("k1", "k2", "k1", "k3", "k2")]
    await asyncio.gather(*sent)
    assert len(await turns_of(door, "t11")) == 3
