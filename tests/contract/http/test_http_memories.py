"""Memories over HTTP: remember, list, revise, forget, restore, and where each came from."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn
from support.examples import nested

from mnemolog.commands import commands
from projections.queries import search
from projections.state.time_travel import state_at
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from datetime import datetime

    from projections.state.memory import UserState
    from schemas.messages.decision import Decision

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def test_a_memory_has_the_shape_of_the_contract(door: FrontDoor):
    memory = await door.remember("likes tea", "shape", attribute="likes", value="tea", metadata={"from": "a form"})
    expected: dict[str, object] = {
        "user_id": "shape", "agent_id": None, "scope": "personal", "kind": "semantic", "memory_type": "long_term",
        "category": "fact", "content": "likes tea", "attribute": "likes", "value": "tea", "importance": 0.5,
        "grade": 2.0, "initial_strength": 1.0, "strength": 0.6, "access_count": 0, "recall_count": 0,
        "source_type": "manual", "source_ids": [], "expires_at": None, "status": "active", "version": 1,
        "metadata": {"from": "a form"}, "superseded_by": None, "key_dialogue": [], "event_type": None,
        "content_hash": "333eb7a1a291340c4a5e076606a7774e",
    }  # fmt: skip
    assert {name: memory[name] for name in expected} == expected
    assert memory["last_accessed_at"] == memory["formed_at"]


async def test_an_exact_duplicate_is_the_known_memory_and_an_access(door: FrontDoor):
    known = await door.remember("likes tea", "again")
    response = await door.post("/v1/memories", {"user_id": "again", "content": "Likes  tea."})
    assert response.status_code == 200
    assert (response.json()["memory_id"], response.json()["access_count"]) == (known["memory_id"], 1)


async def test_an_idempotency_key_makes_a_command_happen_once(door: FrontDoor):
    body = {"user_id": "once", "content": "likes tea"}
    first, second = [await door.post("/v1/memories", body, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()


async def test_an_idempotency_key_that_was_used_for_another_body_is_refused(door: FrontDoor):
    """As for events: the second body must not be dropped behind the first one's answer."""
    car, boat = ({"user_id": "keys", "content": f"owns a {thing}"} for thing in ("car", "boat"))
    assert (await door.post("/v1/memories", car, **{"Idempotency-Key": "k2"})).status_code == 201
    refused = await door.post("/v1/memories", boat, **{"Idempotency-Key": "k2"})
    assert refused.status_code == 409
    assert "another command" in refused.json()["detail"]
    assert [m["content"] for m in (await door.get("/v1/memories", user_id="keys")).json()["items"]] == ["owns a car"]


async def test_the_same_text_with_another_value_is_another_fact(door: FrontDoor):
    paris, london = (
        {"user_id": "moved", "content": "I moved", "attribute": "city", "value": city} for city in ("Paris", "London")
    )
    assert (await door.post("/v1/memories", paris)).status_code == 201
    assert (await door.post("/v1/memories", london)).status_code == 201
    assert (await door.get("/v1/users/moved/profile")).json()["city"] == "London"


async def test_what_was_remembered_is_found_at_once(door: FrontDoor):
    memory = await door.remember("plays the cello", "at-once")
    assert memory.pop("similar") == []
    assert (await door.get("/v1/memories", user_id="at-once")).json()["items"] == [memory]
    assert (await door.get(f"/v1/memories/{memory['memory_id']}")).json() == memory


async def test_an_unknown_user_has_an_empty_list(door: FrontDoor):
    answer = (await door.get("/v1/memories", user_id="nobody")).json()
    assert answer == {"items": [], "total": 0, "page": 1, "page_size": 50}


