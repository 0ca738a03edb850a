"""Backups and restorations that are killed at each step, while a worker serves and is written to."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from contract.front_door import FrontDoor, front_door

import mnemolog
from mnemolog.backup.verification import verify_backup

PROGRAM = Path(__file__).parent / "killed_copies.py"
SECONDS = 600.0
LEAST_STEPS = 25
"""Of a backup and of a restoration: with fewer the steps would not be seen any more."""


async def lines_of(*arguments: object) -> list[dict[str, Any]]:
    """Run the program to its end; return what it prints."""
    path = os.pathsep.join(map(str, (Path(mnemolog.__file__).parents[1], PROGRAM.parents[1])))
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, *map(str, arguments), stdout=-1, stderr=-1, env=os.environ | {"PYTHONPATH": path}
    )
    async with asyncio.timeout(SECONDS):
        said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return [orjson.loads(line) for line in said.splitlines()]


async def write(door: FrontDoor) -> None:
    """Have something remembered again and again, until this is cancelled."""
    for number in count():
        await door.remember(f"zara keeps {number} quokkas", "zara")
        await door.remember(f"yuri rows {number} miles", "yuri")


async def test_a_backup_that_is_killed_leaves_the_former_one_and_a_restoration_that_is_killed_is_repeated(
    tmp_path: Path,
):
    folder, backup, new = tmp_path / "var", tmp_path / "backup", tmp_path / "new"
    async with front_door(folder) as door:
        load = asyncio.create_task(write(door))
        try:
            left = await lines_of("backup", folder, backup)
            left += await lines_of("backup", folder, backup)  # beside a former one
        finally:
            load.cancel()
        assert not load.done()  # it was written to all the time
        await asyncio.gather(load, return_exceptions=True)
        assert (await door.post("/v1/admin/drain")).status_code == 200
        known = (await door.get("/v1/admin/digest")).json()["total"]
        left += await lines_of("backup", folder, backup)
    moments = [one["taken_at"] for one in left if one["taken_at"] is not None]
    assert moments == sorted(moments)
    assert len(set(moments)) > 1
    assert len(left) > LEAST_STEPS
    assert [one["taken_at"] for one in left[-len(moments) :]] == moments  # once there is one, there always is
    assert verify_backup(backup).taken_at == moments[-1]
    shutil.copytree(folder / "keys", new / "keys")
    said = await lines_of("restore", new, backup)
    steps = [one for one in said if "step" in one]
    assert len(steps) > LEAST_STEPS
    assert not any(one["has_log"] for one in steps[: LEAST_STEPS // 2])
    # Before anything is made, and when the receipt was printed, there is nothing to wait for.
    assert all(one["is_refused"] for one in steps[1:] if not one["has_log"])
    assert any(one["is_refused"] for one in steps if one["has_log"])
    told = [one["digest"] for one in said if "digest" in one]
    assert set(told) == {known}
    assert len(told) > 1
    assert said[-1] == {"digest": known}
    async with front_door(new) as door:
        assert (await door.get("/v1/admin/digest")).json()["total"] == known
