"""What operators ask over HTTP: digests, draining, ticks, rebuilds, dead letters."""

from __future__ import annotations

import asyncio
import socket
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.cluster.peers import Peers
from mnemolog.cluster.scatter_gather import ScatterGather
from mnemolog.operations.rebuild_coordinator import RebuildCoordinator
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, LEDGER
from streams.decisions.decay_policies.registry import POLICIES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def test_draining_ends_sessions_and_counts(door: FrontDoor):
    await door.post("/v1/events", turn("d-1", "I live in Berlin.", user_id="drain"))
    response = await door.post("/v1/admin/drain", {"timeout": 20})
    assert response.status_code == 200
    assert set(response.json()) == {"observations", "remembered", "nothing", "rejected", "dead", "memories"}
    state = (await door.get("/v1/events/d-1", user_id="drain")).json()
    assert state["state"] == "remembered"


async def test_a_drain_that_takes_too_long_says_so(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("slow"), idle_seconds=60) as door:
        await door.post("/v1/events", turn("d-1", "I live in Berlin."))
        response = await door.post("/v1/admin/drain", {"timeout": 0.001})
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")


async def test_a_drain_waits_until_what_was_decided_at_once_is_folded_too(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("folding"), partitions=1) as door:
        await door.remember("likes tea", "drain")
        log, shard = door.worker.log, door.worker.shards.at(0)
        end = await log.end(LEDGER.name, 0)
        async with shard.folding:
            remembering = asyncio.create_task(door.remember("likes chess", "drain"))
            while await log.end(LEDGER.name, 0) == end:  # noqa: ASYNC110 - it ends by itself
                await asyncio.sleep(0.01)
            assert (await door.post("/v1/admin/drain", {"timeout": 1})).status_code == 503
        assert (await door.post("/v1/admin/drain", {"timeout": 60})).json()["memories"] == 2
        await remembering


async def test_a_drain_of_what_is_done_takes_no_time(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("done")) as door:
        await door.remember("likes tea", "drain")
        assert (await door.post("/v1/admin/drain", {"timeout": 60})).status_code == 200
        # More than once: the index may be looked at in that very moment.
        assert 200 in [(await door.post("/v1/admin/drain", {"timeout": 5e-324})).status_code for _ in range(3)]


async def test_a_digest_moves_with_the_memories_and_only_with_them(door: FrontDoor):
    before = (await door.get("/v1/admin/digest")).json()
    assert set(before) == {"memories", "importance", "profiles", "episodes", "index", "total"}
    assert (await door.get("/v1/admin/digest")).json() == before
    await door.remember("likes tea", "digest")
    assert (await door.get("/v1/admin/digest")).json()["total"] != before["total"]


async def test_a_tick_decays_what_is_old_and_happens_once(door: FrontDoor):
    old = turn("t-1", "I live in Berlin.", user_id="tick", occurred_at="2026-01-05T08:00:00Z")
    await door.http.post("/v1/events?wait=10", json=old)
    body = {"as_of": "2026-02-05T08:00:00Z", "policy": "ladder"}
    first = (await door.post("/v1/admin/ticks", body)).json()
    assert (first["policy"], first["as_of"]) == ("ladder", "2026-02-05T08:00:00Z")
    assert (first["changed"], first["decayed"], first["expired"], first["applied"]) == (1, 1, 0, True)
    [memory] = (await door.get("/v1/memories", user_id="tick")).json()["items"]
    events = (await door.get(f"/v1/memories/{memory['memory_id']}/history")).json()["events"]
    assert [(e["type"], e["tick"]) for e in events] == [("MemoryFormed", None), ("MemoryDecayed", first["tick_id"])]
    assert memory["importance"] == 0.72
    assert not first["repeated"]
    assert (await door.post("/v1/admin/ticks", body)).json() == first | {"repeated": True}
    [memory] = (await door.get("/v1/memories", user_id="tick")).json()["items"]
    assert memory["importance"] == 0.72


async def test_a_policy_that_is_not_known_is_answered_with_those_that_are(door: FrontDoor):
    refused = await door.post("/v1/admin/ticks", {"as_of": "2026-02-05", "policy": "bad"})
    *names, last = (f"'{name}'" for name in (*POLICIES, "retention", "wake"))
    message = f"must be {', '.join(names)} or {last}"
    assert (refused.status_code, refused.json()["errors"]) == (422, [{"path": "$.policy", "message": message}])


async def test_a_tick_far_in_the_future_needs_force(door: FrontDoor):
    ahead = (door.worker.clock.now() + timedelta(minutes=6)).isoformat()
    refused = await door.post("/v1/admin/ticks", {"as_of": ahead})
    assert refused.status_code == 422
    assert "is more than 5 minutes ahead of the clock" in refused.json()["detail"]
    assert (await door.post("/v1/admin/ticks", {"as_of": ahead, "force": True})).status_code == 200
    near = (door.worker.clock.now() + timedelta(minutes=4)).isoformat()
    assert (await door.post("/v1/admin/ticks", {"as_of": near, "policy": "off"})).json()["changed"] == 0


