"""`mnemolog encrypt`: a log that lies in clear is sealed in place, and whoever reads it reads what was there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn

from mnemolog.diagnostics.residue import find_residue
from mnemolog.extensions.webhooks.part import part_of
from mnemolog.log.connection import opened_log
from mnemolog.log.sealing import seal_log
from mnemolog.operations import encryption
from mnemolog.operations.encryption import encrypt_log
from mnemolog.settings import from_environment
from schemas.topics import TOPICS, WEBHOOK_PROGRESS
from streams.transports.sqlite.rewriting import replace_records

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor

    from mnemolog.settings import Settings
    from schemas.log import Record

WORDS = ("Quirinius", "Vexleyham", "Mirvandel", "Bexomoor", "Dranfolio")
HOOK = "http://127.0.0.1:9/hook"


class Stopped(Exception):
    """The command ended here."""


def settings_of(folder: Path) -> Settings:
    return from_environment({}, data_dir=folder, partitions=2)


async def lives(door: FrontDoor, user: str) -> None:
    """Have words in every topic that takes some."""
    said = turn("t1", "My name is Quirinius. I live in Vexleyham.", user_id=user)
    assert (await door.post("/v1/events", said)).status_code == 202
    memory = await door.remember("keeps a Mirvandel", user)
    gone = await door.remember("hates a Bexomoor", user)
    assert (await door.http.delete(f"/v1/memories/{gone['memory_id']}")).status_code == 200
    changed = await door.http.patch(f"/v1/memories/{memory['memory_id']}?user_id={user}", json={"importance": 0.9})
    assert changed.status_code == 200
    assert (await door.http.put("/v1/policy", json={"instructions": "Dranfolio"})).status_code == 200
    assert (await door.post("/v1/admin/drain")).status_code == 200


async def records(folder: Path, *, opened: bool = True) -> dict[str, list[Record]]:
    """Return what each topic holds, as it lies or as it is read."""
    settings = settings_of(folder)
    found: dict[str, list[Record]] = {}
    async with opened_log(settings) as inner:
        log = (await seal_log(settings, inner, lambda _: None)).log if opened else inner
        for topic in TOPICS:
            found[topic.name] = []
            for partition in range(await inner.partitions(topic.name)):
                found[topic.name] += await log.read(topic.name, partition, 0)
    return found


def contents(record: Record) -> tuple[object, ...]:
    """Return all of a record but its headers, which lie in clear and are left out."""
    return record.position, record.recorded_at, record.key, record.value


async def digest(door: FrontDoor) -> dict[str, Any]:
    found: dict[str, Any] = (await door.get("/v1/admin/digest")).json()
    return found


async def residue(folder: Path) -> set[str]:
    return {WORDS[one.line - 1] for one in await find_residue(settings_of(folder), WORDS)}


@pytest.mark.parametrize("stopped_after", [None, 0, 2])
async def test_every_record_is_sealed_at_its_place_and_the_digest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_after: int | None
):
    async with front_door(tmp_path, encryption="off") as door:
        await lives(door, "zara")
        before = await digest(door)
    lay = await records(tmp_path, opened=False)
    assert await residue(tmp_path) == set(WORDS)
    if stopped_after is not None:  # so many transactions were committed
        replace, calls = replace_records, iter(range(stopped_after))

        async def stops(*given: Any) -> None:
            if next(calls, None) is None:
                raise Stopped
            await replace(*given)

        with monkeypatch.context() as patched:
            patched.setattr(encryption, "replace_records", stops)
            with pytest.raises(Stopped):
                await encrypt_log(settings_of(tmp_path), lambda _: None)
        async with front_door(tmp_path) as door:  # what was stopped serves, and can be gone on with
            assert await digest(door) == before
    assert await encrypt_log(settings_of(tmp_path), lambda _: None) > 0
    assert await residue(tmp_path) == set()
    now = await records(tmp_path)
    for topic in filter(lay.get, lay):
        assert [contents(one) for one in now[topic]] == [contents(one) for one in lay[topic]]
    assert await encrypt_log(settings_of(tmp_path), lambda _: None) == 0
    async with front_door(tmp_path) as door:
        assert await digest(door) == before
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    assert await residue(tmp_path) == set()


async def test_a_log_in_clear_goes_on_and_what_is_new_is_sealed(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        await door.remember("keeps a Mirvandel", "zara")
    async with front_door(tmp_path) as door:
        for user in ("zara", "yuri"):
            await door.remember("keeps a Bexomoor", user)
        kept = (await door.get("/v1/memories", user_id="zara")).json()["items"]
        assert {one["content"] for one in kept} == {"keeps a Mirvandel", "keeps a Bexomoor"}
    assert await residue(tmp_path) == {"Mirvandel"}


async def test_how_far_webhooks_are_lies_in_clear_as_before_and_is_not_lost(tmp_path: Path):
    async with front_door(tmp_path, encryption="off", webhook_hosts="127.0.0.1") as door:
        made = (await door.post("/v1/webhooks", {"url": HOOK})).json()
        webhooks = part_of(door.worker).webhooks
        held = webhooks.get(made["webhook_id"])
        assert held is not None
        await webhooks.write(held.progress)
    [before] = (await records(tmp_path, opened=False))[WEBHOOK_PROGRESS.name]
    await encrypt_log(settings_of(tmp_path), lambda _: None)
    assert (await records(tmp_path, opened=False))[WEBHOOK_PROGRESS.name] == [before]