async def test_a_list_is_ordered_by_importance_and_paged(door: FrontDoor):
    for number in range(5):
        await door.remember(f"fact number {number}", "paged", importance=number / 10)
    page = (await door.get("/v1/memories", user_id="paged", page=2, page_size=2)).json()
    assert [item["importance"] for item in page["items"]] == [0.2, 0.1]
    assert (page["total"], page["page"], page["page_size"]) == (5, 2, 2)
    limited = (await door.get("/v1/memories", user_id="paged", limit=3)).json()
    assert [item["importance"] for item in limited["items"]] == [0.4, 0.3, 0.2]


async def test_relevant_memories_are_the_first_ten_that_have_not_expired(door: FrontDoor):
    """Evatar's get_relevant_memories: by importance, then by the last access."""
    for number in range(12):
        await door.remember(f"fact number {number}", "relevant", importance=0.5 if number % 2 else 0.6)
    fading = await door.remember("is on a train", "relevant", memory_type="short_term", importance=0.9)
    met = await door.post("/v1/memories", {"user_id": "relevant", "content": "fact number 0"})
    first = (await door.get("/v1/memories", user_id="relevant", limit="")).json()["items"]
    assert [len(first), first[0]["content"], first[1]["memory_id"]] == [10, fading["content"], met.json()["memory_id"]]
    keys = [(item["importance"], item["last_accessed_at"]) for item in first]
    assert keys == sorted(keys, reverse=True)
    door.clock.ahead = timedelta(hours=49)
    try:
        later = (await door.get("/v1/memories", user_id="relevant", limit="")).json()["items"]
    finally:
        door.clock.ahead = timedelta()
    assert [item["memory_id"] for item in later[:9]] == [item["memory_id"] for item in first[1:]]
    assert len(later) == 10


async def test_a_list_is_narrowed_by_each_filter(door: FrontDoor):
    await door.remember("is called Li", "narrow", category="people", attribute="user_name", value="Li")
    await door.remember("will fly on Monday", "narrow", memory_type="short_term", category="schedule")
    await door.remember("had a fight", "narrow", kind="episodic", agent_id="luna")
    for name, value, expected in [
        ("category", "people", {"is called Li"}),
        ("memory_type", "short_term", {"will fly on Monday"}),
        ("kind", "episodic", {"had a fight"}),
        ("attribute", "user_name", {"is called Li"}),
        ("agent_id", "aria", {"is called Li", "will fly on Monday"}),
        ("source_type", "chat", set()),
    ]:
        items = (await door.get("/v1/memories", user_id="narrow", **{name: value})).json()["items"]
        assert {item["content"] for item in items} == expected, name


async def test_global_memories_belong_to_everyone(door: FrontDoor):
    memory = await door.remember("the office is in Berlin", "giver", scope="global")
    assert memory["user_id"] == "*"
    listed = (await door.get("/v1/memories", scope="global")).json()["items"]
    assert [item["memory_id"] for item in listed] == [memory["memory_id"]]
    response = await door.http.delete(f"/v1/memories/{memory['memory_id']}")
    assert (response.status_code, response.json()["status"]) == (200, "forgotten")


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("user_id=u&page_size=201", "$.page_size"),
        ("user_id=u&page=0", "$.page"),
        ("user_id=u&limit=0", "$.limit"),
        ("user_id=u&limit=5&page=1", "$.limit"),
        ("user_id=u&limit=&page_size=5", "$.limit"),
        ("user_id=u&status=gone", "$.status"),
        ("user_id=u&kind=odd", "$.kind"),
        ("user_id=u&category=odd", "$.category"),
        ("user_id=u&memory_type=odd", "$.memory_type"),
        ("user_id=u&source_type=odd", "$.source_type"),
        ("user_id=u&scope=odd", "$.scope"),
        ("user_id=u&as_of=2026-01-05T08:00:00", "$.as_of"),
        ("user_id=u&as_of=1767600000", "$.as_of"),
        ("user_id=u&known_at=2026-01-05T08:00:00Z", "$.known_at"),
        ("user_id=u&page_sise=2", "$.page_sise"),
        ("user_id=*", "$.user_id"),
        ("", "$.user_id"),
    ],
)
async def test_a_list_refuses_what_it_does_not_know(door: FrontDoor, query: str, path: str):
    response = await door.http.get(f"/v1/memories?{query}")
    assert (response.status_code, [e["path"] for e in response.json()["errors"]]) == (422, [path])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("importance", 1.1), ("importance", -0.1), ("importance", "0.5"), ("kind", "odd"), ("category", "odd"),
        ("memory_type", "odd"), ("scope", "odd"), ("content", " "), ("content", "x" * 65537), ("content", 7),
        ("user_id", ""), ("user_id", "a\nb"), ("user_id", "x" * 257), ("nonsense", 1), ("metadata", []),
        ("metadata", nested(33)), ("metadata", nested(253)),
    ],
)  # fmt: skip
async def test_remembering_refuses_what_it_does_not_know(door: FrontDoor, field: str, value: object):
    response = await door.post("/v1/memories", {"user_id": "u", "content": "likes tea"} | {field: value})
    assert (response.status_code, [e["path"] for e in response.json()["errors"]]) == (422, [f"$.{field}"])