async def test_a_retention_before_the_first_day_of_the_calendar_is_refused(door: FrontDoor):
    refused = await door.post("/v1/admin/ticks", {"policy": "retention", "as_of": "0001-01-01T00:00:00Z"})
    assert refused.status_code == 422
    assert "outside the years 1000 to 9000" in refused.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"as_of": "soon"}, {"as_of": "2026-01-05T08:00:00Z", "policy": "odd"}])
async def test_a_tick_is_checked(door: FrontDoor, body: dict[str, str]):
    assert (await door.post("/v1/admin/ticks", body)).status_code == 422


@pytest.mark.parametrize("what", ["all", "shards", "index"])
async def test_a_rebuild_has_the_same_digest_and_the_worker_goes_on(door: FrontDoor, what: str):
    await door.remember(f"likes {what} of it", "rebuild")
    response = await door.post("/v1/admin/rebuild", {"what": what})
    assert response.status_code == 200
    report = response.json()
    assert set(report) == {"generation", "decisions", "seconds", "digest_before", "digest_after", "equal"}
    assert report["equal"]
    assert report["digest_before"] == report["digest_after"] == (await door.get("/v1/admin/digest")).json()["total"]
    # A recall is reported seconds later, and would change the digest in the middle of the next of these tests.
    question = {"user_id": "rebuild", "query": f"likes {what} of it", "recall": False}
    found = (await door.post("/v1/search", question)).json()["results"]
    assert found[0]["memory"] == f"likes {what} of it"
    assert (await door.post("/v1/admin/rebuild", {"what": "odd"})).status_code == 422


async def test_a_rebuild_that_a_worker_does_not_answer_says_what_that_leaves(tmp_path: Path):
    async with front_door(tmp_path) as door:
        with socket.socket() as bound:  # nobody listens
            bound.bind(("127.0.0.1", 0))
            gone = f"http://127.0.0.1:{bound.getsockname()[1]}"
            worker, rebuild = door.worker, door.worker.rebuild
            peers = Peers(worker.shards, dict, lambda: [gone], "http://127.0.0.1:1")
            cluster = ScatterGather(worker.shards, peers, worker.url, worker.settings)
            worker.rebuild = RebuildCoordinator(worker.rebuilder, cluster, worker.shards, worker.index_sync)
            response = await door.post("/v1/admin/rebuild", {})
            await peers.aclose()
            worker.rebuild = rebuild
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    detail = response.json()["detail"]
    assert detail.startswith(
        f"the worker at {gone} does not answer (ConnectError): ask again in a moment; searches go on"
    )
    assert "`mnemolog rebuild --list` says which generation is active" in detail


async def test_to_activate_what_is_active_already_changes_nothing_and_says_so(door: FrontDoor):
    known = (await door.get("/v1/admin/rebuild")).json()
    again = await door.post("/v1/admin/rebuild", {"activate": known["active"]})
    assert again.status_code == 200, again.text
    assert (again.json()["generation"], again.json()["equal"]) == (known["active"], True)
    assert (await door.get("/v1/admin/rebuild")).json() == known


async def test_what_cannot_be_read_is_listed_and_sent_back(door: FrontDoor):
    record = NewRecord(topic=CONVERSATIONS.name, partition=0, key=b"default/u", value=b"\x00not an event")
    await door.worker.log.append([record])
    await door.post("/v1/admin/drain")
    listed = (await door.get("/v1/admin/dead-letters")).json()
    assert listed["total"] == 1
    [letter] = listed["items"]
    assert (letter["reason"], letter["key"], letter["bytes"]) == ("decode", "default/u", 13)
    assert letter["position"].startswith("mnemolog.conversations:0:")
    unknown = await door.post("/v1/admin/dead-letters", {"ids": [letter["id"], "none"]})
    assert (unknown.status_code, unknown.json()["detail"].partition(":")[0]) == (404, "there is no dead letter 'none'")
    assert (await door.post("/v1/admin/dead-letters", {"ids": [letter["id"]]})).json() == {"retried": [letter["id"]]}
    await door.post("/v1/admin/drain")
    [again] = (await door.get("/v1/admin/dead-letters")).json()["items"]
    assert again["id"] != letter["id"]


async def test_a_tick_that_takes_longer_is_accepted(door: FrontDoor):
    body = {"as_of": "2026-02-06T08:00:00Z", "timeout": 0.000001}
    early = await door.post("/v1/admin/ticks", body)
    assert (early.status_code, early.json()["applied"]) == (202, False)
    assert (await door.post("/v1/admin/ticks", body | {"timeout": 20})).status_code == 200
