"""The routes of mem0's protocol over HTTP: what a key may ask, and filters that no client of mem0's sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
import pytest
import pytest_asyncio
from contract.keyed_door import Caller, KeyedDoor, keyed_door

from mnemolog.access import key_file
from mnemolog.access.principal import Role
from mnemolog.extensions.mem0 import requests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mnemolog.http import own_routes

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADMIN = (Role.READ, Role.WRITE, Role.TENANT_ADMIN)
PLAIN = (Role.READ, Role.WRITE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KeyedDoor]:
    patched = pytest.MonkeyPatch()
    patched.setattr(key_file, "LOOK_SECONDS", 0.0)  # what was written counts at once
    async with keyed_door(tmp_path_factory.mktemp("keys")) as opened:
        yield opened
    patched.undo()


async def keep(caller: Caller, words: str, **whose: Any) -> str:
    body = {"messages": words, "infer": False, **whose}
    kept = await caller.ask("POST", "/v3/memories/add/", body)
    assert kept.status_code == 200, kept.text
    memory_id: str = kept.json()["results"][0]["id"]
    return memory_id


async def listed(caller: Caller, **filters: Any) -> set[str]:
    answer = await caller.ask("POST", "/v3/memories/", {"filters": filters})
    assert answer.status_code == 200, answer.text
    return {one["memory"] for one in answer.json()["results"]}


async def refused(caller: Caller, method: str, path: str, body: object = None, *, status: int, told: str) -> None:
    answer = await caller.ask(method, path, body)
    assert (answer.status_code, told in answer.text) == (status, True), answer.text


@pytest.mark.parametrize("condition", [{}, {"in": None}, {"in": 5}, {"nin": 5}, {"in": "ann"}, {"exists": "yes"}])
async def test_a_comparison_that_says_nothing_is_refused_and_deletes_nothing(door: KeyedDoor, condition: Any):
    caller = door.caller(*ADMIN, tenant="empty")
    await keep(caller, "Ann sails.", user_id="ann")
    for field in ("user_id", "run_id", "topic"):
        filters = {"AND": [{"user_id": "ann"}, {field: condition}]}
        await refused(caller, "POST", "/v3/memories/", {"filters": filters}, status=400, told=field.split("_")[-1])
        path = f"/v1/memories/?filters={quote(orjson.dumps(filters))}"
        await refused(caller, "DELETE", path, status=400, told=field.split("_")[-1])
    path = f"/v1/memories/?filters={quote(orjson.dumps({'user_id': condition}))}"
    await refused(caller, "DELETE", path, status=400, told="user_id")
    assert await listed(caller, user_id="ann") == {"Ann sails."}


async def test_numbers_are_the_texts_that_they_are_written_as(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="numbers")
    await keep(caller, "Number one skis.", user_id=7, run_id=12, agent_id=3, app_id=4)
    wanted = {"Number one skis."}
    for filters in (
        {"user_id": 7},
        {"user_id": {"in": [7, 8]}},
        {"user_id": [7]},
        {"AND": [{"user_id": 7}, {"run_id": 12}]},
        {"AND": [{"user_id": "*"}, {"agent_id": {"eq": 3}}]},
        {"AND": [{"user_id": ["*"]}, {"app_id": [4, 5]}]},
        {"AND": [{"user_id": "*"}, {"run_id": {"ne": 13}}]},
    ):
        assert await listed(caller, **filters) == wanted, filters
    await caller.ask("DELETE", "/v1/memories/", user_id="7", run_id="12")
    assert await listed(caller, user_id=7) == set()


async def test_who_may_not_list_users_is_told_so_and_nothing_is_called_deleted(door: KeyedDoor):
    plain, admin = door.caller(*PLAIN, tenant="lists"), door.caller(*ADMIN, tenant="lists")
    await keep(plain, "Bea climbs.", user_id="bea", run_id="r", app_id="p", agent_id="a")
    for path in (
        "/v1/memories/?run_id=r",
        "/v1/memories/?app_id=p",
        "/v1/memories/?agent_id=a",
        "/v2/entities/run/r/",
        "/v2/entities/app/p/",
        "/memories?run_id=r",
    ):
        await refused(plain, "DELETE", path, status=403, told="tenant-admin")
    await refused(plain, "POST", "/reset", status=403, told="tenant-admin")
    await refused(plain, "POST", "/v3/memories/", {"filters": {"user_id": "*"}}, status=403, told="name a user_id")
    asked = {"query": "climbs", "filters": {"NOT": [{"user_id": "x"}]}}
    await refused(plain, "POST", "/v3/memories/search/", asked, status=403, told="name a user_id")
    assert await listed(plain, user_id="bea") == {"Bea climbs."}
    assert (await admin.ask("DELETE", "/v2/entities/run/r/")).status_code == 200
    assert await listed(plain, user_id="bea") == set()


async def test_what_has_no_user_is_read_with_any_key(door: KeyedDoor):
    plain = door.caller(*PLAIN, tenant="alone")
    await keep(plain, "The planner prefers tables.", agent_id="planner")
    assert await listed(plain, agent_id="planner") == {"The planner prefers tables."}


async def test_a_key_of_some_users_is_answered_about_all_of_these(door: KeyedDoor):
    admin = door.caller(*ADMIN, tenant="some")
    for user in ("cid", "dan", "eve"):
        await keep(admin, f"{user} rows.", user_id=user, run_id="r")
    some = door.caller(*PLAIN, tenant="some", users=("cid", "dan"))
    assert await listed(some, run_id="r") == {"cid rows.", "dan rows."}
    assert (await some.ask("DELETE", "/v1/memories/", run_id="r")).status_code == 200
    assert await listed(admin, run_id="r") == {"eve rows."}


async def test_what_is_too_much_or_of_no_sense_is_refused_in_mem0s_words(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="bounds")
    memory_id = await keep(caller, "Fay dives.", user_id="fay")
    whose = {"user_id": "fay"}
    search = "/v3/memories/search/"
    await refused(caller, "POST", f"/v3/memories/?page={10**30}", {"filters": whose}, status=400, told="page must")
    await refused(
        caller, "POST", search, {"query": "x", "filters": whose, "threshold": 5}, status=400, told="threshold"
    )
    days = {"AND": [whose, {"created_at": {"lte": "9999-12-31"}}]}
    await refused(caller, "POST", "/v3/memories/", {"filters": days}, status=400, told="'9999-12-31' lies outside")
    far = {"filters": {"user_id": {"in": ["fay", "gus"]}}}
    await refused(caller, "POST", "/v3/memories/?page=11&page_size=100", far, status=400, told="name a user_id")
    await caller.ask("DELETE", f"/v1/memories/{memory_id}/")
    await refused(caller, "PUT", f"/v1/memories/{memory_id}/", {"text": "x"}, status=404, told="Memory not found")


async def test_a_filter_that_would_take_long_for_many_users_is_refused_before_any_is_asked(door: KeyedDoor):
    caller = door.caller(*PLAIN, tenant="large")
    users = {"user_id": {"in": [f"user {n}" for n in range(100)]}}
    filters = {"AND": [users, {"OR": [{"topic": n} for n in range(1_000)]}]}
    for path in ("/v3/memories/", "/v2/memories/"):
        await refused(caller, "POST", path, {"filters": filters}, status=400, told="too many values: at most 2000")
    search = {"query": "x", "filters": filters}
    await refused(caller, "POST", "/v3/memories/search/", search, status=400, told="too many values: at most 2000")


async def test_metadata_are_bounded_before_each_message_gets_them(door: KeyedDoor, monkeypatch: pytest.MonkeyPatch):
    caller = door.caller(*PLAIN, tenant="multiplied")
    asked: list[str] = []

    async def never(_: object, requested: own_routes.Requested, __: str) -> own_routes.Answered:
        asked.append(requested.path)
        raise AssertionError(requested.path)

    monkeypatch.setattr(requests, "ask", never)
    body = {"messages": [{"content": "x"}] * 1_000, "user_id": "ivy", "metadata": {"a": "x" * 10_000}}
    for path in ("/v3/memories/add/", "/v1/memories/", "/memories"):
        await refused(caller, "POST", path, body, status=413, told="send fewer at once")
    assert asked == []


@pytest.mark.parametrize("users", [("ana", "zed"), ("zed", "ana")])
async def test_what_is_found_of_several_users_comes_nearest_first_whoever_was_told_last(
    door: KeyedDoor, users: tuple[str, str]
):
    caller = door.caller(*ADMIN, tenant=f"best-{users[0]}")
    told = {"ana": "Jo once saw a yacht in a film.", "zed": "Sails a yacht."}
    for user in users:
        await keep(caller, told[user], user_id=user)
    asked = {"query": "sails a yacht", "filters": {"user_id": {"in": ["ana", "zed"]}}}
    found = (await caller.ask("POST", "/v3/memories/search/", asked)).json()["results"]
    assert [one["user_id"] for one in found] == ["zed", "ana"]


async def test_pages_of_several_users_have_each_memory_once(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="pages")
    users = [f"user {n}" for n in range(5)]
    for user in users:
        for n in range(3):
            await keep(caller, f"{user} says {n}", user_id=user)
    seen: list[str] = []
    for page in range(1, 5):
        body = {"filters": {"user_id": {"in": users}}}
        answer = await caller.ask("POST", f"/v3/memories/?page={page}&page_size=4", body)
        assert answer.json()["count"] == 15
        seen += [one["memory"] for one in answer.json()["results"]]
    assert sorted(seen) == sorted(f"{user} says {n}" for user in users for n in range(3))


async def test_a_filter_in_a_query_that_is_nested_deeply_is_refused(door: KeyedDoor):
    caller = door.caller(*PLAIN, tenant="deep")
    filters = '{"AND":[' * 400 + '{"user_id":"ann"}' + "]}" * 400
    for method in ("GET", "DELETE"):
        await refused(caller, method, f"/v1/memories/?filters={quote(filters)}", status=400, told="nested too deep")


@pytest.mark.parametrize("rest", ["/", "/history", "/history/", "/importance", "/restore", "/../x"])
async def test_an_id_that_would_lead_to_another_route_is_of_no_memory(door: KeyedDoor, rest: str):
    caller = door.caller(*ADMIN, tenant="paths")
    memory_id = await keep(caller, "Hal rides.", user_id="hal")
    one = {"memory_id": memory_id + rest}
    told = "Memory not found"
    await refused(caller, "DELETE", "/v1/batch/", {"memories": [one]}, status=404, told=told)
    await refused(caller, "PUT", "/v1/batch/", {"memories": [one | {"text": "x"}]}, status=404, told=told)
    await refused(caller, "POST", "/v1/feedback/", one | {"feedback": "POSITIVE"}, status=404, told=told)
    assert await listed(caller, user_id="hal") == {"Hal rides."}


@pytest.mark.parametrize(
    "filters", ["{'user_id': 10**30}", "{'user_id': 1000000000000000000000000}", "{'user_id': {1, 2}}", "{1: b'x'}"]
)
async def test_what_python_writes_and_json_cannot_is_refused(door: KeyedDoor, filters: str):
    caller = door.caller(*ADMIN, tenant="python")
    await refused(caller, "DELETE", f"/v1/memories/?filters={quote(filters)}", status=400, told="must be an object")


async def test_an_expiration_date_stays_through_deleting_restoring_and_another_type(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="expiry")
    memory_id = await keep(caller, "Gil fasts.", user_id="gil", expiration_date="2090-05-01")
    path = f"/v1/memories/{memory_id}"
    await caller.ask("DELETE", f"{path}/")
    assert (await caller.ask("POST", f"{path}/restore")).is_success
    assert (await caller.ask("PATCH", path, {"memory_type": "short_term"})).is_success
    assert (await caller.ask("GET", f"{path}/")).json()["expiration_date"] == "2090-05-01"


async def test_a_deletion_narrows_by_metadata_and_refuses_what_it_does_not_understand(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="narrowed")
    await keep(caller, "Ann sails.", user_id="ann", metadata={"topic": "sea"})
    await keep(caller, "Ann skis.", user_id="ann", metadata={"topic": "snow"})
    for path in ("/v1/memories/?user_id=ann", "/memories?user_id=ann"):
        for unknown in ("category=people", "preview=true", "metadat=x", "status=expired"):
            await refused(caller, "DELETE", f"{path}&{unknown}", status=400, told="does not narrow a deletion")
        await refused(caller, "DELETE", f"{path}&metadata=snow", status=400, told="metadata must be an object")
    assert await listed(caller, user_id="ann") == {"Ann sails.", "Ann skis."}
    as_python_writes_it = quote(str({"topic": "snow"}))
    answer = await caller.ask("DELETE", f"/v1/memories/?user_id=ann&metadata={as_python_writes_it}")
    assert answer.status_code == 200
    assert await listed(caller, user_id="ann") == {"Ann sails."}


async def test_what_is_kept_as_it_is_was_true_when_its_timestamp_says(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="dated")
    await keep(caller, "Ann moved to Oslo.", user_id="ann", timestamp=1_700_000_000)
    await keep(caller, "Ann moved to Rome.", user_id="ann", timestamp="2999-01-01")
    told = (await caller.ask("GET", "/v1/memories?user_id=ann")).json()["items"]
    at = {one["content"]: one["occurred_at"] for one in told}
    assert at["Ann moved to Oslo."] == "2023-11-14T22:13:20Z"
    assert at["Ann moved to Rome."] < "2999"


async def test_a_search_as_of_a_day_knows_what_was_said_on_it(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="today")
    await keep(caller, "Ann sails.", user_id="ann", timestamp="2026-01-05T09:00:00Z")
    for day, found in (("2026-01-04", 0), ("2026-01-05", 1), ("2026-01-06", 1)):
        body = {"query": "sails", "filters": {"user_id": "ann"}, "reference_date": day}
        assert len((await caller.ask("POST", "/v3/memories/search/", body)).json()["results"]) == found, day


async def test_a_project_is_read_by_readers_and_changed_by_the_tenants_administrator(door: KeyedDoor):
    path = "/api/v1/orgs/organizations/mnemolog/projects/mnemolog/"
    admin, plain = door.caller(*ADMIN, tenant="project"), door.caller(*PLAIN, tenant="project")
    changes = {"custom_instructions": "Remember the garden."}
    await refused(plain, "PATCH", path, changes, status=403, told="detail")
    assert (await admin.ask("PATCH", path, changes)).status_code == 200
    assert (await plain.ask("GET", path)).json()["custom_instructions"] == "Remember the garden."
    await refused(admin, "PATCH", path, {"custom_instructions": "x" * 4_001}, status=400, told="4000")
    assert (await admin.ask("PATCH", path, {"multilingual": False, "decay": False})).status_code == 200
    await refused(admin, "GET", path.replace("projects/mnemolog", "projects/another"), status=404, told="one project")


async def test_a_history_says_what_may_be_large_once(door: KeyedDoor):
    caller = door.caller(*ADMIN, tenant="histories")
    memory_id = await keep(caller, "Kai swims.", user_id="kai", metadata={"note": "x" * 1_000})
    for n in range(3):
        assert (await caller.ask("PUT", f"/v1/memories/{memory_id}/", {"text": f"Kai swims {n}."})).is_success
    entries = (await caller.ask("GET", f"/v1/memories/{memory_id}/history/")).json()
    assert [one["event"] for one in entries] == ["ADD", "UPDATE", "UPDATE", "UPDATE"]
    assert [one["metadata"] for one in entries] == [{}, {}, {}, {"note": "x" * 1_000}]
