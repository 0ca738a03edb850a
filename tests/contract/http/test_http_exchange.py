"""Export and import over HTTP: what leaves one engine comes in at another as it was, once."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import FrontDoor, front_door, turn
from support.examples import nested

from projections.queries.export import export_of
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

COFFEE = {
    "source_system": "evatar",
    "memory_id": "7",
    "user_id": "u1",
    "content": "用户喜欢喝咖啡",
    "category": "preference",
    "importance": 0.7,
    "access_count": 3,
    "source_type": "photo",
    "source_ref": "IMG_1",
    "formed_at": "2026-01-05T08:00:00Z",
    "last_accessed_at": "2026-01-09T08:00:00Z",
}
OTHERS = ("memory_id", "superseded_by", "source_type", "provenance", "version", "content_hash", "strength")
"""What an import gives anew."""


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as opened:
        yield opened


async def exported(door: FrontDoor, user_id: str = "u1", **query: object) -> list[dict[str, Any]]:
    response = await door.get(f"/v1/users/{user_id}/export", **query)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return [orjson.loads(line) for line in response.content.splitlines()]


async def take_in(door: FrontDoor, *memories: dict[str, Any], query: str = "") -> dict[str, Any]:
    response = await door.http.post(f"/v1/import{query}", json=list(memories))
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def lived(door: FrontDoor) -> None:
    """Let u1 have memories of every status, said, recalled, superseded, faded and forgotten."""
    await door.remember("用户住在北京", attribute="city", value="北京", kind="semantic")
    await door.remember("用户住在上海", attribute="city", value="上海")
    await door.remember("第一次约会去看电影", kind="episodic", importance=0.9, agent_id="luna")
    gone = await door.remember("用户的密码是 1234")
    await door.http.delete(f"/v1/memories/{gone['memory_id']}")
    known = await door.remember("用户养了一只猫", agent_id="luna")
    for agent_id in ("aria", "nova"):
        await door.post(f"/v1/memories/{known['memory_id']}/share", {"agent_id": agent_id})
    await door.remember("明天开会", memory_type="short_term", category="schedule")
    await door.post("/v1/memories", {"user_id": "u1", "content": "用户住在上海"})
    await door.http.post("/v1/events?wait=60", json=turn("t-1", "我喜欢喝咖啡"))
    await door.post("/v1/admin/drain", {})


async def test_an_imported_memory_is_found_listed_and_told_of_as_it_was(door: FrontDoor):
    [item] = (await take_in(door, COFFEE))["items"]
    assert (item["action"], item["reason"]) == ("formed", "imported from evatar")
    memory = (await door.get(f"/v1/memories/{item['memory_id']}")).json()
    kept = ("content", "category", "importance", "access_count", "source_ref", "formed_at", "last_accessed_at")
    assert {name: memory[name] for name in kept} == {name: COFFEE[name] for name in kept}
    assert (memory["source_type"], memory["status"], memory["occurred_at"]) == ("import", "active", COFFEE["formed_at"])
    [event] = (await door.get(f"/v1/memories/{item['memory_id']}/history")).json()["events"]
    assert (event["type"], event["reason"]) == ("MemoryImported", "imported from evatar: 7 of u1")
    found = (await door.post("/v1/search", {"user_id": "u1", "query": "咖啡"})).json()["results"]
    assert [result["memory_id"] for result in found] == [item["memory_id"]]


async def test_importing_twice_is_importing_once(door: FrontDoor):
    first = await take_in(door, COFFEE, COFFEE)
    assert (first["imported"], first["known"], first["waiting"]) == (1, 1, 0)
    end = await door.worker.log.end("mnemolog.inbox", door.worker.shards.partition(Owner("default", "u1")))
    again = await take_in(door, COFFEE | {"access_count": 9})
    assert (again["imported"], again["known"]) == (0, 1)
    assert again["items"][0] == {
        "memory_id": first["items"][0]["memory_id"],
        "action": "nothing",
        "reason": "imported before",
    }
    assert end == await door.worker.log.end("mnemolog.inbox", door.worker.shards.partition(Owner("default", "u1")))


async def test_an_export_imported_into_an_empty_engine_gives_the_same_memories(tmp_path: Path):
    async with front_door(tmp_path / "old") as old:
        await lived(old)
        lines = await exported(old)
    async with front_door(tmp_path / "new") as new:
        body = b"\n".join(map(orjson.dumps, lines))
        response = await new.http.post("/v1/import", content=body, headers={"Content-Type": "application/x-ndjson"})
        assert response.status_code == 200, response.text
        answer = response.json()
        memories = [line for line in lines if line["type"] == "Memory"]
        assert (answer["imported"], answer["skipped"]) == (len(memories), len(lines) - len(memories))
        copied = [line for line in await exported(new) if line["type"] == "Memory"]
        keys = [name for name in memories[0] if name not in OTHERS]

        def kept(some: list[dict[str, Any]]) -> list[list[Any]]:
            return sorted(([m[k] for k in keys] for m in some), key=str)

        assert kept(copied) == kept(memories)
        assert sorted({m["status"] for m in memories}) == ["active", "forgotten", "superseded"]
        assert [m["shared_with"] for m in copied if m["shared_with"]] == [["aria", "nova"]]
        names = {m["memory_id"]: m["content"] for m in copied}
        assert [names[m["superseded_by"]] for m in copied if m["superseded_by"]] == ["用户住在上海"]
        again = await new.http.post("/v1/import", content=body, headers={"Content-Type": "application/x-ndjson"})
        assert (again.json()["imported"], again.json()["known"]) == (0, len(memories))


async def test_an_export_comes_back_to_where_it_is_from_as_nothing(door: FrontDoor):
    await lived(door)
    lines = await exported(door)
    before = (await door.get("/v1/admin/digest")).json()
    answer = await take_in(door, *lines)
    assert answer["imported"] == 0
    assert {item["reason"] for item in answer["items"]} == {"it is from here"}
    assert (await door.get("/v1/admin/digest")).json() == before


async def test_what_was_imported_is_there_after_a_rebuild(door: FrontDoor):
    await take_in(door, COFFEE, COFFEE | {"memory_id": "8", "content": "旧", "status": "forgotten"})
    rebuilt = (await door.post("/v1/admin/rebuild", {})).json()
    assert rebuilt["equal"]
    assert (await door.get("/v1/memories", user_id="u1")).json()["total"] == 1


async def test_an_export_tells_every_event_in_the_ledgers_order_and_ends_with_a_count(door: FrontDoor):
    await lived(door)
    lines = await exported(door)
    *rest, end = lines
    events = [line for line in rest if line["type"] != "Memory"]
    assert (end["type"], end["user_id"]) == ("Exported", "u1")
    assert (end["memories"], end["events"]) == (len(rest) - len(events), len(events))
    assert [line["type"] for line in rest[: end["memories"]]] == ["Memory"] * end["memories"]
    for memory in rest[: end["memories"]]:
        history = (await door.get(f"/v1/memories/{memory['memory_id']}/history")).json()["events"]
        kept = [
            {k: v for k, v in e.items() if k != "memory_id"} for e in events if e["memory_id"] == memory["memory_id"]
        ]
        assert kept == history


async def test_a_user_nobody_knows_has_an_export_of_its_end_alone(door: FrontDoor):
    [end] = await exported(door, "nobody")
    assert (end["type"], end["memories"], end["events"]) == ("Exported", 0, 0)


@pytest.mark.parametrize("lines_before", [1, 4, 6])
@pytest.mark.parametrize("path", ["/v1/users/u1", "/v1/memories/{}?forever=true"], ids=["user", "memory"])
async def test_of_what_is_erased_meanwhile_an_export_says_no_more_and_is_not_whole(
    door: FrontDoor, path: str, lines_before: int
):
    kept = [await door.remember(f"keeps {n} quokkas") for n in range(4)]
    export = export_of(door.worker.shards, Owner("default", "u1"), door.worker.clock.now())
    assert len(list(islice(export, lines_before))) == lines_before
    assert (await door.http.delete(path.format(kept[3]["memory_id"]))).status_code == 200
    assert list(export) == []
    assert [line["type"] for line in await exported(door)][-1] == "Exported"


async def test_what_is_decided_meanwhile_is_left_out_of_an_export(door: FrontDoor):
    await door.remember("keeps a quokka")
    export = export_of(door.worker.shards, Owner("default", "u1"), door.worker.clock.now())
    first = next(export)
    await door.remember("keeps a wombat")
    assert [first["type"], *(line["type"] for line in export)] == ["Memory", "MemoryFormed", "Exported"]


async def test_what_everyone_knows_is_exported_and_imported_apart(door: FrontDoor):
    await door.post("/v1/memories", {"user_id": "u1", "content": "公司在北京", "scope": "global"})
    assert [line["type"] for line in await exported(door)] == ["Exported"]
    [memory, *_] = await exported(door, scope="global")
    assert (memory["user_id"], memory["scope"]) == ("*", "global")
    other = memory | {"memory_id": "another", "content": "公司在上海"}
    assert (await take_in(door, other, query="?user_id=u2"))["imported"] == 1
    assert (await door.get("/v1/memories", scope="global")).json()["total"] == 2


async def test_an_import_may_become_another_users(door: FrontDoor):
    await take_in(door, COFFEE, query="?user_id=u2")
    totals = [(await door.get("/v1/memories", user_id=user)).json()["total"] for user in ("u1", "u2")]
    assert totals == [0, 1]


async def test_memories_of_many_users_come_in_at_once(door: FrontDoor):
    answer = await take_in(door, *(COFFEE | {"user_id": f"u{n}"} for n in range(20)))
    assert answer["imported"] == 20
    assert len({item["memory_id"] for item in answer["items"]}) == 20


async def test_a_line_with_its_content_alone_is_a_memory_and_the_same_line_the_same_memory(door: FrontDoor):
    line = {"user_id": "u1", "content": "用户养了一只猫"}
    assert (await take_in(door, line))["imported"] == 1
    assert (await take_in(door, line))["known"] == 1


async def test_two_systems_that_are_not_named_may_have_the_same_ids(door: FrontDoor):
    tea, cat = ({"user_id": "u1", "memory_id": "1", "content": content} for content in ("drinks tea", "has a cat"))
    assert (await take_in(door, tea))["imported"] == 1
    assert [item["action"] for item in (await take_in(door, cat, tea))["items"]] == ["formed", "nothing"]
    old = {"user_id": "u1", "memory_id": "2", "content": "has a dog", "status": "superseded", "superseded_by": "3"}
    new = {"user_id": "u1", "memory_id": "3", "content": "has a fox"}
    before, after = (await take_in(door, old, new))["items"]
    superseded = (await door.get(f"/v1/memories/{before['memory_id']}")).json()
    assert superseded["superseded_by"] == after["memory_id"]


async def test_an_import_says_what_it_does_not_take_because_its_id_was_imported_with_other_content(door: FrontDoor):
    other = COFFEE | {"content": "用户养了一只猫"}
    first, second = (await take_in(door, COFFEE, other))["items"]
    assert first["action"] == "formed"
    again = (await take_in(door, other))["items"][0]
    await door.http.patch(f"/v1/memories/{first['memory_id']}", json={"content": "用户爱喝茶"})
    revised = (await take_in(door, other, COFFEE))["items"]
    for item in (second, again, revised[0]):
        assert (item["memory_id"], item["action"]) == (first["memory_id"], "nothing")
        assert "give another source_system or memory_id" in item["reason"]
    assert revised[1]["reason"] == "imported before"


async def test_what_is_known_already_is_shared_with_the_agents_that_its_import_names(door: FrontDoor):
    memory = await door.remember("用户喜欢喝咖啡", agent_id="luna")
    line = COFFEE | {"agent_id": "luna", "shared_with": ["aria"]}
    for _ in range(2):
        [item] = (await take_in(door, line))["items"]
        assert (item["memory_id"], item["action"]) == (memory["memory_id"], "nothing")
        here = (await door.get(f"/v1/memories/{memory['memory_id']}")).json()
        assert (here["shared_with"], here["version"]) == (["aria"], 2)
    await take_in(door, line | {"content": "用户养了一只猫", "shared_with": ["nova"]})
    assert (await door.get(f"/v1/memories/{memory['memory_id']}")).json()["shared_with"] == ["aria"]


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        ({"content": " "}, "$[1].content", "is blank"),
        ({"importance": 1.5}, "$[1].importance", "1"),
        ({"colour": "red"}, "$[1].colour", "is not a field of a memory"),
        ({"type": "Diary"}, "$[1].type", "Memory"),
        ({"status": "dead"}, "$[1].status", "active"),
        ({"formed_at": "2099-01-01T00:00:00Z"}, "$[1].formed_at", "lies in the future"),
        ({"user_id": "*"}, "$[1].user_id", "reserved"),
        ({"metadata": {"n": "x" * 70_000}}, "$[1].metadata", "at most"),
        ({"metadata": nested(253)}, "$[1].metadata", "at most 32 objects and lists"),
    ],
)
async def test_a_bad_line_refuses_the_request_and_is_named(
    door: FrontDoor, change: dict[str, Any], path: str, says: str
):
    response = await door.post("/v1/import", [COFFEE, COFFEE | change])
    assert response.status_code == 422
    [error] = response.json()["errors"]
    assert (error["path"], says in error["message"]) == (path, True)
    assert (await door.get("/v1/memories", user_id="u1")).json()["total"] == 0


async def test_more_than_a_thousand_lines_are_too_many(door: FrontDoor):
    response = await door.post("/v1/import", [COFFEE] * 1_001)
    assert (response.status_code, "at most 1000" in response.json()["detail"]) == (413, True)


async def test_without_waiting_the_answer_is_that_it_is_accepted_and_no_vector_is_made_twice(door: FrontDoor):
    response = await door.http.post("/v1/import?wait=0", json=[COFFEE])
    assert (response.status_code, response.json()["waiting"]) == (202, 1)
    await door.post("/v1/admin/drain", {})
    door.embedder.is_down = True
    assert (await take_in(door, COFFEE))["known"] == 1
    response = await door.post("/v1/import", [COFFEE | {"memory_id": "8"}])
    assert response.status_code == 503


async def test_the_past_shows_an_imported_memory_from_its_forming_on(door: FrontDoor):
    await take_in(door, COFFEE)
    before = await door.get("/v1/memories", user_id="u1", as_of="2026-01-05T07:00:00Z")
    after = await door.get("/v1/memories", user_id="u1", as_of="2026-01-05T09:00:00Z")
    assert (before.json()["total"], after.json()["total"]) == (0, 1)
