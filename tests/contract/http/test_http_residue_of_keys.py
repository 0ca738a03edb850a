"""Residue of keys: SQLite leaves copies of rows that it moves, and none may open what a destroyed key sealed."""

from __future__ import annotations

import random
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door

from mnemolog.log.connection import create_topics, opened_log
from mnemolog.settings import from_environment
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.data_keys import DataKey
from schemas.topics import KEYS, REPLACEMENTS
from streams.sealing.key_files import file_of, write_keys
from streams.sealing.master_key import KEY_BYTES, MasterKeys
from streams.sealing.user_keys import UserKeys
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.rewriting import empty_write_ahead_log

if TYPE_CHECKING:
    from pathlib import Path

USERS = 300
SEEDS = range(20)
MASTER = bytes(KEY_BYTES)


async def with_keys(folder: Path, seed: int) -> dict[str, bytes]:
    """Make a log with a key for each of many users, and others' rows between; return each user's wrapped key."""
    dice, settings = random.Random(seed), from_environment({}, data_dir=folder, partitions=2)  # noqa: S311
    write_keys(file_of(folder), [b64encode(MASTER).decode()])
    owners = [Owner("default", f"u{n}" * dice.randrange(1, 8)) for n in range(USERS)]
    async with opened_log(settings) as log:
        await create_topics(log, settings)
        keys = UserKeys(log, MasterKeys([MASTER]))
        for owner in owners:
            await keys.make([owner])
            other = NewRecord(topic=REPLACEMENTS.name, partition=0, key=b"k", value=bytes(dice.randrange(50, 3000)))
            await log.append([other])
        await empty_write_ahead_log(log)  # type: ignore[arg-type] # an embedded one
        lying = {one.key: codec.decode_as(one.value, DataKey) for one in await log.read(KEYS.name, 0, 0, 2 * USERS)}
    return {owner.user_id: lying[keys.ring.ids_of(owner)[0]].wrapped for owner in owners}


@pytest.fixture
async def wrapped(tmp_path: Path) -> dict[str, bytes]:
    """Return the wrapped keys of those of whom the file has a copy more than SQLite knows."""
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        made = await with_keys(folder, seed)
        data = (folder / "log" / LOG_FILE).read_bytes()
        if twice := {user: key for user, key in made.items() if data.count(key) > 1}:
            folder.rename(tmp_path / "var")
            return twice
    raise AssertionError("SQLite left no copy of any row: nothing is tried here")


def left(folder: Path, keys: dict[str, bytes]) -> list[str]:
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return [user for user, key in keys.items() if any(key in data for data in files)]


async def test_of_an_erased_users_key_no_copy_stays(tmp_path: Path, wrapped: dict[str, bytes]):
    folder = tmp_path / "var"
    async with front_door(folder) as door:
        assert left(folder, wrapped) == list(wrapped)
        for user in wrapped:
            assert (await door.http.delete(f"/v1/users/{user}")).status_code == 200
        assert left(folder, wrapped) == []
    assert left(folder, wrapped) == []


async def test_after_a_rotation_no_copy_stays_that_the_former_master_key_opens(
    tmp_path: Path, wrapped: dict[str, bytes]
):
    folder = tmp_path / "var"
    async with front_door(folder) as door:
        assert (await door.post("/v1/admin/keys/rotate")).json()["wrapped"] >= USERS
        assert left(folder, wrapped) == []
    assert left(folder, wrapped) == []
