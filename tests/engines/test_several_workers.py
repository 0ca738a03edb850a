"""Several workers on one Kafka and one Weaviate: any of them answers for all, and nothing is partial."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import mcp
import orjson
import pytest
import pytest_asyncio
from engines.several import SOON_SECONDS, Several, heard, held_here, two_workers
from faults.cluster.worker_process import UP

from mnemolog.cluster.trust import FORWARDED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.weaviate_server import WeaviateServer

USERS = 12


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory, weaviate: WeaviateServer) -> AsyncIterator[Several]:
    """Run two workers over a fresh Kafka; their index is in Weaviate."""
    async with two_workers(tmp_path_factory.mktemp("several"), weaviate.url, program=UP) as several:
        yield several


def turn(number: int, user: str, content: str = "I like tea") -> dict[str, str]:
    return {
        "type": "TurnRecorded",
        "event_id": f"t-{number}",
        "user_id": user,
        "session_id": "s",
        "role": "user",
        "content": content,
    }


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_exports_and_imports_of_many_users_go_by_whichever_worker_is_asked(two: Several):
    lines = [{"user_id": f"moved-{n}", "memory_id": str(n), "content": f"I like cake number {n}"} for n in range(USERS)]
    first = await two.json(0, "POST", "/v1/import?wait=30", lines)
    assert (first["imported"], first["waiting"]) == (USERS, 0)
    assert (await two.json(1, "POST", "/v1/import?wait=30", lines))["known"] == USERS
    for n in range(USERS):
        exports = [await two.ask(number, "GET", f"/v1/users/moved-{n}/export") for number in (0, 1)]
        assert {answer.headers["content-type"] for answer in exports} == {"application/x-ndjson"}
        told = [[orjson.loads(line) for line in answer.content.splitlines()] for answer in exports]
        assert [line["type"] for line in told[0]] == ["Memory", "MemoryImported", "Exported"]
        assert told[0][:1] == told[1][:1]
        assert told[0][0]["memory_id"] == first["items"][n]["memory_id"]


async def test_events_of_many_users_are_accepted_by_whichever_worker_is_asked(two: Several):
    events = [turn(n, f"many-{n}", f"I like tea number {n}") for n in range(USERS)]
    first = await two.json(0, "POST", "/v1/events", events)
    again = await two.json(1, "POST", "/v1/events", events)
    assert first == again
    assert [item["event_id"] for item in first["accepted"]] == [event["event_id"] for event in events]
    counts = await two.json(1, "POST", "/v1/admin/drain", {"timeout": 60})
    assert counts["remembered"] >= USERS
    for n in range(USERS):
        listed = [await two.json(number, "GET", f"/v1/memories?user_id=many-{n}") for number in (0, 1)]
        assert listed[0] == listed[1]
        assert [one["content"] for one in listed[0]["items"]] == [f"I like tea number {n}"]
        state = await two.json(0, "GET", f"/v1/events/t-{n}?user_id=many-{n}")
        assert state["state"] == "remembered"


async def test_one_event_with_another_body_refuses_the_whole_request_on_all_workers(two: Several):
    known = [turn(100 + n, f"conflict-{n}") for n in range(USERS)]
    await two.json(0, "POST", "/v1/events", known)
    new = [turn(200 + n, f"conflict-{n}") for n in range(USERS)]
    refused = await two.ask(1, "POST", "/v1/events", [*new, known[0] | {"content": "I like milk"}])
    assert refused.status_code == HTTPStatus.CONFLICT
    assert [error["path"] for error in refused.json()["errors"]] == [f"$[{USERS}].event_id"]
    for n in range(USERS):
        answer = await two.ask(0, "GET", f"/v1/events/t-{200 + n}?user_id=conflict-{n}")
        assert answer.status_code == HTTPStatus.NOT_FOUND


async def test_an_event_that_is_too_large_is_refused_by_whichever_worker_is_asked(two: Several):
    for n in range(4):
        large = turn(n, f"large-{n}") | {"metadata": {"notes": "x" * 1_100_000}}
        answers = [await two.http.post(worker.url + "/v1/events", json=large) for worker in two.workers]
        assert [answer.status_code for answer in answers] == [HTTPStatus.UNPROCESSABLE_ENTITY] * 2
        assert all("metadata" in answer.json()["errors"][0]["path"] for answer in answers)


async def test_a_memory_named_without_its_user_is_found_changed_and_forgotten_through_any_worker(two: Several):
    formed = [await two.remember(n % 2, f"named-{n}", f"plays the cello in room {n}") for n in range(4)]
    for n, memory in enumerate(formed):
        path = f"/v1/memories/{memory['memory_id']}"
        for number in (0, 1):
            assert (await two.json(number, "GET", path))["content"] == memory["content"]
            assert (await two.json(number, "GET", f"{path}/history"))["events"]
            assert await two.found(number, f"named-{n}", "cello") == [memory["content"]]
        other = (n + 1) % 2
        changed = await two.json(other, "PATCH", path, {"importance": 0.9, "expected_version": memory["version"]})
        assert changed["importance"] == 0.9
        assert (await two.json(other, "DELETE", path))["status"] == "forgotten"
        assert await two.found(n % 2, f"named-{n}", "cello") == []
    unknown = await two.ask(0, "GET", "/v1/memories/none")
    assert unknown.status_code == HTTPStatus.NOT_FOUND


async def test_what_is_remembered_for_everyone_is_found_by_every_worker_at_once(two: Several):
    for number in (0, 1):
        memory = await two.remember(number, "whoever", f"the office has {number + 3} doors", scope="global")
        for asked in (0, 1):
            assert memory["content"] in await two.found(asked, f"someone-{asked}", "office doors")
            assert memory["content"] in [
                one["content"] for one in (await two.json(asked, "GET", "/v1/memories?scope=global"))["items"]
            ]


async def test_evatars_lists_hold_the_memories_of_all_workers_in_one_order(two: Several):
    formed = [
        await two.remember(n % 2, f"device-{n}", f"plays the lute in room {n}", category="habit", importance=n / 20)
        for n in range(USERS)
    ]
    shared = await two.remember(1, "whoever", "the lute is in room 7", scope="global", category="habit", importance=0.3)
    expected = sorted([*formed, shared], key=lambda memory: (memory["importance"], memory["formed_at"]), reverse=True)
    for number in (0, 1):
        found, stats = [], await two.json(number, "GET", "/api/memories/stats")
        for page in range(1, 6):
            listed = await two.json(number, "GET", f"/api/memories?category=habit&page={page}&page_size=3")
            assert listed["total"] == stats["by_category"]["habit"] == len(expected)
            found += [item["id"] for item in listed["items"]]
        assert found == [memory["memory_id"] for memory in expected]
        of_one = await two.json(number, "GET", "/api/memories?device_id=device-7")
        assert [item["id"] for item in of_one["items"]] == [formed[7]["memory_id"]]
    for number in (0, 1):
        for n in (number, number + 2):
            assert (await two.json(number, "DELETE", f"/api/memories/{formed[n]['memory_id']}"))[
                "device_id"
            ] == f"device-{n}"
    left = await two.json(0, "GET", "/api/memories?category=habit")
    assert left["total"] == len(expected) - 4


async def test_a_memory_is_shared_with_users_of_any_worker(two: Several):
    for n in range(8):
        memory = await two.remember(n % 2, f"giver-{n}", f"keeps {n} bees in the garden", agent_id="luna")
        path = f"/v1/memories/{memory['memory_id']}/share"
        copies = [await two.json(number, "POST", path, {"user_id": f"taker-{n}"}) for number in (n % 2, 1 - n % 2)]
        assert copies[0] == copies[1] | {"strength": copies[0]["strength"]}
        for number in (0, 1):
            assert memory["content"] in await two.found(number, f"taker-{n}", "bees in the garden")
            assert (await two.json(number, "POST", path, {"agent_id": "aria"}))["shared_with"] == ["aria"]
            for agent, count in (("luna", 1), ("aria", 1), ("nova", 0)):
                asked = {"user_id": f"giver-{n}", "agent_id": agent, "query": "bees", "scope": "personal"} | {
                    "include": ["memories"]
                }
                found = await two.json(number, "POST", "/v1/search", asked | {"recall": False})
                assert len(found["results"]) == count, (n, agent)
        everyones = await two.json(n % 2, "POST", path, {"scope": "global"})
        assert everyones["content"] in await two.found(1 - n % 2, "anyone", "bees in the garden")
        assert (await two.json(0, "DELETE", f"/api/memories/{everyones['memory_id']}"))["device_id"] == "*"


async def test_the_tools_of_any_workers_mcp_server_reach_every_user(two: Several):
    for n in range(4):
        url = two.workers[n % 2].url, two.workers[1 - n % 2].url
        async with mcp.Client(f"{url[0]}/mcp?user_id=mcp-{n}") as client:
            added = await client.call_tool("memory_add", {"content": f"paints ship number {n}"})
            everyones = await client.call_tool("memory_add", {"content": f"dock {n} is closed", "scope": "global"})
        assert not added.is_error, added.content
        assert not everyones.is_error, everyones.content
        async with mcp.Client(f"{url[1]}/mcp?user_id=mcp-{n}", mode="legacy") as client:
            found = await client.call_tool("memory_search", {"query": "ship", "scope": "personal"})
            shared = await client.call_tool("memory_search", {"query": f"dock {n} closed", "scope": "global"})
            one = await client.call_tool("memory_get", {"memory_id": added.structured_content["memory_id"]})
            listed = await client.call_tool("memory_list", {})
        assert one.structured_content["content"] == f"paints ship number {n}"
        assert [each["content"] for each in listed.structured_content["items"]] == [f"paints ship number {n}"]
        assert [one["memory"] for one in found.structured_content["results"]] == [f"paints ship number {n}"]
        assert f"dock {n} is closed" in [one["memory"] for one in shared.structured_content["results"]]


async def test_operators_hear_of_all_partitions_from_any_worker(two: Several):
    first, second = [await two.json(number, "GET", "/v1/admin/digest") for number in (0, 1)]
    assert first == second
    told = await two.json(1, "POST", "/v1/admin/ticks", {"as_of": "2026-02-05T08:00:00Z", "policy": "ladder"})
    assert told["applied"]
    again = await two.json(0, "POST", "/v1/admin/ticks", {"as_of": "2026-02-05T08:00:00Z", "policy": "ladder"})
    assert (again["tick_id"], again["applied"]) == (told["tick_id"], True)


async def test_a_rebuild_builds_on_all_workers_and_can_be_switched_back(two: Several):
    await two.remember(0, "rebuilt", "rows on the lake every Sunday")
    await two.json(0, "POST", "/v1/admin/drain", {})  # flushes what the searches of tests before recalled
    before = (await two.json(0, "GET", "/v1/admin/digest"))["total"]
    known = await two.json(0, "GET", "/v1/admin/rebuild")
    searching = asyncio.create_task(search_all_the_while(two))
    built = await two.json(1, "POST", "/v1/admin/rebuild", {})
    assert (built["equal"], built["digest_before"], built["digest_after"]) == (True, before, before)
    assert built["generation"] > known["active"]
    listed = await two.json(0, "GET", "/v1/admin/rebuild")
    assert listed["active"] == built["generation"]
    assert known["active"] in listed["generations"]
    await two.remember(1, "rebuilt", "skates on the lake every winter")
    back = await two.json(0, "POST", "/v1/admin/rebuild", {"activate": known["active"]})
    assert (back["equal"], back["generation"]) == (True, known["active"])
    searching.cancel()
    with suppress(asyncio.CancelledError):
        await searching  # it fails with the first search that did
    for number in (0, 1):
        both = {"rows on the lake every Sunday", "skates on the lake every winter"}
        assert both <= set(await two.found(number, "rebuilt", "lake"))
        assert (await two.json(number, "GET", "/v1/admin/rebuild"))["active"] == known["active"]
    unknown = await two.ask(0, "POST", "/v1/admin/rebuild", {"activate": 99})
    assert unknown.status_code == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("wanted", ["old", "new"])
async def test_a_switch_that_not_every_worker_made_is_made_by_who_did_not_and_can_be_taken_back(
    two: Several, wanted: str
):
    """As when a worker dies at the switch: one worker has the new generation, the other and the index have the old."""
    await two.remember(0, "halved", f"halves an orange for the {wanted} table")
    known = await two.json(0, "GET", "/v1/admin/rebuild")
    generations = {"old": known["active"], "new": max(known["generations"]) + 10}
    before = await own_generations(two, 0)
    asked = {"what": "all", "generation": generations["new"], "rebuild_id": f"half-{wanted}"}
    for step in ("build", "switch"):
        body = {**asked, "switches": before["switches"] + 1}
        done = await two.ask(0, "POST", f"/v1/internal/rebuild/{step}", body, **{FORWARDED: two.workers[1].url})
        assert done.is_success, done.text
    assert f"halves an orange for the {wanted} table" in await two.found(1, "halved", "orange")
    async with asyncio.timeout(SOON_SECONDS):
        while {(await own_generations(two, n))["active"] for n in (0, 1)} != {generations["new"]}:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
    assert f"halves an orange for the {wanted} table" in await two.found(1, "halved", "orange")
    done = await two.json(1, "POST", "/v1/admin/rebuild", {"activate": generations[wanted]})
    assert (done["equal"], done["generation"]) == (True, generations[wanted])
    for number in (0, 1):
        assert (await two.json(number, "GET", "/v1/admin/rebuild"))["active"] == generations[wanted]
        assert f"halves an orange for the {wanted} table" in await two.found(number, "halved", "orange")
    again = await two.json(0, "POST", "/v1/admin/rebuild", {"activate": generations[wanted]})
    assert (again["equal"], again["generation"]) == (True, generations[wanted])


async def own_generations(two: Several, number: int) -> dict[str, Any]:
    """Return what one worker tells another one of its generations."""
    answer = await two.ask(number, "POST", "/v1/internal/generations", {}, **{FORWARDED: two.workers[1 - number].url})
    assert answer.is_success, answer.text
    return dict(answer.json()["body"])


async def search_all_the_while(two: Several) -> None:
    """Search again and again: no search may fail or miss what is there while a generation is built and switched."""
    body = {"user_id": "rebuilt", "query": "rows on the lake", "recall": False}
    while True:
        for worker in two.workers:
            answer = await two.http.post(f"{worker.url}/v1/search", json=body)
            assert answer.is_success, answer.text
            assert "rows on the lake every Sunday" in [one["memory"] for one in answer.json()["results"]]
        await asyncio.sleep(0.02)


async def test_wakes_of_all_workers_come_over_the_stream_of_any_and_go_on_at_another(two: Several):
    begun = [asyncio.Event(), asyncio.Event()]
    streams = [asyncio.create_task(heard(two, number, USERS, begun=begun[number])) for number in (0, 1)]
    async with asyncio.timeout(SOON_SECONDS):
        for each in begun:
            await each.wait()
    for n in range(USERS):
        reminder = {"due_at": "2026-01-05T08:00:00Z", "content": f"water plant {n}", "channel": "dm"}
        await two.json(n % 2, "POST", f"/v1/users/waker-{n}/reminders", reminder)
    first, second = await asyncio.gather(*streams)
    expected = {f"water plant {n}" for n in range(USERS)}
    assert {wake["content"] for _, wake in first} == {wake["content"] for _, wake in second} == expected
    middle = first[USERS // 2][0]
    after = await heard(two, 1, USERS - USERS // 2 - 1, after=middle)
    assert {wake["wake_id"] for _, wake in after} == {wake["wake_id"] for _, wake in first[USERS // 2 + 1 :]}
    for number in (0, 1):
        for n in range(USERS):
            polled = await two.json(number, "GET", f"/v1/users/waker-{n}/wakes")
            assert [wake["content"] for wake in polled["items"]] == [f"water plant {n}"]


async def test_changes_of_all_workers_come_page_by_page_from_whichever_is_asked(two: Several):
    cursor = (await two.json(0, "GET", "/v1/changes?after=now"))["next"]
    made: dict[str, list[str]] = {f"changer-{n}": [] for n in range(USERS)}
    for tea in ("green tea", "black tea"):
        for n, user in enumerate(made):
            made[user].append((await two.remember(n % 2, user, f"I like {tea}"))["memory_id"])
    assert await held_here(two, 0)
    assert await held_here(two, 1)
    items: list[Any] = []
    asked, more = 0, True
    while more:  # the cursor of one worker is good at the other
        answer = await two.json(asked % 2, "GET", f"/v1/changes?limit=5&after={cursor}")
        items, cursor, more, asked = items + answer["items"], answer["next"], answer["more"], asked + 1
    assert asked > 1
    formed = [item for item in items if item["type"] == "MemoryFormed"]
    for user, memory_ids in made.items():
        assert [item["memory_id"] for item in formed if item["user_id"] == user] == memory_ids
    assert len(formed) == 2 * USERS
