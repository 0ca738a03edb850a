"""A backup is made while a worker serves, and a log restored from it is the one of that moment."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.backup.creation import SMALL_SEGMENTS, BackupRefused, Made, back_up
from mnemolog.backup.manifest import FILE, RECORDS, NoBackup, read_manifest, write_manifest
from mnemolog.backup.moment import Moment, moment_of
from mnemolog.backup.restoration import RestoreRefused, restore
from mnemolog.backup.segment import BackupDamaged
from mnemolog.backup.source import opened_source
from mnemolog.backup.verification import verify_backup
from mnemolog.diagnostics.checks import checked
from mnemolog.operations.integrity.data_folder import RESTORING, FolderMismatch
from mnemolog.settings import from_environment
from schemas.identity import Owner
from schemas.log import ERASED_VALUE, LogError
from schemas.topics import LEDGER
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.settings import Settings

QUICK = 1e9
"""Bytes a second."""
ZARA = Owner("default", "zara")
KEYS_OF = {"on": {"before": 2, "after": 3}, "off": {"before": 0, "after": 0}}
"""How many data keys there are, before and after a second user."""


def settings_of(folder: Path, **more: object) -> Settings:
    return from_environment({}, data_dir=folder, partitions=2, **more)


async def backed_up(folder: Path, backup: Path, **more: object) -> Made:
    """Back up the log of a data directory, which a worker may serve."""
    async with opened_source(settings_of(folder, **more)) as source:
        return await back_up(source, backup, QUICK)


async def restored(backup: Path, folder: Path, to: str | None = None, *, keys: Path | None, **more: object) -> Any:
    """Restore into a folder that has the keys of another one and nothing else; return the receipt."""
    if keys is not None and (keys / "keys").exists():
        shutil.copytree(keys / "keys", folder / "keys")
    return await restore(settings_of(folder, **more), backup, moment_of(to))


async def digest(door: FrontDoor) -> str:
    assert (await door.post("/v1/admin/drain")).status_code == 200
    found: str = (await door.get("/v1/admin/digest")).json()["total"]
    return found


async def memories(door: FrontDoor, user_id: str = "zara") -> list[str]:
    found = (await door.get("/v1/memories", user_id=user_id)).json()
    return sorted(memory["content"] for memory in found["items"])


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_a_log_is_backed_up_while_it_serves_and_restored_to_its_end(tmp_path: Path, encryption: str):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder, encryption=encryption) as door:
        await door.remember("zara keeps a quokka", "zara")
        await backed_up(folder, backup)
        unchanged = await backed_up(folder, backup)
        await door.remember("zara keeps a heron", "zara")
        assert (await door.post("/v1/events", turn("t1", "I live in Lisbon.", user_id="yuri"))).status_code == 202
        known = await digest(door)
        second = await backed_up(folder, backup)
        again = await backed_up(folder, backup)
        assert again.manifest.partitions == second.manifest.partitions
        compacted = KEYS_OF[encryption]  # which are read whole each time
        assert unchanged.copied_records == compacted["before"]
        assert again.copied_records == compacted["after"]
        new_ones = second.manifest.records - unchanged.manifest.records
        assert second.copied_records - compacted["after"] == new_ones - (compacted["after"] - compacted["before"])
    assert verify_backup(backup).records == again.manifest.records
    receipt = await restored(backup, new, keys=folder, encryption=encryption)
    assert receipt["digest"] == known
    assert receipt["restored_to"] == "its end"
    async with front_door(new, encryption=encryption) as door:
        assert await digest(door) == known
        assert await memories(door) == ["zara keeps a heron", "zara keeps a quokka"]
        await door.remember("zara rows", "zara")  # and life goes on


async def test_a_log_is_restored_to_a_time_and_to_a_decision(tmp_path: Path):
    folder, backup = tmp_path / "var", tmp_path / "backup"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        known, at = await digest(door), datetime.now(UTC).isoformat()
        partition = door.worker.shards.partition(ZARA)
        last = await door.worker.log.end(LEDGER.name, partition) - 1
        await door.remember("zara keeps a heron", "zara")
        await door.remember("yuri rows", "yuri")
        await backed_up(folder, backup)
    for number, to in enumerate((at, f"{LEDGER.name}:{partition}:{last}")):
        new = tmp_path / str(number)
        receipt = await restored(backup, new, to, keys=folder)
        assert receipt["digest"] == known, to
        async with front_door(new) as door:
            assert await digest(door) == known
            assert await memories(door) == ["zara keeps a quokka"]


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_an_erasure_of_after_the_backup_is_repeated_before_anything_is_served(tmp_path: Path, encryption: str):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder, encryption=encryption) as door:
        await door.remember("zara keeps a quokka", "zara")
        await door.remember("yuri rows", "yuri")
        await backed_up(folder, backup)
        assert (await door.http.delete("/v1/users/zara")).status_code == 200
        known = await digest(door)
    receipt = await restored(backup, new, keys=folder, encryption=encryption)  # the list is beside the keys
    assert receipt["erasures_listed"] == 1
    assert receipt["digest"] != known
    async with front_door(new, encryption=encryption) as door:
        assert await memories(door) == []
        assert await memories(door, "yuri") == ["yuri rows"]
        assert await digest(door) == known


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_an_erasure_reaches_the_backup_with_the_next_run_also_where_an_earlier_moment_is_restored(
    tmp_path: Path, encryption: str
):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder, encryption=encryption) as door:
        await door.remember("zara keeps a quokka", "zara")
        memory = await door.remember("yuri keeps a heron", "yuri")
        await door.remember("yuri rows", "yuri")
        await backed_up(folder, backup, encryption=encryption)
        before = datetime.now(UTC).isoformat()
        assert (await door.http.delete("/v1/users/zara")).status_code == 200
        forever = await door.http.delete(f"/v1/memories/{memory['memory_id']}", params={"forever": "true"})
        assert forever.status_code == 200
        made = await backed_up(folder, backup, encryption=encryption)
    assert {path.name for path in (backup / RECORDS).iterdir()} == made.manifest.files
    kept = b"".join(path.read_bytes() for path in (backup / RECORDS).iterdir())
    assert b"quokka" not in kept
    assert b"heron" not in kept
    if encryption == "off":
        assert ERASED_VALUE in kept
    (new / "keys").mkdir(parents=True)
    # With the master key alone: the log has what the list's names are made with, but for a log that is in clear.
    for name in ("master",) if encryption == "on" else ("subjects", "receipts"):
        shutil.copyfile(folder / "keys" / name, new / "keys" / name)
    receipt = await restored(backup, new, before, keys=None, encryption=encryption)
    assert receipt["erasures_listed"] == 2
    async with front_door(new, encryption=encryption) as door:
        assert await memories(door) == []
        assert await memories(door, "yuri") == ["yuri rows"]


async def test_without_the_master_key_nothing_is_restored_and_with_it_the_same_command_goes_on(tmp_path: Path):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await backed_up(folder, backup)
    with pytest.raises(LogError, match="which is missing"):
        await restored(backup, new, keys=None)
    assert not new.exists()
    await restored(backup, new, keys=folder)
    assert not (new / RESTORING).exists()
    async with front_door(new) as door:
        assert await memories(door) == ["zara keeps a quokka"]


async def test_no_worker_starts_while_a_restoration_is_not_complete_and_its_receipt_is_told_again(tmp_path: Path):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        known = await digest(door)
        await backed_up(folder, backup)
    shutil.copytree(folder / "keys", new / "keys")

    def cut_off(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await restore(settings_of(new), backup, Moment(), tell=cut_off)
    with pytest.raises(RestoreRefused, match=r"was restored to, its end, but for the receipt"):
        await restore(settings_of(new), backup, moment_of("2026-02-10T09:00:00Z"))
    before = read_manifest(backup)
    write_manifest(backup, replace(before, taken_at="2027-01-01T00:00:00.000000Z"))
    with pytest.raises(RestoreRefused, match=r"is of 2027-01-01\S+ by now: remove what is there"):
        await restore(settings_of(new), backup, Moment())
    write_manifest(backup, before)
    for place in (new / "log", tmp_path):  # as it is then, and as it is where the log is not in its place
        if place == tmp_path:
            shutil.move(new / "log" / LOG_FILE, place)
        with pytest.raises(FolderMismatch, match="was cut off"):
            async with front_door(new):
                pass
        [log] = [one for one in await checked(settings_of(new)) if one.name == "log"]
        assert not log.ok
        assert "was cut off" in log.detail
    shutil.move(tmp_path / LOG_FILE, new / "log")
    told: list[Any] = []
    receipt = await restore(settings_of(new), backup, Moment(), tell=told.append)
    assert told == [receipt]
    assert receipt["digest"] == known
    async with front_door(new) as door:
        assert await digest(door) == known
    with pytest.raises(RestoreRefused, match="has a log"):
        await restore(settings_of(new), backup, Moment())


async def test_what_is_no_backup_of_this_log_is_refused_and_stays_as_it_is(tmp_path: Path):
    folder, other, backup = tmp_path / "var", tmp_path / "other", tmp_path / "backup"
    copy = tmp_path / "copy"
    for one in (folder, other):
        async with front_door(one) as door:
            await door.remember("zara keeps a quokka", "zara")
    shutil.copytree(folder, copy)
    async with front_door(folder) as door:
        await door.remember("zara keeps a heron", "zara")
    await backed_up(folder, backup)
    manifest = (backup / FILE).read_bytes()
    with pytest.raises(BackupRefused, match="of another log"):
        await backed_up(other, backup)
    with pytest.raises(BackupRefused, match="replaced by an older copy"):
        await backed_up(copy, backup)
    async with front_door(copy) as door:
        for content in ("zara rows", "zara sings", "zara reads"):
            await door.remember(content, "zara")
    with pytest.raises(BackupRefused, match="went on from an older copy"):
        await backed_up(copy, backup)
    with pytest.raises(BackupRefused, match="is no backup, and holds"):
        await backed_up(folder, folder / "log")
    assert (backup / FILE).read_bytes() == manifest
    verify_backup(backup)


async def test_a_damaged_backup_is_named_and_not_restored(tmp_path: Path):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await backed_up(folder, backup)
    with pytest.raises(NoBackup, match="there is no backup"):
        verify_backup(new)
    for path in (*(backup / RECORDS).iterdir(), backup / FILE):
        whole = path.read_bytes()
        for bad in (whole[:-2], whole[:20] + bytes([whole[20] ^ 1]) + whole[21:], None):
            if bad is None:
                path.unlink()
            else:
                path.write_bytes(bad)
            with pytest.raises((BackupDamaged, NoBackup), match=path.name.replace(".", r"\.")):
                await restored(backup, new, keys=None)
            path.write_bytes(whole)
    assert not (new / "log").exists()


async def test_a_run_misses_a_file_that_is_gone_or_shorter_and_leaves_the_rest_as_it_is(tmp_path: Path):
    folder, backup = tmp_path / "var", tmp_path / "backup"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await backed_up(folder, backup)
        manifest = (backup / FILE).read_bytes()
        [*_, path] = sorted((backup / RECORDS).glob("*.avro"))
        whole = path.read_bytes()
        path.write_bytes(whole[:-2])
        with pytest.raises(BackupDamaged, match=rf"{re.escape(path.name)}: it has \d+ bytes, and {len(whole)} were"):
            await backed_up(folder, backup)
        path.unlink()
        with pytest.raises(BackupDamaged, match=re.escape(path.name)):
            await backed_up(folder, backup)
        path.write_bytes(whole)
        assert (backup / FILE).read_bytes() == manifest
        await backed_up(folder, backup)


async def test_keys_in_the_folder_of_the_keys_are_refused(tmp_path: Path):
    """As `cp -a var/keys DIR` leaves them where DIR is there already: the outer list of erasures is the older one."""
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await backed_up(folder, backup)
    shutil.copytree(folder / "keys", new / "keys")
    shutil.copytree(folder / "keys", new / "keys" / "keys")
    with pytest.raises(FolderMismatch, match="put what is newest into"):
        await restore(settings_of(new), backup, Moment())
    assert [path.name for path in new.iterdir()] == ["keys"]
    with pytest.raises(FolderMismatch, match="put what is newest into"):
        async with front_door(new):
            pass
    shutil.rmtree(new / "keys" / "keys")
    (new / "keys" / "lost+found").mkdir()
    await restore(settings_of(new), backup, Moment())


async def test_only_an_empty_data_directory_is_restored_into(tmp_path: Path):
    folder, backup, shards = tmp_path / "var", tmp_path / "backup", tmp_path / "shards"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
        await backed_up(folder, backup)
    with pytest.raises(RestoreRefused, match="has a log"):
        await restored(backup, folder, keys=None)
    shutil.copytree(folder / "shards", shards / "shards")
    with pytest.raises(RestoreRefused, match="has shards"):
        await restored(backup, shards, keys=None)
    with pytest.raises(RestoreRefused, match="ends at"):
        await restored(backup, tmp_path / "new", f"{LEDGER.name}:0:99", keys=folder)


def test_a_moment_is_a_time_with_its_offset_or_the_position_of_a_decision():
    assert moment_of(None) == Moment()
    assert moment_of("2026-02-10T09:00:00+01:00") == Moment(datetime(2026, 2, 10, 8, tzinfo=UTC))
    for wrong, said in (
        ("2026-02-10T08:00:00", "has no offset"),
        ("2026-02-10", r"write 2026-02-10T00:00:00Z for UTC"),
        ("yesterday", "neither a time"),
        ("mnemolog.inbox:0:3", "position of a decision"),
    ):
        with pytest.raises(LogError, match=said):
            moment_of(wrong)


async def test_many_small_runs_leave_few_files(tmp_path: Path):
    folder, backup = tmp_path / "var", tmp_path / "backup"
    async with front_door(folder) as door:
        for number in range(20):
            await door.remember(f"zara keeps {number} quokkas", "zara")
            made = await backed_up(folder, backup)
    verify_backup(backup)
    assert max(len(one.segments) for one in made.manifest.partitions) <= SMALL_SEGMENTS
