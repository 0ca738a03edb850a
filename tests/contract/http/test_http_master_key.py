"""Without its master key a log does not start, the doctor says why, and nothing is damaged; an old key opens copies."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door

from mnemolog.diagnostics.checks import checked
from mnemolog.settings import from_environment
from schemas.log import LogError
from streams.sealing.key_files import file_of, make_key
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from pathlib import Path

KEYS: dict[str, tuple[str | None, str]] = {
    "missing": (None, r"with the master key [0-9a-f]{16}, which is missing"),
    "another": (make_key(), "which was not given"),
    "no key": ("rubbish", "is not 32 bytes"),
    "empty": ("", "is empty"),
}


@pytest.mark.parametrize(("given", "why"), KEYS.values(), ids=KEYS)
async def test_without_its_master_key_nothing_starts_and_nothing_is_damaged(
    tmp_path: Path, given: str | None, why: str
):
    async with front_door(tmp_path) as door:
        await door.remember("zara keeps a quokka", "zara")
    path = file_of(tmp_path)
    own = path.read_text()
    path.unlink()
    if given is not None:
        path.write_text(given)
    with pytest.raises(LogError, match=why):
        async with front_door(tmp_path):
            pass
    found = {one.name: one for one in await checked(from_environment({}, data_dir=tmp_path))}
    assert not found["shards"].ok
    assert "cannot be opened" in found["shards"].detail
    assert (path.read_text() if path.exists() else None) == given
    path.write_text(own)
    async with front_door(tmp_path) as door:
        assert (await door.get("/v1/memories", user_id="zara")).json()["total"] == 1
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    found = {one.name: one for one in await checked(from_environment({}, data_dir=tmp_path))}
    assert found["shards"].ok


async def test_a_copy_of_before_a_rotation_starts_with_the_old_key_behind_the_new_one(tmp_path: Path):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    async with front_door(folder) as door:
        await door.remember("zara keeps a quokka", "zara")
    shutil.copytree(folder / "log", copy)
    path = file_of(folder)
    old = path.read_text()
    async with front_door(folder) as door:
        assert (await door.post("/v1/admin/keys/rotate")).status_code == 200
    new = path.read_text()
    assert old != new
    shutil.rmtree(folder / "log")
    shutil.copytree(copy, folder / "log")
    with pytest.raises(LogError, match="which was not given"):
        async with front_door(folder):
            pass
    path.write_text(new + old)
    async with front_door(folder) as door:
        assert (await door.post("/v1/admin/keys/rotate")).json()["wrapped"] > 0
    assert path.read_text() == new
    async with front_door(folder) as door:
        assert (await door.get("/v1/memories", user_id="zara")).json()["total"] == 1


async def test_a_master_key_that_still_wraps_something_is_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def stopped(_: UserKeys) -> int:
        return 0

    path = file_of(tmp_path)
    async with front_door(tmp_path) as door:
        await door.remember("zara keeps a quokka", "zara")
        with monkeypatch.context() as patched:
            patched.setattr(UserKeys, "rotate", stopped)  # as where a key is made while the others are wrapped anew
            assert (await door.post("/v1/admin/keys/rotate")).status_code == 200
        assert len(path.read_text().split()) == 2
    async with front_door(tmp_path) as door:
        assert (await door.get("/v1/memories", user_id="zara")).json()["total"] == 1
        assert (await door.post("/v1/admin/keys/rotate")).json()["wrapped"] > 0
    assert len(path.read_text().split()) == 1
