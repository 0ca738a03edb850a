"""Encryption that is switched off and on again: nothing is taken for damaged, and the log says what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door

from mnemolog.diagnostics.checks import checked
from mnemolog.diagnostics.residue import find_residue
from mnemolog.settings import from_environment
from schemas.log import LogError
from streams.sealing.key_files import file_of

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor

WORD = "quokka"


async def knows(door: FrontDoor, *users: str) -> None:
    for user in users:
        [memory] = (await door.get("/v1/memories", user_id=user)).json()["items"]
        assert memory["content"] == f"{user} keeps a {WORD}"
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]


def set_aside(folder: Path) -> list[str]:
    """Return the names of files that were marked, or kept, as damaged."""
    return [path.name for path in folder.rglob("*damaged*")]


async def looked_at(folder: Path, encryption: str) -> None:
    found = {one.name: one for one in await checked(from_environment({}, data_dir=folder, encryption=encryption))}
    assert found["shards"].ok, found["shards"]


async def test_nothing_is_taken_for_damaged_and_earlier_records_stay_encrypted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with front_door(tmp_path) as door:
        await door.remember(f"zara keeps a {WORD}", "zara")
    await looked_at(tmp_path, "off")
    async with front_door(tmp_path, encryption="off") as door:
        [warned] = [one for one in caplog.messages if "MNEMOLOG_ENCRYPTION" in one]
        assert "new records are written in clear; earlier ones and the shards stay encrypted" in warned
        await knows(door, "zara")
        assert await find_residue(door.worker.settings, [WORD]) == []
        await door.remember(f"yuri keeps a {WORD}", "yuri")
        await knows(door, "zara", "yuri")
        assert {one.where.partition("/")[0] for one in await find_residue(door.worker.settings, [WORD])} == {"log"}
    for encryption in ("off", "on"):
        await looked_at(tmp_path, encryption)
        async with front_door(tmp_path, encryption=encryption) as door:
            await knows(door, "zara", "yuri")
            assert (await door.http.delete("/v1/users/zara")).json()["remains"] == []
            await door.remember(f"zara keeps a {WORD}", "zara")
    assert not any("damaged" in one for one in caplog.messages)
    assert set_aside(tmp_path) == []


async def test_switched_off_it_does_not_start_without_the_master_key(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.remember(f"zara keeps a {WORD}", "zara")
    key = file_of(tmp_path)
    key.rename(tmp_path / "elsewhere")
    with pytest.raises(LogError, match="its master key was not given"):
        async with front_door(tmp_path, encryption="off"):
            pass
    (tmp_path / "elsewhere").rename(key)
    async with front_door(tmp_path, encryption="off") as door:
        await knows(door, "zara")


async def test_shards_that_lie_in_clear_are_not_taken_for_damaged_when_encryption_is_switched_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with front_door(tmp_path, encryption="off") as door:
        await door.remember(f"zara keeps a {WORD}", "zara")
    await looked_at(tmp_path, "on")
    async with front_door(tmp_path) as door:
        await knows(door, "zara")
    await looked_at(tmp_path, "on")
    assert not any("damaged" in one or "MNEMOLOG_ENCRYPTION" in one for one in caplog.messages)
    assert set_aside(tmp_path) == []