async def test_revising_changes_what_is_given_and_moves_the_version(door: FrontDoor):
    memory = await door.remember("likes tea", "revise", importance=0.4)
    path = f"/v1/memories/{memory['memory_id']}"
    changes = {"content": "likes green tea", "importance": 0.9, "category": "preference", "expected_version": 1}
    revised = (await door.http.patch(path, json=changes)).json()
    assert (revised["content"], revised["importance"], revised["category"]) == ("likes green tea", 0.9, "preference")
    assert revised["version"] == 2
    stale = await door.http.patch(path, json={"importance": 0.1, "expected_version": 1})
    assert stale.status_code == 409
    assert "version 2" in stale.json()["detail"]
    assert (await door.get(path)).json()["importance"] == 0.9


async def test_revising_into_a_duplicate_is_refused(door: FrontDoor):
    await door.remember("likes tea", "dup")
    other = await door.remember("likes coffee", "dup")
    response = await door.http.patch(f"/v1/memories/{other['memory_id']}", json={"content": "likes tea"})
    assert (response.status_code, response.json()["detail"]) == (409, "another memory has this very text")


async def test_a_revision_that_says_nothing_is_refused(door: FrontDoor):
    memory = await door.remember("likes tea", "nothing")
    path = f"/v1/memories/{memory['memory_id']}"
    assert (await door.http.patch(path, json={"expected_version": 1})).status_code == 422
    assert (await door.http.patch(path, json={"importance": 2})).status_code == 422


async def test_a_forgotten_memory_can_no_longer_be_found_and_can_be_brought_back(door: FrontDoor):
    memory = await door.remember("likes tea", "forget")
    path = f"/v1/memories/{memory['memory_id']}"
    first, second = await door.http.delete(path), await door.http.delete(path)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert (await door.get("/v1/memories", user_id="forget")).json()["items"] == []
    assert (await door.post("/v1/search", {"user_id": "forget", "query": "tea"})).json()["results"] == []
    assert (await door.get("/v1/memories", user_id="forget", status="forgotten")).json()["total"] == 1
    assert (await door.http.patch(path, json={"importance": 0.1})).status_code == 409
    restored = await door.post(f"{path}/restore")
    assert (restored.status_code, restored.json()["status"]) == (200, "active")
    assert (await door.get("/v1/memories", user_id="forget")).json()["total"] == 1


async def test_a_superseded_memory_is_not_restored(door: FrontDoor):
    old = await door.remember("lives in Berlin", "moved", attribute="city", value="Berlin")
    await door.remember("lives in Paris", "moved", attribute="city", value="Paris")
    response = await door.post(f"/v1/memories/{old['memory_id']}/restore")
    assert (response.status_code, response.json()["detail"]) == (
        409,
        "a newer value took its place: revise that one, or remember this one anew",
    )


