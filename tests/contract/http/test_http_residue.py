"""Residue of an erasure: no byte of a user's words stays in the data directory, in whatever spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.diagnostics.residue import find_residue
from mnemolog.operations.rebuild import RebuildPlan
from mnemolog.settings import from_environment
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardBusy
from projections.shard.wal import Checkpoints
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.diagnostics.residue import Residue

CANARIES = (
    "Quirinius", "Vexleyham", "Zorblattia", "Plimwicket", "Gantrophe", "Mirvandel", "Tressolage",
    "Yalquist", "Bexomoor", "Dranfolio", "Ximbertwo", "Kloverneau", "紫藤巷九号",
)  # fmt: skip
"""Each stands in one field of what a user publishes or sets; the last one is escaped in JSON."""


def published(user: str) -> list[dict[str, Any]]:
    """Return an event of every kind, with canary words in all fields that hold words."""
    screen = {
        "type": "ScreenshotAnalysed", "event_id": f"p-{user}", "user_id": user, "screenshot_id": "IMG_1",
        "app": "Tressolage", "text": "Meeting at Zorblattia", "relevance": "high",
    }  # fmt: skip
    article = {
        "type": "ArticleInferred", "event_id": f"a-{user}", "user_id": user, "article_id": "A1",
        "title": "Gantrophe", "content": "Project: Plimwicket",
    }  # fmt: skip
    said = "My name is Quirinius and I live in Vexleyham. 我住在紫藤巷九号。"
    return [turn(f"t-{user}", said, user_id=user), screen, article]


class Crash(Exception):
    """The worker ended here."""


async def lives(door: FrontDoor, user: str) -> None:
    """Publish, set, change, ask, and let something fail."""
    answer = await door.post("/v1/events", published(user))
    assert answer.status_code == 202, answer.text
    memory = await door.remember("keeps a Mirvandel", user, metadata={"note": "Yalquist"})
    changed = await door.http.patch(f"/v1/memories/{memory['memory_id']}?user_id={user}", json={"content": "Bexomoor"})
    assert changed.status_code == 200, changed.text
    reminder = {"content": "call Dranfolio", "due_at": "2030-01-01T00:00:00Z"}
    answer = await door.post(f"/v1/users/{user}/reminders", reminder)
    assert answer.status_code in {200, 201}, answer.text
    # What nobody can decode becomes a dead letter, which keeps its bytes.
    owner = Owner("default", user)
    partition = door.worker.shards.partition(owner)
    value = b"\x00Kloverneau is no event"
    await door.worker.log.append([NewRecord(topic=CONVERSATIONS.name, partition=partition, key=owner.key, value=value)])
    assert (await door.post("/v1/admin/drain")).status_code == 200
    for word in CANARIES:
        await door.post("/v1/search", {"user_id": user, "query": word, "include": ["memories", "turns"]})
    await door.post("/v1/events", turn(f"open-{user}", "I love Ximbertwo.", user_id=user))


async def residue(folder: Path) -> list[Residue]:
    return await find_residue(from_environment({}, data_dir=folder), CANARIES)


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_no_word_of_an_erased_user_stays(tmp_path: Path, encryption: str):
    async with front_door(tmp_path, encryption=encryption) as door:
        await lives(door, "zara")
        before = {one.line for one in await residue(tmp_path)}
        assert before == (set() if encryption == "on" else set(range(1, len(CANARIES) + 1)))
        answer = await door.http.delete("/v1/users/zara")
        assert answer.status_code == 200, answer.text
        assert await residue(tmp_path) == []
        assert (await door.post("/v1/admin/drain")).status_code == 200
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]
        assert await residue(tmp_path) == []
    assert await residue(tmp_path) == []


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_an_erasure_that_a_crash_cut_off_is_finished_at_the_next_start(
    tmp_path: Path, encryption: str, monkeypatch: pytest.MonkeyPatch
):
    async with front_door(tmp_path, encryption=encryption) as door:
        await lives(door, "zara")

        async def crash(*_: object) -> int:
            raise Crash

        monkeypatch.setattr(door.worker.user_erasures, "_delete_beside", crash)
        with pytest.raises(Crash):
            await door.worker.user_erasures.erase(Owner("default", "zara"), "once")
        assert (await door.get("/v1/erasures")).json()["items"] == []
    async with front_door(tmp_path, encryption=encryption) as door:
        await door.worker.erasure_recovery.repeat()
        assert await residue(tmp_path) == []
        [listed] = (await door.get("/v1/erasures")).json()["items"]
        receipt = await door.worker.user_erasures.erase(Owner("default", "zara"), "once")
        assert receipt["receipt_id"] == listed["receipt_id"]
    async with front_door(tmp_path, encryption=encryption) as door:
        await door.worker.erasure_recovery.repeat()
        assert (await door.get("/v1/erasures")).json()["items"] == [listed]


async def test_what_a_crash_left_in_a_shards_write_ahead_log_goes_when_the_erasure_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")
        with monkeypatch.context() as patched:
            patched.setattr(Checkpoints, "truncate", lambda _: None)  # it ended when the deletion was committed
            patched.setattr(Checkpoints, "clear", lambda _: None)
            assert (await door.http.delete("/v1/users/zara", headers={"Idempotency-Key": "once"})).status_code == 200
        left = {one.where for one in await residue(tmp_path)}
        assert left
        assert all(where.startswith("shards/") and where.endswith("-wal") for where in left)
        assert (await door.http.delete("/v1/users/zara", headers={"Idempotency-Key": "once"})).status_code == 200
        assert await residue(tmp_path) == []


async def test_no_receipt_is_given_while_the_words_stay_in_a_shards_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")

        def busy(_: Checkpoints) -> None:
            raise ShardBusy("it is read all the while")

        with monkeypatch.context() as patched:
            patched.setattr(Checkpoints, "clear", busy)
            assert (await door.http.delete("/v1/users/zara")).status_code == 503
        assert (await door.get("/v1/erasures")).json()["items"] == []


async def test_a_start_without_the_index_waits_with_what_a_crash_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")
        flush, failures = door.worker.index_sync.flush_user, iter([IndexUnavailable("the index is down")])

        async def flush_once_it_is_up(owner: Owner) -> None:
            for failure in failures:
                raise failure
            await flush(owner)

        monkeypatch.setattr(door.worker.index_sync, "flush_user", flush_once_it_is_up)
        with pytest.raises(IndexUnavailable):
            await door.worker.user_erasures.erase(Owner("default", "zara"), "once")
        failures = iter([IndexUnavailable("the index is down")])
        await door.worker.erasure_recovery.repeat()
        assert next(failures, None) is None
        assert len((await door.get("/v1/erasures")).json()["items"]) == 1


async def test_no_word_stays_in_a_generation_that_a_rebuild_has_left_half_built(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")
        rebuilder = door.worker.rebuilder
        held, shared = door.worker.shards.open_generation(rebuilder.generations.begin(7))
        for shard in (*held.values(), shared):
            await shard.catch_up()
            shard.close()  # here it was given up, or its worker was killed
        assert any(one.where.startswith("shards/7/") for one in await residue(tmp_path))
        assert (await door.http.delete("/v1/users/zara")).status_code == 200
        assert await residue(tmp_path) == []
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]
        assert await residue(tmp_path) == []


async def test_no_word_stays_in_a_generation_that_is_being_built(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")
        assert (await door.post("/v1/admin/drain")).status_code == 200
        memory = await door.remember("keeps a Mirvandel too", "yuri")
        plan = RebuildPlan("all", 2, "one", 1)
        await door.worker.rebuilder.build(plan)
        assert any(one.where.startswith("shards/2/") for one in await residue(tmp_path))
        erased = await door.http.delete(f"/v1/memories/{memory['memory_id']}?user_id=yuri&forever=true")
        assert erased.status_code == 200, erased.text
        assert (await door.http.delete("/v1/users/zara")).status_code == 200
        assert await residue(tmp_path) == []
        await door.worker.rebuilder.switch(plan)
        assert await residue(tmp_path) == []
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]


async def test_the_words_of_others_stay(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")
        await lives(door, "yuri")
        assert (await door.http.delete("/v1/users/zara")).status_code == 200
        assert {one.line for one in await residue(tmp_path)} == set(range(1, len(CANARIES) + 1))
        assert (await door.get("/v1/memories", user_id="yuri")).json()["total"] > 1
