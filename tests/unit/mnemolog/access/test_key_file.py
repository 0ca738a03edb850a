"""The key file: private, written as a whole, read again when it changes, and the last good one counts."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.tables import each

from mnemolog.access import key_file
from mnemolog.access.key import Key, Limits, new_key
from mnemolog.access.key_file import KeyFile, KeyFileError, check_mode, edited_keys, read_keys, write_keys
from mnemolog.access.principal import Role

NOW = datetime(2026, 1, 5, tzinfo=UTC)


class Seconds:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def a_key(tenant: str = "acme") -> Key:
    return new_key(
        tenant=tenant,
        roles=[Role.READ],
        now=NOW,
        expires=NOW,
        users=("team-*",),
        agents=("luna",),
        limits=Limits(requests_per_second=2.5, events_per_day=3, streams=1),
    )[0]


def test_what_is_written_is_read_and_only_by_its_owner(tmp_path: Path):
    path, key = tmp_path / "keys.json", a_key()
    write_keys(path, [key])
    assert read_keys(path) == {key.key_id: key}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644, 0o666])
def test_a_file_that_others_may_use_is_refused_with_what_to_do(tmp_path: Path, mode: int):
    path = tmp_path / "keys.json"
    write_keys(path, [a_key()])
    path.chmod(mode)
    with pytest.raises(KeyFileError, match=f"chmod 600 {path}"):
        read_keys(path)


@each(("mode", "is_taken"), [(0o440, True), (0o400, True), (0o444, False), (0o460, False)])
def test_a_mounted_file_of_another_owner_may_be_read_by_its_group_alone(mode: int, is_taken: bool):  # noqa: FBT001
    found = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, os.geteuid() + 1, 0, 0, 0, 0, 0))
    with nullcontext() if is_taken else pytest.raises(KeyFileError, match="chmod 600"):
        check_mode(Path("/etc/keys.json"), found)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"keys": 1}', '{"keys": [1]}', '{"keys": [{"id": "x"}]}', "\xff"],
)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path, content: str):
    path = tmp_path / "keys.json"
    path.write_text(content, "latin-1")
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match=r"keys\.json"):
        read_keys(path)


def test_what_a_later_version_narrows_a_key_by_is_not_overlooked(tmp_path: Path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [a_key().as_json() | {"sessions": ["s1"]}]}))
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="'sessions'"):
        read_keys(path)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(KeyFileError, match="mnemolog keys create"):
        KeyFile(tmp_path / "none.json")


async def test_a_change_is_seen_within_a_second_and_a_broken_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path, seconds, first, second = tmp_path / "keys.json", Seconds(), a_key(), a_key("other")
    write_keys(path, [first])
    keys = KeyFile(path, seconds)
    write_keys(path, [second])
    await keys.look()
    assert keys.find(first.key_id) == first
    seconds.now = 1.0
    await keys.look()
    assert (keys.find(first.key_id), keys.find(second.key_id)) == (None, second)
    for now, break_it in [
        (2.0, lambda: path.write_text("{")),
        (3.0, lambda: path.chmod(0o644)),
        (4.0, path.unlink),
        (5.0, lambda: None),
    ]:
        break_it()
        seconds.now = now
        await keys.look()
        assert keys.find(second.key_id) == second
    told = [record.message for record in caplog.records if "stay as they were" in record.message]
    assert len(told) == 3
    write_keys(path, [first])
    seconds.now = 6.0
    await keys.look()
    assert (keys.find(first.key_id), keys.find(second.key_id)) == (first, None)


async def test_a_file_that_takes_long_is_read_beside_the_loop_and_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, seconds, first, second = tmp_path / "keys.json", Seconds(), a_key(), a_key("other")
    write_keys(path, [first])
    keys, is_read, read = KeyFile(path, seconds), threading.Event(), key_file.read_keys

    def slow(path: Path) -> dict[str, Key]:
        found = read(path)
        is_read.wait(20)
        return found

    monkeypatch.setattr(key_file, "read_keys", slow)
    monkeypatch.setattr(key_file, "WAIT_SECONDS", 0.01)
    write_keys(path, [second])
    seconds.now = 1.0
    for _ in range(3):
        await keys.look()
        assert keys.find(first.key_id) == first
    is_read.set()
    async with asyncio.timeout(120):
        while keys.find(second.key_id) is None:
            await keys.look()
    assert keys.find(first.key_id) is None


async def test_what_changes_while_the_file_is_read_is_seen_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, first, second = tmp_path / "keys.json", a_key(), a_key("other")
    write_keys(path, [first])
    monkeypatch.setattr(key_file, "LOOK_SECONDS", 0.0)
    keys, read = KeyFile(path), key_file.read_keys

    def overtaken(path: Path) -> dict[str, Key]:
        found = read(path)
        monkeypatch.setattr(key_file, "read_keys", read)
        write_keys(path, [second])
        return found

    monkeypatch.setattr(key_file, "read_keys", overtaken)
    write_keys(path, [])
    await asyncio.gather(keys.look(), keys.look())
    assert keys.find(second.key_id) == second


def test_an_edit_that_fails_leaves_the_file_as_it_was(tmp_path: Path):
    path, key = tmp_path / "keys" / "keys.json", a_key()
    with edited_keys(path) as keys:
        keys[key.key_id] = key
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with suppress(RuntimeError), edited_keys(path) as keys:
        keys.clear()
        raise RuntimeError
    assert read_keys(path) == {key.key_id: key}
    assert [each.name for each in path.parent.iterdir()] == ["keys.json"]