@pytest.mark.parametrize(
    ("method", "suffix"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/restore"), ("GET", "/history"), ("GET", "/importance")],
)
async def test_an_unknown_memory_is_not_found(door: FrontDoor, method: str, suffix: str):
    body = {"importance": 0.1} if method == "PATCH" else None
    response = await door.http.request(method, f"/v1/memories/none{suffix}", json=body)
    assert (response.status_code, response.json()["detail"]) == (404, "there is no memory 'none'")


async def test_a_memory_is_not_found_for_another_user(door: FrontDoor):
    memory = await door.remember("likes tea", "mine")
    path = f"/v1/memories/{memory['memory_id']}"
    assert (await door.get(path, user_id="mine")).status_code == 200
    assert (await door.get(path, user_id="yours")).status_code == 404
    assert (await door.http.delete(f"{path}?user_id=yours")).status_code == 404


async def test_history_leads_back_to_the_words(door: FrontDoor):
    response = await door.http.post("/v1/events?wait=10", json=turn("h-1", "I live in Berlin.", user_id="history"))
    [memory_id] = response.json()["accepted"][0]["memory_ids"]
    await door.http.patch(f"/v1/memories/{memory_id}", json={"importance": 0.9})
    history = (await door.get(f"/v1/memories/{memory_id}/history")).json()
    assert [event["type"] for event in history["events"]] == ["MemoryFormed", "MemoryRevised"]
    formed, revised = history["events"]
    assert formed["before"] is None
    assert (revised["before"]["importance"], revised["after"]["importance"]) == (0.8, 0.9)
    assert [observation["content"] for observation in history["lineage"]["observations"]] == ["I live in Berlin."]
    assert [candidate["model"] for candidate in history["lineage"]["candidates"]] == ["rules"]


async def test_what_happened_what_was_felt_and_what_was_said_can_be_corrected(door: FrontDoor):
    said = turn("fight-1", "昨天我跟老公大吵了一架，好难过", user_id="corrected")
    response = await door.http.post("/v1/events?wait=10", json=said)
    [memory_id] = response.json()["accepted"][0]["memory_ids"]
    path = f"/v1/memories/{memory_id}"
    before = (await door.get(path)).json()
    assert (before["event_type"], before["emotion"]) == ("fight", "sad")
    new = {"event_type": "makeup", "emotion": "happy", "emotion_intensity": 0.4, "key_dialogue": ["我们和好了"]}
    after = (await door.http.patch(path, json=new)).json()
    assert {name: after[name] for name in new} == new
    assert (after["content"], after["importance"]) == (before["content"], before["importance"])
    revised = (await door.get(f"{path}/history")).json()["events"][-1]
    assert (revised["before"]["event_type"], revised["after"]["event_type"]) == ("fight", "makeup")
    assert (revised["before"]["key_dialogue"], revised["after"]["key_dialogue"]) == (
        before["key_dialogue"], ["我们和好了"],
    )  # fmt: skip
    felt = (await door.get("/v1/users/corrected/emotions")).json()
    assert [one["emotion"] for one in felt["items"]] == ["happy"]
    taken = (await door.http.patch(path, json={"event_type": "", "emotion": "", "key_dialogue": []})).json()
    left = ("event_type", "emotion", "emotion_intensity", "key_dialogue")
    assert [taken[name] for name in left] == [None, None, None, []]


async def test_a_semantic_memory_has_no_event_to_correct(door: FrontDoor):
    memory = await door.remember("likes tea", "no-event")
    response = await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"event_type": "gift"})
    assert response.status_code == 422
    assert response.json()["errors"][0]["path"] == "$.event_type"


async def test_a_dialogue_is_as_short_as_one_that_was_merged(door: FrontDoor):
    memory = await door.remember("likes tea", "long-dialogue")
    path = f"/v1/memories/{memory['memory_id']}"
    assert (await door.http.patch(path, json={"key_dialogue": ["a"] * 51})).status_code == 422
    assert (await door.http.patch(path, json={"key_dialogue": ["a" * 3000] * 6})).status_code == 422


