"""The erasure of one memory over HTTP: its words leave the data folder, with those that it came from."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from support.memory_log import MemoryLog

from mnemolog.diagnostics.residue import find_residue
from mnemolog.operations.erasing.receipts import is_signed
from mnemolog.operations.erasing.words_of_memories import OverwrittenWords, WordsOfMemories
from mnemolog.settings import from_environment
from projections.encrypted_files import open_database
from schemas import codec
from schemas.identity import Owner
from schemas.messages.decision import Decision
from schemas.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

USER = "zara"
WORD = "Vexleyham"
"""Stands in a turn, in the memory of it, in a model-less answer and in a dead letter."""
MEANWHILE_SECONDS = 0.5
"""So long something else is let go on."""


@pytest.fixture(params=["on", "off"])
async def door(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path, encryption=request.param) as door:
        yield door


async def lives(door: FrontDoor) -> dict[str, Any]:
    """Say two things in one turn and one in another, send the first again with other words; return its memory."""
    said = turn("t1", f"My name is Quirinius. I live in {WORD}.", user_id=USER)
    assert (await door.post("/v1/events", said)).status_code == 202
    work = turn("t2", "I work at Zorblattia.", user_id=USER, session_id="s2")
    assert (await door.post("/v1/events", work)).status_code == 202
    assert (await door.post("/v1/admin/drain")).status_code == 200
    other = turn("t1", f"My name is Quirinius. I live in {WORD} now.", user_id=USER)
    await door.post("/v1/events", other)
    assert (await door.post("/v1/admin/drain")).status_code == 200
    return await memory_with(door, WORD)


async def memory_with(door: FrontDoor, word: str) -> dict[str, Any]:
    [found] = [one for one in await memories(door) if word in one["content"]]
    return found


async def memories(door: FrontDoor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await door.get("/v1/memories", user_id=USER)).json()["items"]
    return found


async def erased(door: FrontDoor, memory_id: str, **query: str) -> dict[str, Any]:
    answer = await door.http.delete(f"/v1/memories/{memory_id}", params={"forever": "true"} | query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def shard_files(folder: Path) -> list[Path]:
    return list(folder.glob("shards/**/*.sqlite"))


def rows_of(path: Path) -> list[str]:
    """Return every row of every table of a shard file, with its table's name."""
    with closing(open_database(path, "ro")) as connection:
        tables = connection.execute("select name from sqlite_master where type='table'").fetchall()
        return [f"{name} {row}" for (name,) in tables for row in connection.execute(f"select * from {name}")]  # noqa: S608


async def where_said(door: FrontDoor, folder: Path, word: str) -> list[str]:
    """Return where a word can be read by who has the keys: in the opened log, in the opened shards, or in any file."""
    found = []
    for topic in TOPICS:
        for partition in range(await door.worker.log.partitions(topic.name)):
            end = await door.worker.log.end(topic.name, partition)
            records = await door.worker.log.read(topic.name, partition, 0, max(1, end))
            found += [str(r.position) for r in records if word.encode() in (r.key or b"") + r.value]
    for path in shard_files(folder):
        found += [f"{path.name}: {row[:80]}" for row in rows_of(path) if word in row]
    residue = await find_residue(from_environment({}, data_dir=folder), [word])
    return found + [str(one) for one in residue]


async def digest(door: FrontDoor) -> str:
    return str((await door.get("/v1/admin/digest")).json()["total"])


async def is_whole(door: FrontDoor) -> bool:
    """Return whether a rebuild comes to what is served."""
    before = await digest(door)
    rebuilt = (await door.post("/v1/admin/rebuild")).json()["equal"]
    return bool(rebuilt) and await digest(door) == before


async def test_the_words_are_nowhere_and_all_else_stays(door: FrontDoor, tmp_path: Path):
    memory = await lives(door)
    others = [one for one in await memories(door) if one["memory_id"] != memory["memory_id"]]
    assert len(others) >= 2
    assert len(await where_said(door, tmp_path, WORD)) > 3
    await erased(door, memory["memory_id"])
    assert await where_said(door, tmp_path, WORD) == []
    assert [one["memory_id"] for one in await memories(door)] == [one["memory_id"] for one in others]
    assert await where_said(door, tmp_path, "Zorblattia")
    assert await is_whole(door)
    assert await where_said(door, tmp_path, WORD) == []


