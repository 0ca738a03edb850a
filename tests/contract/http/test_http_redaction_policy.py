"""Redaction by policy: what a tenant does not want kept enters by no door, and is in no answer to others' records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from contract.scripted_model import ScriptedModel

from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope
from schemas.messages.inbox import CandidatesExtracted
from schemas.messages.observations import TurnRecorded
from schemas.topics import CONVERSATIONS, INBOX

if TYPE_CHECKING:
    from pathlib import Path

CARD = "4111 1111 1111 1111"
STAFF = {"name": "staff", "pattern": r"EMP-\d{6}"}


async def set_policy(door: FrontDoor, agent_id: str | None = None, **policy: Any) -> dict[str, Any]:
    where = "/v1/policy" if agent_id is None else f"/v1/policy?agent_id={agent_id}"
    answer = await door.http.put(where, json=policy)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def append_turn(door: FrontDoor, event_id: str, content: str, *, infer: bool = True) -> dict[str, Any]:
    """Append a turn as others do on Kafka, past every door, and return what became of it."""
    owner = Owner("default", "u1")
    envelope = Envelope(event_id=event_id, tenant="default", user_id="u1", occurred_at=door.clock.now())
    message = TurnRecorded(envelope=envelope, session_id=event_id, role="user", content=content, infer=infer)
    partition = door.worker.shards.partition(owner)
    value = codec.encode(message)
    await door.worker.log.append([NewRecord(topic=CONVERSATIONS.name, partition=partition, key=owner.key, value=value)])
    await door.worker.event_states.wait([(owner, event_id)], 20)
    return (await door.worker.event_states.of(owner, [event_id]))[event_id]


async def remembered(door: FrontDoor) -> list[str]:
    items = (await door.get("/v1/memories", user_id="u1", page_size=200)).json()["items"]
    return sorted(item["content"] for item in items)


async def answers(door: FrontDoor) -> list[CandidatesExtracted]:
    found = []
    for partition in range(door.worker.shards.partitions):
        items = [codec.decode(r.value) for r in await door.worker.log.read(INBOX.name, partition, 0)]
        found += [item for item in items if isinstance(item, CandidatesExtracted)]
    return found


async def test_a_policy_redacts_and_refuses_from_its_next_request_on(tmp_path: Path):
    async with front_door(tmp_path) as door:
        assert (await door.remember(f"pays with {CARD}"))["content"] == f"pays with {CARD}"
        shown = await set_policy(
            door, redaction={"all": "redact", "email": "refuse", "phone": "keep"}, redaction_patterns=[STAFF]
        )
        assert shown["redaction"] == {"all": "redact", "email": "refuse", "phone": "keep"}
        assert shown["redaction_patterns"] == [STAFF | {"action": "redact"}]
        memory = await door.remember("EMP-123456 paid with 4111111111111111, call 13812345678")
        assert memory["content"] == "[staff] paid with [card], call 13812345678"
        refused = await door.post("/v1/memories", {"user_id": "u1", "content": "write to ann@mail.example"})
        assert (refused.status_code, "email" in refused.text, "ann" in refused.text) == (422, True, False)
        revised = await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"content": f"{CARD} EMP-000001"})
        assert revised.json()["content"] == "[card] [staff]"
        await set_policy(door)
        assert (await door.remember("EMP-123456 again"))["content"] == "EMP-123456 again"


async def test_what_is_imported_is_redacted_and_a_bad_line_refuses_the_request(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await set_policy(door, redaction={"card": "redact", "email": "refuse"})
        line = {"type": "Memory", "user_id": "u1", "content": f"pays with {CARD}", "metadata": {"n": [CARD]}}
        reminder = {"type": "Reminder", "user_id": "u1", "due_at": "2099-01-01T00:00:00Z", "content": f"pay {CARD}"}
        answer = await door.post("/v1/import?wait=60", [line, reminder])
        assert (answer.status_code, answer.json()["imported"]) == (200, 2)
        assert await remembered(door) == ["pays with [card]"]
        exported = (await door.get("/v1/users/u1/export")).text
        assert "pay [card]" in exported
        assert "4111" not in exported
        refused = await door.post("/v1/import", [line, line | {"key_dialogue": ["ann@mail.example"]}])
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["path"] == "$[1].key_dialogue"
        assert "ann" not in refused.text


async def test_an_agents_policy_adds_to_the_tenants_and_the_setting_holds_for_all(tmp_path: Path):
    async with front_door(tmp_path, redaction="secret=refuse") as door:
        await set_policy(door, redaction={"card": "redact", "secret": "keep"})
        await set_policy(door, "luna", redaction={"card": "keep", "email": "redact"})
        said = f"{CARD} ann@mail.example"
        assert (await door.remember(said, agent_id="luna"))["content"] == "[card] [email]"
        assert (await door.remember(said, agent_id="nova"))["content"] == "[card] ann@mail.example"
        assert (await door.remember(said))["content"] == "[card] ann@mail.example"
        secret = await door.post("/v1/memories", {"user_id": "u1", "content": "AKIAABCDEFGHIJKLMNOP"})
        assert secret.status_code == 422


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"redaction": {"cards": "redact"}}, "redaction"),
    ({"redaction": {"card": "hide"}}, "redaction"),
    ({"redaction_patterns": [{"name": "n", "pattern": r"\d+"}]}, "without an end"),
    ({"redaction_patterns": [{"name": "n", "pattern": "(a|a){1,20}b"}]}, "steps"),
    ({"redaction_patterns": [{"name": "n", "pattern": "(quokka"}]}, "no regular expression"),
    ({"redaction_patterns": [{"name": "card", "pattern": "abc"}]}, "a kind already"),
    ({"redaction_patterns": [{"name": "n", "pattern": "abc"}] * 2}, "each its own"),
    ({"redaction_patterns": [{"name": f"n{n}", "pattern": "abc"} for n in range(11)]}, "redaction_patterns"),
    ({"redaction_patterns": [{"name": "n", "pattern": "a" * 201}]}, "200"),
]


async def test_a_policy_that_cannot_be_kept_is_refused_with_what_to_change(tmp_path: Path):
    async with front_door(tmp_path) as door:
        for policy, said in REFUSED:
            refused = await door.http.put("/v1/policy", json=policy)
            assert refused.status_code == 422
            assert said in refused.text
            assert "quokka" not in refused.text
        assert (await door.get("/v1/policy")).json()["version"] == 0


async def test_marks_longer_than_what_they_stand_for_do_not_make_a_text_too_long(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await set_policy(door, redaction_patterns=[{"name": "everything", "pattern": "x"}])
        refused = await door.post("/v1/memories", {"user_id": "u1", "content": "x" * 30_000})
        assert refused.status_code == 422
        assert "marks" in refused.json()["detail"]


@pytest.mark.parametrize("infer", [True, False])
async def test_turns_that_others_append_are_redacted_before_extraction(tmp_path: Path, *, infer: bool):
    async with front_door(tmp_path) as door:
        await set_policy(door, redaction={"card": "redact", "email": "refuse"}, redaction_patterns=[STAFF])
        state = await append_turn(door, "a-1", f"I live in Berlin. I like EMP-123456 {CARD}.", infer=infer)
        assert state["state"] == "remembered"
        state = await append_turn(door, "a-2", "I like tea from ann@mail.example.", infer=infer)
        assert state["state"] == "nothing"
        found = await remembered(door)
        assert found
        assert infer or "I like [staff] [card]." in found[0]
        assert not any("EMP" in content or "4111" in content for content in found)
        assert [item.dropped for item in await answers(door) if not item.candidates] == [["piece 1: refused (email)"]]
        metrics = (await door.http.get("/metrics")).text
        for labels in ('action="redact",kind="card"', 'action="redact",kind="own"', 'action="refuse",kind="email"'):
            assert f"mnemolog_redactions_total{{{labels}}}" in metrics
        assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]


async def test_a_model_sees_no_number_and_what_it_puts_together_is_redacted_too(tmp_path: Path):
    def joined(lines: list[tuple[int, str]]) -> list[dict[str, Any]]:
        return [{"content": "The card is 4111 1111 1111 1111", "value": CARD, "sources": [n]} for n, _ in lines]

    with ScriptedModel(joined) as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            await set_policy(door, redaction={"card": "redact"})
            await append_turn(door, "a-1", "Mine is 5500 0000 0000 0004, 4111 1111 and then 1111 1111.")
            asked = str(model.requests[-1]["messages"])
            assert "[card], 4111 1111 and then" in asked
            assert "5500" not in asked
            assert await remembered(door) == ["The card is [card]"]
            [item] = await answers(door)
            assert item.answer is not None
            assert b"4111" not in item.answer.data


async def test_the_other_turns_of_a_window_are_extracted_where_one_is_refused(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await set_policy(door, redaction={"email": "refuse"})
        await append_turn(door, "b-0", "Hello.")  # so that the worker knows the user
        owner = Owner("default", "u1")
        partition = door.worker.shards.partition(owner)
        records = []
        for number, said in enumerate(["Write to ann@mail.example.", "I live in Berlin."]):
            envelope = Envelope(event_id=f"c-{number}", tenant="default", user_id="u1", occurred_at=door.clock.now())
            message = TurnRecorded(envelope=envelope, session_id="c", role="user", content=said)
            value = codec.encode(message)
            records.append(NewRecord(topic=CONVERSATIONS.name, partition=partition, key=owner.key, value=value))
        await door.worker.log.append(records)
        await door.worker.event_states.wait([(owner, "c-0"), (owner, "c-1")], 20)
        states = await door.worker.event_states.of(owner, ["c-0", "c-1"])
        assert (states["c-1"]["state"], states["c-0"]["memory_ids"]) == ("remembered", [])
        [item] = [item for item in await answers(door) if len(item.covered) == 2]
        assert item.dropped == ["piece 1: refused (email)"]
        assert [candidate.pieces for candidate in item.candidates] == [["c-1#0"]]


async def test_a_turn_over_http_is_redacted_by_the_policy_of_its_agent(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await set_policy(door, "luna", redaction={"card": "redact"})
        event = turn("e-1", f"mine is {CARD}", agent_id="luna")
        other = turn("e-2", f"mine is {CARD}", agent_id="nova")
        assert (await door.post("/v1/events", [event, other])).status_code == 202
        turns = (await door.http.get("/v1/sessions/s1/turns", params={"user_id": "u1"})).json()["items"]
        assert [each["content"] for each in turns] == ["mine is [card]", f"mine is {CARD}"]


async def test_the_state_of_an_event_counts_what_was_replaced_in_it(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await append_turn(door, "a-0", f"Mine is {CARD}.")
        plain = (await door.get("/v1/events/a-0", user_id="u1")).json()
        assert plain["redacted"] == {}
        await set_policy(door, redaction={"card": "redact", "email": "refuse"}, redaction_patterns=[STAFF])
        said = f"{CARD} EMP-123456, {CARD}"
        event = turn("e-1", said, session_id="e", metadata={"card": CARD})
        screen = {"type": "ScreenshotAnalysed", "event_id": "s-1", "user_id": "u1", "text": said}
        clean = turn("e-2", "Mine is [card].", session_id="e")
        answer = await door.post("/v1/events?wait=60", [event, screen, clean])
        counts = [item["redacted"] for item in answer.json()["accepted"]]
        assert counts == [{"card": 3, "staff": 1}, {"card": 2, "staff": 1}, {}]
        await append_turn(door, "a-1", f"Mine is {CARD}, not ann@mail.example.")
        found = await door.post("/v1/events/status", {"user_id": "u1", "event_ids": ["e-1", "e-2", "a-1"]})
        by_id = {item["event_id"]: item["redacted"] for item in found.json()["items"]}
        assert by_id == {"e-1": {"card": 3, "staff": 1}, "e-2": {}, "a-1": {"card": 1, "email": 1}}
        assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
        again = await door.get("/v1/events/e-1", user_id="u1")
        assert again.json()["redacted"] == {"card": 3, "staff": 1}
