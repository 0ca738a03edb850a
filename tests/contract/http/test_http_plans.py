"""What has begun over HTTP: the tick after a plan's day makes its value the present one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from contract.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

STARTS = "I start at Globex on Monday."


def answered(lines: list[tuple[int, str]], *, with_becomes: bool) -> list[dict[str, Any]]:
    """Return a model's answer: the employer; and what starts, as such or, as models do too, as if it were so now."""
    entries: list[dict[str, Any]] = []
    for number, text in lines:
        entry = {"sources": [number], "memory_type": "long_term", "category": "people", "kind": "semantic"}
        if text == STARTS:
            name = "becomes" if with_becomes else "attribute"
            entry |= {"content": "The user starts at Globex on Monday.", name: "employer", "value": "Globex"}
        else:
            entry |= {"content": "The user works at Initech.", "attribute": "employer", "value": "Initech"}
        entries.append(entry)
    return entries


async def tick(door: FrontDoor, as_of: str) -> None:
    answer = await door.post("/v1/admin/ticks", {"as_of": as_of, "policy": "ladder"})
    assert answer.is_success, answer.text


async def employer(door: FrontDoor) -> object:
    return (await door.get("/v1/users/u1/profile")).json()["employer"]


@pytest.mark.parametrize("with_becomes", [True, False])
async def test_a_job_that_starts_on_monday_is_the_present_one_from_monday_on(tmp_path: Path, *, with_becomes: bool):
    with ScriptedModel(lambda lines: answered(lines, with_becomes=with_becomes)) as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            for number, text in enumerate(("I work at Initech.", STARTS)):
                event = turn(f"m-{number}", text, session_id=f"m-{number}", occurred_at="2026-01-08T08:00:00Z")
                assert (await door.http.post("/v1/events?wait=60", json=event)).status_code == 200
            assert await employer(door) == "Initech"
            planned = {"user_id": "u1", "filters": {"becomes": "employer"}}
            [plan] = (await door.post("/v1/memories/query", planned)).json()["items"]
            assert (plan["attribute"], plan["value"], plan["occurred_at"]) == (None, "Globex", "2026-01-12T00:00:00Z")
            await tick(door, "2026-01-11T00:00:00Z")
            assert await employer(door) == "Initech"
            await tick(door, "2026-01-12T06:00:00Z")
            assert await employer(door) == "Globex"
            memories = (await door.get("/v1/memories", user_id="u1", attribute="employer")).json()["items"]
            assert [(m["value"], m["valid_from"]) for m in memories] == [("Globex", "2026-01-12T00:00:00Z")]
            former = (await door.get("/v1/memories", user_id="u1", status="superseded")).json()["items"]
            assert [(m["value"], m["valid_to"]) for m in former] == [("Initech", "2026-01-12T00:00:00Z")]
            history = (await door.get(f"/v1/memories/{plan['memory_id']}/history")).json()["events"]
            assert [(e["type"], e["reason"]) for e in history[:2]] == [
                ("MemoryFormed", "new"),
                ("MemoryRevised", "begun"),
            ]