async def test_the_next_start_goes_on_with_the_shards_as_they_are(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """To fold a large one anew takes minutes, for which its users are not answered."""
    async with front_door(tmp_path) as door:
        memory = await door.remember("likes coffee")
        erased = await door.http.delete(f"/v1/memories/{memory['memory_id']}?forever=true")
        assert erased.status_code == 200
    async with front_door(tmp_path):
        assert "folded anew" not in caplog.text


async def test_every_route_answers_as_if_it_had_never_been(door: FrontDoor):
    memory_id = (await lives(door))["memory_id"]
    await erased(door, memory_id)
    for path in (f"/v1/memories/{memory_id}", f"/v1/memories/{memory_id}/history", f"/v1/events/t1?user_id={USER}"):
        assert (await door.http.get(path)).status_code == 404, path
    asked = {"user_id": USER, "query": WORD, "include": ["memories", "turns"]}
    assert WORD not in (await door.post("/v1/search", asked)).text
    assert WORD not in (await door.get("/v1/sessions/s1/turns", user_id=USER)).text
    assert WORD not in (await door.get("/v1/dead-letters")).text
    assert (await door.post(f"/v1/memories/{memory_id}/restore")).status_code == 404


async def test_the_receipt_says_what_went_and_is_signed(door: FrontDoor):
    memory = await lives(door)
    name = await memory_with(door, "Quirinius")
    preview = await erased(door, memory["memory_id"], preview="true")
    assert (await memory_with(door, WORD))["memory_id"] == memory["memory_id"]
    receipt = await erased(door, memory["memory_id"])
    assert {field: receipt[field] for field in preview} == preview
    assert (receipt["event_ids"], receipt["kept"], receipt["index"]) == (["t1"], [name["memory_id"]], 1)
    assert await erased(door, memory["memory_id"]) == receipt
    listed = (await door.get("/v1/erasures")).json()
    assert [one["receipt_id"] for one in listed["items"]] == [receipt["receipt_id"]]
    assert is_signed(receipt, listed["public_key"])
    assert not is_signed(receipt | {"kept": []}, listed["public_key"])


async def test_the_sources_of_an_import_are_another_systems_names_and_no_events_here(door: FrontDoor):
    await lives(door)
    foreign = {
        "content": "keeps a quokka",
        "user_id": "zara",
        "source_ids": ["t1"],
        "memory_id": "7",
        "source_system": "mem0",
    }
    imported = (await door.post("/v1/import?wait=20", [foreign])).json()["items"][0]
    before = (await door.get("/v1/events/t1", user_id="zara")).json()["state"]
    history = (await door.get(f"/v1/memories/{imported['memory_id']}/history", user_id="zara")).json()
    assert history["lineage"]["observations"] == []
    preview = await erased(door, imported["memory_id"], preview="true")
    receipt = await erased(door, imported["memory_id"])
    for told in (preview, receipt):
        assert (told["events"], told["event_ids"], told["kept"]) == (0, [], [])
    assert (await door.get("/v1/events/t1", user_id="zara")).json()["state"] == before


async def test_every_version_of_a_memory_that_was_told_and_revised_goes(door: FrontDoor, tmp_path: Path):
    memory = await door.remember("keeps a Mirvandel", USER, metadata={"note": "Yalquist"})
    for content in ("keeps a Bexomoor", "keeps a Dranfolio"):
        changed = await door.http.patch(f"/v1/memories/{memory['memory_id']}?user_id={USER}", json={"content": content})
        assert changed.status_code == 200, changed.text
    await door.remember("likes tea", USER)
    await erased(door, memory["memory_id"])
    for word in ("Mirvandel", "Yalquist", "Bexomoor", "Dranfolio"):
        assert await where_said(door, tmp_path, word) == []
    assert await is_whole(door)
    assert [one["content"] for one in await memories(door)] == ["likes tea"]


async def test_an_event_that_went_with_it_is_not_taken_again(door: FrontDoor):
    await erased(door, (await lives(door))["memory_id"])
    before = await digest(door)
    await door.post("/v1/events", turn("t1", f"My name is Quirinius. I live in {WORD}.", user_id=USER))
    assert (await door.post("/v1/admin/drain")).status_code == 200
    assert await digest(door) == before
    assert (await door.http.get(f"/v1/events/t1?user_id={USER}")).status_code == 404
    assert await is_whole(door)


async def test_what_is_said_anew_is_remembered_anew(door: FrontDoor):
    await erased(door, (await lives(door))["memory_id"])
    await door.post("/v1/events", turn("t9", f"I live in {WORD}.", user_id=USER, session_id="s9"))
    assert (await door.post("/v1/admin/drain")).status_code == 200
    assert (await memory_with(door, WORD))["source_ids"] == ["t9"]
    assert await is_whole(door)


async def test_one_that_was_forgotten_can_be_erased(door: FrontDoor, tmp_path: Path):
    memory_id = (await lives(door))["memory_id"]
    assert (await door.http.delete(f"/v1/memories/{memory_id}")).status_code == 200
    assert (await erased(door, memory_id))["index"] == 0
    assert await where_said(door, tmp_path, WORD) == []


async def test_its_user_can_be_erased_afterwards(door: FrontDoor):
    empty = await digest(door)
    await erased(door, (await lives(door))["memory_id"])
    assert (await door.http.delete(f"/v1/users/{USER}")).status_code == 200
    assert await digest(door) == empty
    assert await is_whole(door)


class Crash(Exception):
    """The worker ended here."""


async def erased_with_its_user_meanwhile(door: FrontDoor, patch: pytest.MonkeyPatch, whose: type, method: str) -> None:
    """Erase a memory, and its user as soon as its words are being removed by this method."""
    memory, owner = await lives(door), Owner("default", USER)
    await door.remember("likes tea", USER)
    original, of_user = getattr(whose, method), list[asyncio.Task[Any]]()

    async def meanwhile(*given: Any) -> Any:
        if not of_user:
            of_user.append(asyncio.create_task(door.worker.user_erasures.erase(owner, "user")))
            await asyncio.sleep(MEANWHILE_SECONDS)
        return await original(*given)

    patch.setattr(whose, method, meanwhile)
    await door.worker.memory_erasures.erase(owner, memory["memory_id"], "memory")
    assert len(of_user) == 1
    await of_user[0]


async def test_its_user_can_be_erased_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with front_door(tmp_path) as door:
        empty = await digest(door)
        await erased_with_its_user_meanwhile(door, monkeypatch, OverwrittenWords, "_as_it_lay")
        for word in (WORD, "Zorblattia", "likes tea"):
            assert await where_said(door, tmp_path, word) == []
        assert await digest(door) == empty
        assert await is_whole(door)


async def forgotten_while_its_words_are_removed(door: FrontDoor, patch: pytest.MonkeyPatch, call: int) -> None:
    """Erase a memory, and ask to forget it at a reading of the log; check that shard and log then say the same."""
    memory, owner = await lives(door), Owner("default", USER)
    original, calls = WordsOfMemories._places, 0

    async def meanwhile(words: WordsOfMemories, of: Owner) -> list[tuple[str, int]]:
        nonlocal calls
        calls += 1
        if calls == call:
            answer = await door.worker.commands.forget(owner, memory["memory_id"], "late")
            assert answer.outcome is not None
            assert answer.outcome.reason == "unknown: no such memory"
        return await original(words, of)

    patch.setattr(WordsOfMemories, "_places", meanwhile)
    await door.worker.memory_erasures.erase(owner, memory["memory_id"], "memory")
    assert calls >= call
    shards = door.worker.shards
    [live] = shards.of(owner).ledger.decided(owner, "late")
    topic, partition = shards.resolve(owner).ledger_place
    records = await door.worker.log.read(topic, partition, 0, await door.worker.log.end(topic, partition))
    logged = [codec.decode_as(record.value, Decision) for record in records if not record.is_erased]
    assert [one for one in logged if one.item_id == "late"] == [live]


async def test_what_is_decided_while_its_words_are_removed_stays_as_it_was(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await forgotten_while_its_words_are_removed(door, monkeypatch, 1)
    assert await where_said(door, tmp_path, WORD) == []


@pytest.mark.parametrize("encryption", ["on", "off"])
@pytest.mark.parametrize("method", ["_delete_beside", "_event"])
async def test_what_a_crash_cut_off_is_finished_at_the_next_start(
    tmp_path: Path, encryption: str, method: str, monkeypatch: pytest.MonkeyPatch
):
    async with front_door(tmp_path, encryption=encryption) as door:
        memory = await lives(door)
        erasures, calls = door.worker.memory_erasures, 0
        original = erasures._event

        def crash(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            if method == "_event" and calls == 1:
                return original(*given)  # the first question comes before the decision
            raise Crash

        monkeypatch.setattr(erasures, method, crash)

        with pytest.raises(Crash):
            await erasures.erase(Owner("default", USER), memory["memory_id"], "once")
    async with front_door(tmp_path, encryption=encryption) as door:
        await door.worker.erasure_recovery.repeat()
        assert await where_said(door, tmp_path, WORD) == []
        assert len((await door.get("/v1/erasures")).json()["items"]) == 1
        assert await is_whole(door)


async def test_it_goes_with_forever_only_and_an_unknown_one_is_not_found(door: FrontDoor):
    memory_id = (await lives(door))["memory_id"]
    assert (await door.http.delete(f"/v1/memories/{memory_id}?preview=true")).status_code == 422
    assert (await door.http.delete("/v1/memories/nothing?forever=true")).status_code == 404
    assert (await door.http.delete(f"/v1/memories/{memory_id}?forever=true&user_id=yuri")).status_code == 404


async def test_a_log_that_cannot_be_rewritten_is_said(door: FrontDoor, monkeypatch: pytest.MonkeyPatch):
    memory_id = (await lives(door))["memory_id"]
    monkeypatch.setattr(door.worker.memory_erasures._parts, "inner", MemoryLog())
    refused = await door.http.delete(f"/v1/memories/{memory_id}?forever=true")
    assert (refused.status_code, "erase its user" in refused.text) == (409, True)


async def test_an_event_that_was_erased_ends_at_once_where_it_is_sent_again(door: FrontDoor):
    memory = await lives(door)
    await erased(door, memory["memory_id"])
    again = await door.post("/v1/events?wait=60", turn("t1", "My name is Quirinius.", user_id=USER))
    assert again.status_code == 200, again.text
    [state] = again.json()["accepted"]
    assert (state["state"], "another id" in state["reason"]) == ("nothing", True)
    assert (await door.get("/v1/events/t1", user_id=USER)).status_code == 404  # to others it never was
