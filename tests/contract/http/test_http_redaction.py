"""Redaction over HTTP: what must not be kept is in no answer, no log and no metric's label."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
CARD = "4111 1111 1111 1111"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker"), redaction="all=redact,email=refuse") as opened:
        yield opened


async def test_a_memory_is_kept_and_revised_without_the_number(door: FrontDoor):
    memory = await door.remember(f"pays with {CARD}", "m", value=CARD, metadata={"card": [4111111111111111]})
    assert (memory["content"], memory["value"]) == ("pays with [card]", "[card]")
    assert memory["metadata"] == {"card": ["[card]"]}
    revised = await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"content": f"used {CARD} once"})
    assert revised.json()["content"] == "used [card] once"


async def test_a_turn_is_kept_without_the_number(door: FrontDoor):
    event = turn("t-e", f"My card is {CARD}, and I like tea", user_id="t", session_id="t-1")
    assert (await door.post("/v1/events", event)).status_code == 202
    assert (await door.post("/v1/events", event)).status_code == 202  # the same again is the same
    turns = (await door.http.get("/v1/sessions/t-1/turns", params={"user_id": "t"})).json()["items"]
    assert [each["content"] for each in turns] == ["My card is [card], and I like tea"]


async def test_a_conversation_is_kept_without_it_and_its_ids_do_not_tell_it(door: FrontDoor):
    ids = []
    for number in (CARD, "5500 0000 0000 0004"):
        messages = [{"role": "user", "content": f"mine is {number}"}]
        body = {"user_id": "c", "session_id": "c-1", "messages": messages, "end_session": False}
        ids.append((await door.post("/v1/conversations", body)).json()["accepted"][0]["event_id"])
    assert ids[0] == ids[1]
    turns = (await door.http.get("/v1/sessions/c-1/turns", params={"user_id": "c"})).json()["items"]
    assert [each["content"] for each in turns] == ["mine is [card]"]


async def test_a_reminder_is_kept_and_answered_without_the_number(door: FrontDoor):
    body = {"due_at": "2099-01-01T00:00:00Z", "content": "call 13812345678"}
    response = await door.post("/v1/users/w/reminders", body)
    kept = await door.get("/v1/users/w/reminders")
    assert response.json()["content"] == "call [phone]"
    assert "call [phone]" in kept.text
    assert "1381" not in response.text + kept.text


async def test_a_tool_remembers_without_the_number(door: FrontDoor):
    body = {"user_id": "tool", "content": f"pays with {CARD}"}
    response = await door.post("/v1/tools/memory_add", body)
    assert response.status_code in {200, 201}, response.text
    assert "4111" not in response.text
    assert [m["content"] for m in (await door.get("/v1/memories", user_id="tool")).json()["items"]] == [
        "pays with [card]"
    ]


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/v1/memories", {"user_id": "r", "content": "write to ann@mail.example"}),
        ("/v1/events", turn(None, "write to ann@mail.example", user_id="r", session_id="r-1")),
        ("/v1/conversations", {"user_id": "r", "messages": [{"role": "user", "content": "write to ann@mail.example"}]}),
    ],
)
async def test_a_refusal_names_field_and_kind_and_quotes_nothing(
    door: FrontDoor, caplog: pytest.LogCaptureFixture, route: str, body: dict[str, object]
):
    response = await door.post(route, body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["path"].endswith(".content")
    assert "email" in response.json()["detail"]
    assert "ann" not in response.text
    assert "ann@mail" not in caplog.text


async def test_it_is_counted_by_kind(door: FrontDoor):
    await door.remember(f"counted {CARD}", "counted")
    text = (await door.http.get("/metrics")).text
    assert 'mnemolog_redactions_total{action="redact",kind="card"}' in text
    assert CARD.replace(" ", "") not in text
    names = [line.rpartition(" ")[0] for line in text.splitlines()]  # of the samples: a duration may have any digits
    assert "4111" not in "\n".join(names)


@pytest.mark.parametrize("name", ["name", "content"])
async def test_a_text_that_is_too_long_is_refused_before_it_is_looked_through(door: FrontDoor, name: str):
    began = time.process_time()
    refused = await door.post("/v1/events", turn(None, "x") | {name: "3 " * 500_000})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"] == f"$.{name}"
    assert time.process_time() - began < 2.0


async def test_others_are_answered_while_a_long_text_is_looked_through(door: FrontDoor):
    long = asyncio.create_task(door.post("/v1/events", turn(None, f"{'3' * 64} " * 900)))
    await asyncio.sleep(0.05)
    turns = 0
    while not long.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert (await long).status_code == 202
    assert turns > 10
