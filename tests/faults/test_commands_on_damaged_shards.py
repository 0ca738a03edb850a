"""Commands without a worker, on shards that were overwritten: they fold them anew, or say in a sentence what to do."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import orjson
import pytest
from support import forked_program

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

TIMEOUT_SECONDS = 300


def run(folder: Path, *arguments: str, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
    environment = kept | {"MNEMOLOG_PARTITIONS": "2", "MNEMOLOG_EXTRACTOR": "verbatim"}
    command = (*arguments, "--data", str(folder), "--json")
    done = forked_program.mnemolog(*command, environment=environment, said=said, timeout=TIMEOUT_SECONDS)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with memories of a few users, which stays as it is."""
    folder = tmp_path_factory.mktemp("whole")
    turn = {"type": "TurnRecorded", "session_id": "s1", "role": "user", "content": "I like tea. I live in Berlin."}
    lines = b"\n".join(orjson.dumps(turn | {"user_id": f"u{n}"}) for n in range(8))
    assert run(folder, "publish", "-", said=lines).returncode == 0
    assert run(folder, "drain").returncode == 0
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """Return a copy, to be damaged."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path


def damage(folder: Path, generation: str = "*") -> list[Path]:
    """Overwrite the middle of all shards, whose beginning still opens."""
    noise, files = random.Random(0), sorted(folder.glob(f"shards/{generation}/*.sqlite"))  # noqa: S311 - the same noise every time
    for file in files:
        whole = file.read_bytes()
        begin, end = len(whole) // 4, len(whole) * 3 // 4
        file.write_bytes(whole[:begin] + noise.randbytes(end - begin) + whole[end:])
    return files


def test_a_command_that_can_be_given_again_goes_on_by_itself(folder: Path):
    before = orjson.loads(run(folder, "digest").stdout)
    for command in (["digest"], ["tick", "wake", "--as-of", "2026-01-05"], ["rebuild"]):
        damage(folder)
        done = run(folder, *command)
        assert (done.returncode, b"folded anew" in done.stderr) == (0, True), done.stderr.decode()
    assert orjson.loads(run(folder, "digest").stdout) == before


def test_another_command_says_to_give_it_again_and_works_then(folder: Path):
    command = ["export", "--user", "u1"]
    damage(folder)
    done = run(folder, *command)
    assert done.returncode == 1
    assert b"are damaged" in done.stderr
    assert b"give the same command again" in done.stderr
    assert run(folder, *command).returncode == 0


def test_what_the_log_has_taken_is_decided_when_the_shard_is_folded_anew(folder: Path):
    damage(folder)
    done = run(folder, "remember", "likes chess", "--user", "u1")
    if done.returncode:  # the damage was found before it was taken
        assert b"give the same command again" in done.stderr
        assert run(folder, "remember", "likes chess", "--user", "u1").returncode == 0
    assert b"folded anew" in done.stderr
    assert run(folder, "drain").returncode == 0  # it may have been accepted only, while its shard was folded
    assert b"likes chess" in run(folder, "memories", "--user", "u1").stdout


def test_the_doctor_finds_what_nobody_has_read_yet(folder: Path):
    files = damage(folder)
    done = run(folder, "doctor")
    [wrong] = [check for check in orjson.loads(done.stdout)["checks"] if not check["ok"]]
    assert (done.returncode, wrong["name"]) == (1, "shards")
    assert all(str(file) in wrong["detail"] for file in files)
    assert "folded anew from the log" in wrong["advice"]
    assert run(folder, "memories", "--user", "u1").returncode == 0
    assert run(folder, "doctor").returncode == 0


def test_the_doctor_is_content_with_damage_in_a_generation_that_is_only_kept(folder: Path):
    before = orjson.loads(run(folder, "digest").stdout)
    assert run(folder, "rebuild").returncode == 0
    assert damage(folder, "1")
    for _ in range(2):
        done = run(folder, "doctor")
        [shards] = [check for check in orjson.loads(done.stdout)["checks"] if check["name"] == "shards"]
        assert (done.returncode, shards["ok"]) == (0, True)
        assert "of generation 1, which is only kept to switch back to, some are damaged" in shards["detail"]
        assert run(folder, "memories", "--user", "u1").returncode == 0
    assert run(folder, "rebuild", "--activate", "1").returncode == 0, "switching folds them anew"
    assert orjson.loads(run(folder, "digest").stdout) == before
    [shards] = [c for c in orjson.loads(run(folder, "doctor").stdout)["checks"] if c["name"] == "shards"]
    assert shards["detail"] == "can be read"
