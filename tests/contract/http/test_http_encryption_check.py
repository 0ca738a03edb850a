"""The doctor says whether encryption is on, which master key is in force, and how many users are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door

from mnemolog.diagnostics.checks import checked
from mnemolog.diagnostics.encryption_check import check_encryption
from mnemolog.environment import SettingsError
from mnemolog.log.connection import opened_log
from mnemolog.settings import from_environment
from schemas.log import LogError, NewRecord
from schemas.topics import INBOX
from streams.sealing.key_files import file_of, make_key, read_file, read_keys
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor


async def said(folder: Path, **variables: str) -> str:
    """Return what the check says of a data directory that no worker uses."""
    named = {f"MNEMOLOG_{name}": value for name, value in variables.items()}
    found = await checked(from_environment(named, data_dir=folder))
    [of_encryption] = [one for one in found if one.name == "encryption"]
    assert of_encryption.ok, of_encryption
    return of_encryption.detail


async def said_by(door: FrontDoor) -> str:
    """Return what a worker that serves says."""
    checks = (await door.get("/v1/admin/checks")).json()["checks"]
    [of_encryption] = [one for one in checks if one["name"] == "encryption"]
    return str(of_encryption["detail"])


async def remember(door: FrontDoor, *users: str, content: str = "keeps a quokka") -> None:
    for user in users:
        await door.remember(content, user)


async def test_it_counts_who_is_encrypted_and_who_lies_in_clear(tmp_path: Path):
    assert await said(tmp_path) == "on: no key yet; nothing is written yet"
    assert await said(tmp_path, ENCRYPTION="off") == "off; nothing is written yet"
    async with front_door(tmp_path, encryption="off") as door:
        await remember(door, "ada", "bob", "cyd")
        off = "off; users encrypted: 0, with records in clear: 3"
        assert await said_by(door) == off
    assert await said(tmp_path, ENCRYPTION="off") == off
    async with front_door(tmp_path) as door:
        await remember(door, "cyd", "dan", content="lives in a tree")
        newest = read_file(file_of(tmp_path)).newest
        on = (
            f"on: the master key in force is {newest}, of {file_of(tmp_path)}; users encrypted: 2, "
            "with records in clear: 3 (`mnemolog encrypt` encrypts those too, while no worker runs)"
        )
        assert await said_by(door) == on
        assert "its worker counts them" in await said(tmp_path) or await said(tmp_path) == on
    assert await said(tmp_path) == on
    mixed = await said(tmp_path, ENCRYPTION="off")
    assert mixed.startswith(f"off: the master key in force is {newest}")
    assert mixed.endswith("new records are written in clear, and the master key is still needed for the others")


async def test_a_log_that_is_too_long_to_be_read_through_is_no_fault(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        await remember(door, *(f"u{number}" for number in range(20)))
    async with opened_log(from_environment({}, data_dir=tmp_path)) as log:
        assert isinstance(log, SqliteLog)
        # more than sqlite runs through between two looks at the clock
        record = NewRecord(topic=INBOX.name, partition=0, key=None, value=b"\xc3\x02 sealed, by its beginning")
        await log.append([record] * 5_000)
    found = await check_encryption(from_environment({}, data_dir=tmp_path), None, None, count_seconds=0.0)
    assert found.ok
    assert found.detail.endswith("in clear are not counted, for the log is too long to be read through now")
    assert (await said(tmp_path)).partition(", with records in clear: ")[2].startswith("20 (")


async def test_it_names_an_older_master_key_that_still_wraps_something(tmp_path: Path):
    old, new = make_key(), make_key()
    async with front_door(tmp_path, master_key=old) as door:
        await remember(door, "ada")
    newest, former = (read_keys(key, "the test").newest for key in (new, old))
    before = await said(tmp_path, MASTER_KEY=f"{new},{old}")
    assert before.startswith(f"on: the master key in force is {newest}, of MNEMOLOG_MASTER_KEY; users encrypted: 1")
    assert before.endswith(f"{former} wrap some too, until `mnemolog keys rotate`")
    async with front_door(tmp_path, master_key=f"{new},{old}") as door:
        assert (await door.post("/v1/admin/keys/rotate")).status_code == 200
    assert former not in await said(tmp_path, MASTER_KEY=new)


WRONG = make_key()


@pytest.mark.parametrize("by_file", [False, True])
async def test_a_wrong_master_key_that_was_set_is_named_by_its_variable_with_what_to_do(
    tmp_path: Path, *, by_file: bool
):
    async with front_door(tmp_path / "var") as door:
        await remember(door, "ada")
    path = tmp_path / "wrong"
    path.write_text(WRONG)
    given: dict[str, object] = {"master_key_file": path} if by_file else {"master_key": WRONG}
    variable = "MNEMOLOG_MASTER_KEY_FILE" if by_file else "MNEMOLOG_MASTER_KEY"
    with pytest.raises(LogError) as failed:
        async with front_door(tmp_path / "var", **given):
            pass
    [needed, had] = [read_file(one).newest for one in (file_of(tmp_path / "var"), path)]
    assert f"encrypted with the master key {needed}, which was not given: " in str(failed.value)
    assert f"has {had}; " in str(failed.value)
    assert variable in str(failed.value)
    assert ("unset the variable if the key is in keys/master" in str(failed.value)) is not by_file
    assert WRONG not in str(failed.value)
    found = await checked(from_environment({}, data_dir=tmp_path / "var", **given))
    [of_encryption] = [one for one in found if one.name == "encryption"]
    assert (of_encryption.ok, of_encryption.detail) == (False, f"on: {failed.value}")


async def test_a_variable_that_holds_no_key_is_named(tmp_path: Path):
    with pytest.raises((LogError, SettingsError), match="MNEMOLOG_MASTER_KEY: key 1 is not 32 bytes"):
        async with front_door(tmp_path, master_key="rubbish"):
            pass
