"""Publishing over HTTP: all is checked first, accepted means durable, and an event has a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def test_one_event_is_accepted_with_its_position(door: FrontDoor):
    response = await door.post("/v1/events", turn("one-1", "I live in Berlin.", user_id="one"))
    assert response.status_code == 202
    [accepted] = response.json()["accepted"]
    assert accepted["event_id"] == "one-1"
    topic, partition, offset = accepted["position"].split(":")
    assert (topic, partition.isdigit(), offset.isdigit()) == ("mnemolog.conversations", True, True)


async def test_each_kind_of_event_goes_to_its_topic(door: FrontDoor):
    events = [
        {"type": "ScreenshotAnalysed", "event_id": "p", "user_id": "kinds", "text": "a calendar"},
        {"type": "ArticleInferred", "event_id": "a", "user_id": "kinds", "content": "an article"},
        {"type": "SessionEnded", "event_id": "e", "user_id": "kinds", "session_id": "s1"},
    ]
    accepted = (await door.post("/v1/events", events)).json()["accepted"]
    topics = [item["position"].split(":")[0] for item in accepted]
    assert topics == ["mnemolog.screenshots", "mnemolog.articles", "mnemolog.conversations"]


@pytest.mark.parametrize("content_type", ["application/x-ndjson", "application/json", ""])
async def test_ndjson_is_known_by_its_content_type_or_its_look(door: FrontDoor, content_type: str):
    line = b'{"type":"SessionEnded","session_id":"s","user_id":"nd"}\n'
    headers = {"content-type": content_type} if content_type else {}
    response = await door.http.post("/v1/events", content=line + b"\n" + line, headers=headers)
    assert (response.status_code, len(response.json()["accepted"])) == (202, 2)


async def test_a_bad_line_of_ndjson_is_named(door: FrontDoor):
    lines = b'{"type":"SessionEnded","session_id":"s"}\n{"type":\n'
    response = await door.http.post("/v1/events", content=lines, headers={"content-type": "application/x-ndjson"})
    assert response.status_code == 422
    [error] = response.json()["errors"]
    assert error["path"] == "$[1]"
    assert error["message"].startswith("line 2 is not JSON")


async def test_one_bad_event_refuses_the_request_and_nothing_is_accepted(door: FrontDoor):
    events = [turn("good", "fine", user_id="bad"), turn("worse", "x", user_id="bad", role=7), {"type": "Unknown"}]
    response = await door.post("/v1/events", events)
    assert response.status_code == 422
    assert [error["path"] for error in response.json()["errors"]] == ["$[1].role", "$[2].type"]
    assert (await door.get("/v1/events/good", user_id="bad")).status_code == 404


async def test_a_single_event_has_paths_from_its_own_root(door: FrontDoor):
    response = await door.post("/v1/events", turn("t", "x", occurred_at="2026-01-05T08:00:00"))
    assert [error["path"] for error in response.json()["errors"]] == ["$.occurred_at"]


async def test_what_is_not_json_is_refused_with_a_sentence(door: FrontDoor):
    response = await door.http.post("/v1/events", content=b"hello")
    assert response.status_code == 422
    assert response.json()["detail"].startswith("the body is not JSON")


async def test_the_same_event_twice_is_once_and_answers_with_the_first_position(door: FrontDoor):
    event = turn("twice-1", "I live in Berlin.", user_id="twice")
    first = (await door.post("/v1/events", event)).json()
    assert (await door.post("/v1/events", event)).json() == first
    assert (await door.post("/v1/events", [event, event])).json()["accepted"] == first["accepted"] * 2


async def test_the_same_id_with_another_body_is_a_conflict_that_changes_nothing(door: FrontDoor):
    await door.post("/v1/events", turn("c-1", "I live in Berlin.", user_id="conflict"))
    changed = [turn("c-2", "new", user_id="conflict"), turn("c-1", "I live in Paris.", user_id="conflict")]
    response = await door.post("/v1/events", changed)
    assert response.status_code == 409
    assert [error["path"] for error in response.json()["errors"]] == ["$[1].event_id"]
    assert (await door.get("/v1/events/c-2", user_id="conflict")).status_code == 404


async def test_ids_follow_from_the_idempotency_key_and_the_place(door: FrontDoor):
    events = [turn(None, "first", user_id="key"), turn(None, "second", user_id="key")]
    headers = {"Idempotency-Key": "k-1"}
    first = (await door.post("/v1/events", events, **headers)).json()["accepted"]
    again = (await door.post("/v1/events", events, **headers)).json()["accepted"]
    other = (await door.post("/v1/events", events, **{"Idempotency-Key": "k-2"})).json()["accepted"]
    assert first == again
    assert len({item["event_id"] for item in first + other}) == 4


async def test_without_a_key_each_event_is_a_new_one(door: FrontDoor):
    event = turn(None, "said again", user_id="random")
    first, second = [(await door.post("/v1/events", event)).json()["accepted"][0]["event_id"] for _ in range(2)]
    assert first != second


async def test_waiting_answers_when_what_was_said_can_be_found(door: FrontDoor):
    events = [turn("w-1", "I live in Berlin.", user_id="wait"), turn("w-2", "Hello!", user_id="wait", role="system")]
    response = await door.http.post("/v1/events", params={"wait": "10"}, json=events)
    assert response.status_code == 200
    first, second = response.json()["accepted"]
    assert (first["state"], second["state"]) == ("remembered", "nothing")
    assert len(first["memory_ids"]) == 1
    assert len(first["decisions"]) == 1
    memory = (await door.get(f"/v1/memories/{first['memory_ids'][0]}")).json()
    assert (memory["value"], memory["source_ids"]) == ("Berlin", ["w-1"])


async def test_who_asks_for_a_reminder_is_told_where_reminders_are_scheduled(door: FrontDoor):
    asked = turn("r-1", "Remind me to call the dentist tomorrow", user_id="reminded")
    said = turn("r-2", "Hello!", user_id="reminded", session_id="s2")
    response = await door.http.post("/v1/events", params={"wait": "60"}, json=[asked, said])
    first, second = response.json()["accepted"]
    assert (first["state"], second["state"]) == ("nothing", "nothing")
    assert "POST /v1/users/{user_id}/reminders" in first["reason"]
    assert second["reason"] == "nothing in it is worth remembering"
    later = (await door.get("/v1/events/r-1", user_id="reminded")).json()
    assert later["reason"] == first["reason"]


async def test_a_wait_that_is_over_answers_with_the_state_so_far(door: FrontDoor):
    response = await door.http.post("/v1/events?wait=0.01", json=turn("so-far", "I live in Rome.", user_id="far"))
    assert response.status_code == 202
    assert response.json()["accepted"][0]["state"] == "accepted"


@pytest.mark.parametrize("seconds", ["61", "-1", "nan", "soon"])
async def test_a_wait_is_bounded(door: FrontDoor, seconds: str):
    response = await door.http.post(f"/v1/events?wait={seconds}", json=turn("t", "x"))
    assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "$.wait")


async def test_an_event_id_may_be_any_text_of_one_line(door: FrontDoor):
    event_id = "a/b c?d#é/"
    await door.post("/v1/events", turn(event_id, "fine", user_id="any text"))
    response = await door.http.get("/v1/events/a%2Fb%20c%3Fd%23%C3%A9%2F?user_id=any%20text")
    assert (response.status_code, response.json()["event_id"]) == (200, event_id)


@pytest.mark.parametrize("field", ["event_id", "agent_id", "session_id"])
async def test_an_id_with_control_characters_is_refused(door: FrontDoor, field: str):
    """It would forge a line of the log."""
    response = await door.post("/v1/events", turn("controls", "fine") | {field: "a\nb"})
    assert response.json()["errors"] == [{"path": f"$.{field}", "message": "has control characters: remove them"}]


async def test_an_event_called_status_is_found_too(door: FrontDoor):
    await door.post("/v1/events", turn("status", "fine", user_id="status"))
    assert (await door.get("/v1/events/status", user_id="status")).json()["event_id"] == "status"


async def test_many_states_are_asked_for_at_once(door: FrontDoor):
    await door.post("/v1/events", [turn("m-1", "one", user_id="many"), turn("m-2", "two", user_id="many")])
    response = await door.post("/v1/events/status", {"user_id": "many", "event_ids": ["m-2", "m-1", "m-3"]})
    assert [item["event_id"] for item in response.json()["items"]] == ["m-2", "m-1"]
    assert response.json()["unknown"] == ["m-3"]
    too_many = {"user_id": "many", "event_ids": ["m"] * 1001}
    assert (await door.post("/v1/events/status", too_many)).status_code == 422


async def test_a_user_is_called_owner_by_default(door: FrontDoor):
    event = {"type": "SessionEnded", "event_id": "mine", "session_id": "s"}
    await door.post("/v1/events", event)
    assert (await door.get("/v1/events/mine")).status_code == 200


async def test_content_of_64_kib_is_accepted_and_more_is_refused(door: FrontDoor):
    fits, beyond = "é" * 32 * 1024, "é" * 32 * 1024 + "x"
    assert (await door.post("/v1/events", turn("fits", fits, user_id="size"))).status_code == 202
    response = await door.post("/v1/events", turn("beyond", beyond, user_id="size"))
    assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "$.content")


async def test_a_thousand_events_are_accepted_and_more_are_refused(door: FrontDoor):
    events = [{"type": "SessionEnded", "event_id": f"n-{n}", "session_id": "s"} for n in range(1001)]
    assert (await door.post("/v1/events", events)).status_code == 413
    assert (await door.get("/v1/events/n-0")).status_code == 404
    assert (await door.post("/v1/events", events[:1000])).status_code == 202


async def test_a_reserved_user_is_refused(door: FrontDoor):
    response = await door.post("/v1/events", turn("t", "x", user_id="*"))
    assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "$.user_id")


async def test_nothing_to_accept_is_accepted(door: FrontDoor):
    response: Any = await door.post("/v1/events", [])
    assert (response.status_code, response.json()) == (202, {"accepted": []})


@pytest.mark.parametrize(
    "more",
    [
        {"name": "n" * 257},
        {"context": {"mood": "m" * 257}},
        {"metadata": {"a": "x" * 65_536}},
    ],
)
async def test_texts_beside_the_content_have_an_end(door: FrontDoor, more: dict[str, Any]):
    refused = await door.post("/v1/events", turn(None, "x", **more))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"].startswith(f"$.{next(iter(more))}")