async def test_importance_is_a_curve_read_from_the_log(door: FrontDoor):
    memory = await door.remember("likes tea", "curve")
    path = f"/v1/memories/{memory['memory_id']}/importance"
    until = (door.worker.clock.now() + timedelta(days=40)).isoformat()
    points = (await door.get(path, points=3, to=until)).json()["points"]
    assert [point["importance"] for point in points] == [0.5, 0.5, 0.5]
    assert points[0]["strength"] > points[1]["strength"] > points[2]["strength"]
    backwards = {"from": "2030-01-01T00:00:00Z", "to": "2029-01-01T00:00:00Z"}
    assert (await door.get(path, **backwards)).status_code == 422
    assert (await door.get(path, points=367)).status_code == 422


async def test_the_past_is_made_once_for_an_answer_and_beside_the_event_loop(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    await door.http.post("/v1/memories", json={"user_id": "looked-back", "content": "I live in Oslo."})
    threads = list[int]()

    def noted(owner: Owner, decisions: Iterable[Decision], as_of: datetime) -> UserState:
        threads.append(threading.get_ident())
        return state_at(owner, decisions, as_of)

    monkeypatch.setattr(search, "state_at", noted)
    asked = {"user_id": "looked-back", "as_of": "2026-01-05T08:00:00Z"}
    for path in ("/v1/memories", "/v1/users/looked-back/episodes", "/v1/users/looked-back/profile"):
        threads.clear()
        query = asked if path == "/v1/memories" else {"as_of": asked["as_of"]}
        assert (await door.get(path, **query)).status_code == 200
        assert len(threads) == 1, path
        assert threading.get_ident() not in threads


async def test_the_past_is_answered_with_what_was_effective_then(door: FrontDoor):
    event = turn("past-1", "I live in Berlin.", user_id="past", occurred_at="2026-01-05T08:00:00Z")
    response = await door.http.post("/v1/events?wait=10", json=event)
    [memory_id] = response.json()["accepted"][0]["memory_ids"]
    await door.http.patch(f"/v1/memories/{memory_id}", json={"importance": 0.1})
    path = f"/v1/memories/{memory_id}"
    assert (await door.get(path, as_of="2026-02-01T00:00:00Z")).json()["importance"] == 0.8
    assert (await door.get(path, as_of="2026-02-01T00:00:00+08:00")).json()["importance"] == 0.8
    assert (await door.get(path, as_of="2026-01-01T00:00:00Z")).status_code == 404
    listed: Any = (await door.get("/v1/memories", user_id="past", as_of="2026-01-01T00:00:00Z")).json()
    assert listed["total"] == 0


async def test_a_command_that_waits_for_its_decision_is_accepted_and_decided_later(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(commands, "DECISION_SECONDS", 0.1)
    shard = door.worker.shards.of(Owner("default", "slow"))
    async with shard.folding:  # nothing is folded meanwhile, so that no decision can be told
        response = await door.post("/v1/memories", {"user_id": "slow", "content": "likes tea"})
    assert (response.status_code, response.json()["state"]) == (202, "accepted")
    await door.post("/v1/admin/drain")
    assert (await door.get("/v1/memories", user_id="slow")).json()["total"] == 1


async def test_what_is_true_when_is_said_of_slots_and_of_what_is_superseded(door: FrontDoor):
    async def says(event_id: str, text: str, at: str) -> None:
        event = turn(event_id, text, infer=True, user_id="validity", session_id=event_id, occurred_at=at)
        ended = {"type": "SessionEnded", "event_id": f"{event_id}-end", "user_id": "validity", "session_id": event_id}
        response = await door.http.post("/v1/events?wait=60", json=[event, ended | {"occurred_at": at}])
        assert response.status_code == 200, response.text

    await says("v-1", "I live in Oslo.", "2026-01-05T08:00:00Z")
    await says("v-2", "I'm allergic to nuts.", "2026-01-05T09:00:00Z")
    await says("v-3", "I live in Bergen now.", "2026-03-01T08:00:00Z")
    await says("v-4", "I'm no longer allergic to nuts.", "2026-04-01T08:00:00Z")
    known = {}
    for status in ("active", "superseded"):
        for memory in (await door.get("/v1/memories", user_id="validity", status=status)).json()["items"]:
            known[memory["content"]] = (memory["status"], memory["valid_from"], memory["valid_to"])
            assert (await door.http.get(f"/v1/memories/{memory['memory_id']}")).json()["valid_to"] == memory["valid_to"]
    assert known == {
        "User lives in Oslo": ("superseded", "2026-01-05T08:00:00Z", "2026-03-01T08:00:00Z"),
        "User lives in Bergen": ("active", "2026-03-01T08:00:00Z", None),
        "User is allergic to nuts": ("superseded", "2026-01-05T09:00:00Z", "2026-04-01T08:00:00Z"),
        "I'm no longer allergic to nuts.": ("active", None, None),
    }
    profile = (await door.get("/v1/users/validity/profile")).json()
    assert "nuts" not in str(profile)


async def test_metadata_and_expiry_can_be_changed_and_a_rebuild_keeps_them(door: FrontDoor):
    memory = await door.remember("has a locker", "meta", metadata={"shelf": "top"}, expires_at="2090-01-01T00:00:00Z")
    assert memory["expires_at"] == "2090-01-01T00:00:00Z"
    path = f"/v1/memories/{memory['memory_id']}"
    changed = (await door.http.patch(path, json={"metadata": {"shelf": None, "room": 3}})).json()
    assert (changed["metadata"], changed["expires_at"]) == ({"room": 3}, "2090-01-01T00:00:00Z")
    assert (await door.http.patch(path, json={"expires_at": None})).json()["expires_at"] is None
    found = await door.post("/v1/search", {"user_id": "meta", "query": "locker", "filters": {"metadata.room": 3}})
    assert [one["memory_id"] for one in found.json()["results"]] == [memory["memory_id"]]
    rebuilt = (await door.post("/v1/admin/rebuild", {"what": "shards"})).json()
    assert rebuilt["equal"]
    assert (await door.get(path)).json()["metadata"] == {"room": 3}


async def test_a_memory_whose_expiry_was_set_is_not_found_after_it(door: FrontDoor):
    memory = await door.remember("parks on level 4", "expiring")
    path = f"/v1/memories/{memory['memory_id']}"
    soon = (door.clock.now() + timedelta(hours=1)).isoformat()
    assert (await door.http.patch(path, json={"expires_at": soon})).status_code == 200
    assert (await door.get("/v1/memories", user_id="expiring")).json()["total"] == 1
    door.clock.ahead += timedelta(hours=2)
    try:
        assert (await door.get("/v1/memories", user_id="expiring")).json()["total"] == 0
        found = await door.post("/v1/search", {"user_id": "expiring", "query": "parks"})
        assert found.json()["results"] == []
    finally:
        door.clock.ahead -= timedelta(hours=2)


@pytest.mark.parametrize("infer", [True, False])
async def test_the_metadata_of_turns_travel_to_what_is_remembered_of_them(door: FrontDoor, infer: bool):  # noqa: FBT001 - a parameter
    said = [
        {"role": "user", "content": "I live in Berlin.", "metadata": {"a": 1, "b": 1, "timezone": "Europe/Berlin"}},
        {"role": "user", "content": "My dog is called Rex.", "metadata": {"b": 2}},
    ]
    body = {"user_id": f"travel-{infer}", "messages": said, "infer": infer}
    await door.post("/v1/conversations?wait=10", body)
    found = (await door.get("/v1/memories", user_id=f"travel-{infer}")).json()["items"]
    berlin = next(one for one in found if "Berlin" in one["content"])
    rex = next(one for one in found if "Rex" in one["content"])
    assert (berlin["metadata"], rex["metadata"]) == ({"a": 1, "b": 1}, {"b": 2})


async def test_memories_are_counted_by_what_they_name(door: FrontDoor):
    for number, agent in enumerate(["ada", "ada", "bea"]):
        whose = {"agent_id": f"{agent}-counts", "session_id": f"s{number}-counts", "metadata": {"app_id": "app-counts"}}
        await door.remember(f"fact {number}", f"u{number}-counts", **whose)
    agents = (await door.get("/v1/stats", by="agent", app_id="app-counts")).json()
    assert [(one["name"], one["memories"]) for one in agents["items"]] == [("ada-counts", 2), ("bea-counts", 1)]
    first = (await door.get("/v1/stats", by="user", app_id="app-counts", limit=2)).json()
    assert [one["name"] for one in first["items"]] == ["u0-counts", "u1-counts"]
    rest = (await door.get("/v1/stats", by="user", app_id="app-counts", limit=2, after=first["next"])).json()
    assert ([one["name"] for one in rest["items"]], rest["next"]) == (["u2-counts"], None)
    sessions = (await door.get("/v1/stats", by="session", agent_id="bea-counts")).json()
    assert [one["name"] for one in sessions["items"]] == ["s2-counts"]


async def test_a_session_and_an_application_are_scopes(door: FrontDoor):
    kept = await door.remember("kept by the web", "scoped", app_id="web", session_id="s1", metadata={"a": 1})
    assert kept["metadata"] == {"a": 1, "app_id": "web"}
    await door.remember("known to the phone alone", "scoped", app_id="phone", session_id="s1")
    said = {"user_id": "scoped", "app_id": "web", "messages": [{"role": "user", "content": "I live in Berlin."}]}
    assert (await door.post("/v1/conversations?wait=10", said)).status_code == 200
    items = (await door.get("/v1/memories", user_id="scoped", app_id="web")).json()["items"]
    assert {one["content"] for one in items} == {"kept by the web", "User lives in Berlin"}
    both = (await door.get("/v1/memories", user_id="scoped", app_id="web", session_id="s1")).json()["items"]
    assert [one["content"] for one in both] == ["kept by the web"]
    narrowed = (await door.get("/v1/memories", user_id="scoped", session_id="s1", filters='{"app_id": "phone"}')).json()
    assert [one["content"] for one in narrowed["items"]] == ["known to the phone alone"]
    scope = {"user_id": "scoped", "app_id": "phone"}
    for session_id, expected in (("s1", ["known to the phone alone"]), ("s2", [])):
        asked = scope | {"query": "kept by the web", "session_id": session_id}
        assert [one["memory"] for one in (await door.post("/v1/search", asked)).json()["results"]] == expected
    listed = (await door.post("/v1/memories/query", scope | {"session_id": "s1"})).json()["items"]
    assert [one["content"] for one in listed] == ["known to the phone alone"]
    assert (await door.post("/v1/memories/query", scope | {"session_id": "s2"})).json()["items"] == []
    context = (await door.post("/v1/context", scope | {"query": "kept by the web"})).json()
    assert "known to the phone alone" in context["block"]
    assert not [words for words in ("kept by the web", "Berlin") if words in context["block"]]
    lines = (await door.get("/v1/users/scoped/export", app_id="phone", session_id="s1")).text.splitlines()
    exported = [line["content"] for line in map(orjson.loads, lines) if line["type"] == "Memory"]
    assert exported == ["known to the phone alone"]
    await door.http.delete("/v1/memories?user_id=scoped&session_id=s1&app_id=web")
    left = (await door.get("/v1/memories", user_id="scoped")).json()["items"]
    assert {one["content"] for one in left} == {"known to the phone alone", "User lives in Berlin"}
