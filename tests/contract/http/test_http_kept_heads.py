"""Heads that a worker keeps elsewhere: in a folder, or where they are posted."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import front_door
from support.tables import each
from support.webhook_receiver import webhook_receiver

from mnemolog.diagnostics.checks import check_heads
from mnemolog.environment import SettingsError
from mnemolog.operations.integrity.kept_heads import FILES, HeadFolder, NotKept, read_kept
from mnemolog.operations.integrity.verification import NoHead
from mnemolog.settings import from_environment
from projections.shard.rows.damage import LedgerDamaged
from schemas.topics import partition_of

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor

ZARA_AT = partition_of(b"default/zara", 2)
EVERY_SECOND = {"heads_every_hours": 0.3 / 3600}


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for path in sorted(folder.glob(FILES)) for line in path.read_bytes().splitlines()]


async def age(door: FrontDoor) -> float | None:
    """Return how long ago heads were kept, as the metrics have it."""
    text = (await door.get("/metrics")).text
    found = [line.split()[1] for line in text.splitlines() if line.startswith("mnemolog_heads_kept_age_seconds ")]
    return float(found[0]) if found else None


async def kept_lines(folder: Path) -> list[dict[str, Any]]:
    """Return what is kept, as soon as anything is."""
    async with asyncio.timeout(30):
        while True:
            if found := lines_of(folder):
                return found
            await asyncio.sleep(0.02)


async def test_heads_are_written_while_a_worker_runs_and_when_it_stops(tmp_path: Path):
    data, folder = tmp_path / "var", tmp_path / "elsewhere"
    folder.mkdir()
    async with front_door(data, heads_to=str(folder), **EVERY_SECOND) as door:
        await door.remember("zara keeps a quokka", "zara")
        await kept_lines(folder)
        assert (await age(door) or 99.0) < 30
        assert 'mnemolog_head_offset{partition="' in (await door.get("/metrics")).text
        key = door.worker.head_keeper._receipts.public_key
    async with front_door(data, heads_to=str(folder)) as door:
        await door.remember("zara keeps a heron", "zara")
    kept = lines_of(folder)
    assert all(line["public_key"] == key and line["kept_at"] for line in kept)
    ends = [sum(head["offset"] for head in line["heads"]) for line in kept]
    assert ends == [1, 1, 2]  # a start says it again
    assert max(head.offset for head in read_kept(folder, key).heads) == 2
    assert (await check_heads(from_environment({}, data_dir=data, heads_to=str(folder)))).ok


async def test_a_worker_serves_nothing_of_a_log_that_ends_before_what_was_kept(tmp_path: Path):
    data, folder = tmp_path / "var", tmp_path / "elsewhere"
    folder.mkdir()
    async with front_door(data, heads_to=str(folder)) as door:
        await door.remember("zara keeps a quokka", "zara")
    shutil.copytree(data, tmp_path / "older")
    async with front_door(data, heads_to=str(folder)) as door:
        await door.remember("zara keeps a heron", "zara")
    async with front_door(tmp_path / "older", heads_to=str(folder)) as door:
        refused = await door.get("/v1/memories", user_id="zara")
        assert refused.status_code == 503
        assert "a head was kept elsewhere at offset 2, and the log ends at 1" in refused.json()["detail"]
        assert "let MNEMOLOG_HEADS_TO name a new folder" in refused.json()["detail"]
        assert "mnemolog_damaged_histories 1.0" in (await door.get("/metrics")).text
        checks = (await door.get("/v1/admin/checks")).json()["checks"]
        [said] = [one for one in checks if one["name"] == "partition"]
        assert not said["ok"]
        assert "a head was kept elsewhere at offset 2" in said["detail"]
    async with front_door(tmp_path / "older") as door:
        assert (await door.get("/v1/memories", user_id="zara")).status_code == 200


OTHER = next(name for name in map(str, range(99)) if partition_of(f"default/{name}".encode(), 2) != ZARA_AT)


async def refused(door: FrontDoor, user_id: str) -> None:
    """Return when a user is not answered any more."""
    while True:
        if (await door.get("/v1/memories", user_id=user_id)).status_code == 503:
            return
        await asyncio.sleep(0.05)


async def copied_between(data: Path, folder: Path | None, older: Path) -> None:
    """Have two users remember something, copy the data directory, and have zara remember more; heads are kept."""
    kept = {} if folder is None else {"heads_to": str(folder)}
    async with front_door(data, **kept) as door:
        await door.remember("zara keeps a quokka", "zara")
        await door.remember("she rows", OTHER)
    shutil.copytree(data, older)
    async with front_door(data, **kept) as door:
        await door.remember("zara keeps a heron", "zara")


async def test_what_is_refused_once_is_refused_at_each_start_and_no_heads_are_kept_meanwhile(tmp_path: Path):
    data, older, folder = tmp_path / "var", tmp_path / "older", tmp_path / "elsewhere"
    folder.mkdir()
    await copied_between(data, folder, older)
    before = lines_of(folder)
    for song in ("sonatas", "serenades", "shanties"):
        async with front_door(older, heads_to=str(folder), **EVERY_SECOND) as door:
            assert (await door.get("/v1/memories", user_id="zara")).status_code == 503
            assert (await door.get("/v1/memories", user_id=OTHER)).status_code == 200
            await door.remember(f"she sings {song}", OTHER)
            await asyncio.sleep(0.5)
            assert (await age(door) or 0.0) >= 0.5  # since it is refused
        assert lines_of(folder) == before


async def test_the_furthest_head_counts_whatever_newer_lines_say(tmp_path: Path):
    data, older, folder = tmp_path / "var", tmp_path / "older", tmp_path / "elsewhere"
    folder.mkdir()
    await copied_between(data, folder, older)
    first, *_, last = lines_of(folder)
    [path] = folder.glob(FILES)
    lacking = first | {"heads": [one for one in first["heads"] if one["partition"] != ZARA_AT]}
    newer: tuple[Any, ...] = (
        first,
        lacking,
        {"heads": 3},
        [],
        last | {"heads": [{"topic": "a", "partition": 0, "offset": "9"}]},
    )
    for more in newer:
        with path.open("ab") as file:  # as versions before 0.2 kept them of an older copy
            file.write(orjson.dumps(more) + b"\n")
    async with front_door(older, heads_to=str(folder)) as door:
        assert (await door.get("/v1/memories", user_id="zara")).status_code == 503
    async with front_door(data, heads_to=str(folder)) as door:
        assert (await door.get("/v1/memories", user_id="zara")).status_code == 200


async def test_a_worker_on_an_older_copy_ends_when_the_folder_is_there_and_the_next_refuses_it(tmp_path: Path):
    data, older, folder = tmp_path / "var", tmp_path / "older", tmp_path / "elsewhere"
    folder.mkdir()
    await copied_between(data, folder, older)
    away, before = tmp_path / "away", lines_of(folder)
    folder.rename(away)
    async with front_door(older, heads_to=str(folder), **EVERY_SECOND) as door:
        assert (await door.get("/v1/memories", user_id="zara")).status_code == 200
        away.rename(folder)
        assert door.worker.failure is not None
        with pytest.raises(LedgerDamaged, match=f"partitions {ZARA_AT}: the next start refuses"):
            await asyncio.wait_for(asyncio.shield(door.worker.failure), 30)
    async with front_door(older, heads_to=str(folder), **EVERY_SECOND) as door:
        await asyncio.wait_for(refused(door, "zara"), 30)
        assert (await door.get("/v1/memories", user_id=OTHER)).status_code == 200
    assert lines_of(folder) == before


async def test_a_folder_that_is_there_when_the_worker_stops_gets_no_heads_that_it_contradicts(tmp_path: Path):
    data, older, folder = tmp_path / "var", tmp_path / "older", tmp_path / "elsewhere"
    folder.mkdir()
    await copied_between(data, folder, older)
    away, before = tmp_path / "away", lines_of(folder)
    folder.rename(away)
    async with front_door(older, heads_to=str(folder)) as door:
        assert (await door.get("/v1/memories", user_id="zara")).status_code == 200
        away.rename(folder)
    assert lines_of(folder) == before


async def test_a_folder_that_is_not_there_is_logged_though_there_is_nothing_to_keep(tmp_path: Path, caplog: Any):
    folder = tmp_path / "not-mounted"
    async with front_door(tmp_path / "var", heads_to=str(folder)):
        pass
    assert f"the folder {folder} is not there: mount it, or make it" in caplog.text


async def test_there_is_no_age_of_heads_until_some_were_kept(tmp_path: Path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    async with front_door(tmp_path / "var", heads_to=str(folder), **EVERY_SECOND) as door:
        await asyncio.sleep(0.5)
        assert await age(door) is None
        await door.remember("zara keeps a quokka", "zara")
        await kept_lines(folder)
        async with asyncio.timeout(30):
            while await age(door) is None:  # noqa: ASYNC110 - it is set after the line is written
                await asyncio.sleep(0.02)


async def test_a_folder_that_is_not_there_is_not_made_and_the_worker_goes_on(tmp_path: Path):
    data, folder = tmp_path / "var", tmp_path / "not-mounted"
    chosen = from_environment({}, data_dir=data, heads_to=str(folder))
    async with front_door(data, heads_to=str(folder), **EVERY_SECOND) as door:
        await door.remember("zara keeps a quokka", "zara")
        await asyncio.sleep(0.7)
        assert not folder.exists()
        before = await age(door)
        assert before is not None
        assert before > 0.6
        assert not (await check_heads(chosen)).ok
        folder.mkdir()
        await kept_lines(folder)
        assert (await age(door) or 99.0) < 30
    assert (await check_heads(chosen)).ok


async def test_heads_are_posted_to_an_address_and_again_after_a_failure(tmp_path: Path):
    async with webhook_receiver() as receiver:
        receiver.statuses = [503]
        given = {"heads_to": receiver.url, "webhook_hosts": "127.0.0.1"} | EVERY_SECOND
        async with front_door(tmp_path / "var", **given) as door:
            await door.remember("zara keeps a quokka", "zara")
            await receiver.until(lambda: bool(receiver.taken))
            key = door.worker.head_keeper._receipts.public_key
    assert len(receiver.came) > len(receiver.taken)
    assert b"quokka" not in receiver.taken[-1].raw
    file = tmp_path / "posted.jsonl"
    file.write_bytes(b"\n".join(one.raw for one in receiver.taken) + b'\n{"heads": [')  # a crash cut the last short
    assert [head.offset for head in read_kept(file, key).heads] == [1]


def test_a_line_that_a_crash_cut_short_does_not_spoil_the_next(tmp_path: Path):
    folder = HeadFolder(tmp_path)
    asyncio.run(folder.keep(b'{"a": 1}'))
    [path] = tmp_path.glob(FILES)
    with path.open("ab") as file:
        file.write(b'{"b": ')
    asyncio.run(folder.keep(b'{"c": 3}'))
    assert path.read_bytes().splitlines() == [b'{"a": 1}', b'{"b": ', b'{"c": 3}']
    with pytest.raises(NotKept, match="is not there"):
        asyncio.run(HeadFolder(tmp_path / "none").keep(b"{}"))


def test_an_empty_folder_is_no_proof(tmp_path: Path):
    with pytest.raises(NoHead, match="no heads are kept there"):
        read_kept(tmp_path, "")


@each(
    ("place", "said"),
    [
        ("var/heads", "lies in the data directory"),
        ("http://example.com/heads", "must be a folder, or an https:// address"),
        ("ftp://example.com/heads", "must be a folder, or an https:// address"),
        ("http://[::1", "must be a folder, or an https:// address"),
    ],
)
def test_a_place_that_proves_nothing_is_refused(place: str, said: str):
    with pytest.raises(SettingsError, match=said):
        from_environment({}, data_dir="var", heads_to=place)
