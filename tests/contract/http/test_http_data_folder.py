"""A data directory whose log, shards and keys do not belong together: no start, a sentence, and nothing is changed."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door

from mnemolog.diagnostics.checks import checked
from mnemolog.operations.integrity.data_folder import IDENTITY_FILE, FolderMismatch
from mnemolog.settings import from_environment
from schemas.log import LogError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEPT = "zara keeps a quokka"


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, time of change and bytes of everything in a folder, and of itself."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        seen = path.stat()
        content = b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(folder))] = (seen.st_mode, seen.st_mtime_ns, content)
    return found


async def filled(folder: Path, *contents: str, **settings: object) -> None:
    """Have a worker remember something of zara, and stop it."""
    async with front_door(folder, **settings) as door:
        for content in contents:
            await door.remember(content, "zara")


async def memories(folder: Path, **settings: object) -> list[str]:
    """Return what a worker that starts on a folder knows of zara."""
    async with front_door(folder, **settings) as door:
        found = (await door.get("/v1/memories", user_id="zara")).json()
        return sorted(memory["content"] for memory in found["items"])


async def assert_refused(folder: Path, said: str, error: type[LogError] = FolderMismatch, **settings: object) -> None:
    """Assert that no worker starts on a folder, that it says why, and changes nothing."""
    before = state_of(folder)
    with pytest.raises(error, match=said):
        async with front_door(folder, **settings):
            pass
    assert state_of(folder) == before


async def assert_doctor_says(folder: Path, said: str, **settings: object) -> None:
    chosen = from_environment({}, data_dir=folder, partitions=2, **settings)
    [log] = [one for one in await checked(chosen) if one.name == "log"]
    assert not log.ok
    assert said in log.detail


def without_log(folder: Path) -> None:
    (folder / "log" / "log.sqlite").unlink()


def without_folder(folder: Path) -> None:
    shutil.rmtree(folder / "log")


def cut_to_nothing(folder: Path) -> None:
    os.truncate(folder / "log" / "log.sqlite", 0)


@pytest.mark.parametrize("encryption", ["on", "off"])
@pytest.mark.parametrize("lose", [without_log, without_folder])
async def test_shards_without_their_log(tmp_path: Path, lose: Callable[[Path], None], encryption: str):
    await filled(tmp_path, KEPT, encryption=encryption)
    lose(tmp_path)
    (tmp_path / "shards" / "active").unlink()
    await assert_refused(tmp_path, "not in .*log: mount it, put log/ back", encryption=encryption)
    await assert_doctor_says(tmp_path, "remove", encryption=encryption)


@pytest.mark.parametrize(("encryption", "said"), [("on", "mount it"), ("off", "ends before its shards")])
async def test_shards_beside_an_empty_log(tmp_path: Path, encryption: str, said: str):
    await filled(tmp_path, KEPT, encryption=encryption)
    cut_to_nothing(tmp_path)
    await assert_refused(tmp_path, said, encryption=encryption)
    await assert_doctor_says(tmp_path, said, encryption=encryption)


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_a_log_that_is_shorter_than_its_shards(tmp_path: Path, encryption: str):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    await filled(folder, KEPT, encryption=encryption)
    shutil.copytree(folder / "log", copy)
    await filled(folder, "zara keeps a heron", encryption=encryption)
    shutil.rmtree(folder / "log")
    shutil.copytree(copy, folder / "log")
    await assert_refused(folder, "ends before its shards", encryption=encryption)
    await assert_doctor_says(folder, "ends before its shards", encryption=encryption)
    shutil.rmtree(folder / "shards")  # as it says
    assert await memories(folder, encryption=encryption) == [KEPT]


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_shards_of_another_log(tmp_path: Path, encryption: str):
    folder, other = tmp_path / "var", tmp_path / "other"
    await filled(folder, KEPT, "zara keeps a heron", encryption=encryption)
    await filled(other, "yuri rows", encryption=encryption)
    shutil.rmtree(folder / "shards")
    shutil.copytree(other / "shards", folder / "shards")
    await assert_refused(folder, "were folded from another log", encryption=encryption)
    await assert_doctor_says(folder, "were folded from another log", encryption=encryption)


async def test_keys_of_another_log(tmp_path: Path):
    folder, other = tmp_path / "var", tmp_path / "other"
    await filled(folder, KEPT)
    await filled(other, "yuri rows")
    shutil.rmtree(folder / "keys")
    await assert_refused(folder, "which is missing", LogError)
    shutil.copytree(other / "keys", folder / "keys")
    await assert_refused(folder, "which was not given", LogError)


async def test_what_belongs_together_starts(tmp_path: Path):
    folder, copy = tmp_path / "var", tmp_path / "copy"
    assert await memories(folder) == []  # truly new
    await filled(folder, KEPT)
    shutil.copytree(folder, copy)
    await filled(folder, "zara keeps a heron")
    shutil.rmtree(folder / "shards")
    shutil.copytree(copy / "shards", folder / "shards")  # shards that are older than the log
    assert await memories(folder) == ["zara keeps a heron", KEPT]
    assert await memories(copy) == [KEPT]  # an older log together with its older shards


async def test_shards_of_before_they_named_their_log_and_shards_that_were_exchanged_start(tmp_path: Path):
    await filled(tmp_path, KEPT, "zara keeps a heron")
    (tmp_path / "shards" / IDENTITY_FILE).unlink()
    generation = tmp_path / "shards" / "1"
    (generation / "0.sqlite").rename(generation / "2.sqlite")
    (generation / "1.sqlite").rename(generation / "0.sqlite")
    (generation / "2.sqlite").rename(generation / "1.sqlite")
    assert await memories(tmp_path) == ["zara keeps a heron", KEPT]
    assert (tmp_path / "shards" / IDENTITY_FILE).exists()
