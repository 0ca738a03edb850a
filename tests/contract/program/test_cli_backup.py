"""`mnemolog backup` as the page says it, beside a worker that serves, and what the doctor and the metrics say of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import orjson
from contract.front_door import front_door
from support.forked_program import mnemolog
from support.mnemolog_up import environment

from mnemolog.diagnostics.checks import checked
from mnemolog.log.private_files import create_privately
from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: object, code: int = 0) -> str:
    """Run the command; return what it prints, or what it says where it is to fail."""
    done = mnemolog(*map(str, arguments), environment=environment())
    assert done.returncode == code, (done.stdout, done.stderr)
    return (done.stderr if code else done.stdout).decode()


def answered(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(run(*arguments, "--json"))
    return found


async def test_who_follows_the_page_has_everything_again(tmp_path: Path):
    data, backup, safe, new = (tmp_path / name for name in ("var", "backup", "safe", "new"))
    async with front_door(data) as door:
        assert "mnemolog_backup_age_seconds" not in (await door.get("/metrics")).text
        await door.remember("zara keeps a quokka", "zara")
        made = answered("backup", backup, "--data", data)
        assert made["records"] == made["copied_records"] > 0
        [age] = [line for line in (await door.get("/metrics")).text.splitlines() if line.startswith("mnemolog_backup")]
        assert 0 < float(age.split()[1]) < 600
        checks = (await door.get("/v1/admin/checks")).json()["checks"]
        [said] = [one for one in checks if one["name"] == "backup"]
        assert said["ok"]
        assert str(backup) in said["detail"]
        known = (await door.get("/v1/admin/digest")).json()["total"]
    shutil.copytree(data / "keys", safe)
    verified = answered("backup", "verify", backup)
    assert verified["ok"]
    assert verified["records"] == made["records"]
    assert "missing: put keys/master back" in run("backup", "restore", backup, "--data", new, code=1)
    shutil.copytree(safe, new / "keys")
    receipt = answered("backup", "restore", backup, "--data", new)
    assert receipt["digest"] == known
    assert answered("digest", "--data", new)["total"] == known
    assert "has a log" in run("backup", "restore", backup, "--data", new, code=1)


async def test_a_log_that_is_served_is_not_verified_and_no_server_is_offered_instead(tmp_path: Path):
    async with front_door(tmp_path / "var") as door:
        await door.remember("zara keeps a quokka", "zara")
        for command in ("verify", "head"):
            said = run(command, "--data", tmp_path / "var", code=1)
            assert "stop its worker first, or name with --data a copy" in said
            assert "HTTP" not in said
            assert "--url" in run(command, "--url", "http://127.0.0.1:1", code=2)
            assert "--url" not in run(command, "--help")
    found = answered("verify", "--data", tmp_path / "var")
    assert found["ok"]
    assert found["heads_compared"] is None
    assert "heads compared  none" in run("verify", "--data", tmp_path / "var")
    kept = tmp_path / "heads.json"
    kept.write_text(run("head", "--data", tmp_path / "var", "--json"), "utf-8")
    assert "heads compared  1 line\n" in run("verify", "--data", tmp_path / "var", "--against", kept)


async def test_a_moment_outside_the_backup_is_remarked_on(tmp_path: Path):
    data, backup = tmp_path / "var", tmp_path / "backup"
    async with front_door(data) as door:
        await door.remember("zara keeps a quokka", "zara")
    answered("backup", backup, "--data", data)
    for place, to, remark in (
        ("early", "2020-01-01T00:00:00Z", "earlier than everything in the backup"),
        ("late", "2120-01-01T00:00:00Z", "later than the backup, which was taken at"),
    ):
        shutil.copytree(data / "keys", tmp_path / place / "keys")
        arguments = map(str, ("backup", "restore", backup, "--data", tmp_path / place, "--to", to, "--json"))
        done = mnemolog(*arguments, environment=environment())
        assert done.returncode == 0
        assert remark in done.stderr.decode()
        assert all(orjson.loads(done.stdout)["ends"].values())


async def test_a_backup_makes_its_folder_and_no_other(tmp_path: Path):
    data, backup = tmp_path / "var", tmp_path / "not-mounted" / "backup"
    async with front_door(data) as door:
        await door.remember("zara keeps a quokka", "zara")
    assert f"{backup.parent}, where the backup is to be, is not there" in run("backup", backup, "--data", data, code=1)
    assert not backup.parent.exists()


def test_what_is_not_meant_is_refused(tmp_path: Path):
    data, backup = tmp_path / "var", tmp_path / "backup"
    assert "there is no log" in run("backup", backup, "--data", data, code=1)
    assert not data.exists()
    assert "would be lost with it" in run("backup", data / "backup", "--data", data, code=2)
    for wrong in (["verify"], ["check", backup], [backup, "--to", "2026-02-10T08:00:00Z"]):
        assert "give a folder" in run("backup", *wrong, "--data", data, code=2)
    assert "has no offset" in run("backup", "restore", backup, "--to", "2026-02-10T08:00:00", code=2)
    assert "there is no backup" in run("backup", "verify", backup, code=1)
    assert "there is no backup" in run("backup", "restore", backup, "--data", data, code=1)
    assert not data.exists()


async def test_a_backup_that_is_late_is_wrong(tmp_path: Path):
    settings = from_environment({}, data_dir=tmp_path)

    async def backup_check() -> Any:
        [found] = [one for one in await checked(settings) if one.name == "backup"]
        return found

    assert (await backup_check()).ok
    create_privately()
    (tmp_path / "log").mkdir()
    note = {"taken_at": "2026-01-01T00:00:00Z", "folder": "/mnt/backup", "records": 7}
    (tmp_path / "log" / "backup.json").write_bytes(orjson.dumps(note))
    late = await backup_check()
    assert not late.ok
    assert "mnemolog backup /mnt/backup" in late.advice
    (tmp_path / "log" / "backup.json").write_bytes(b"{}")  # as good as none
    assert (await backup_check()).ok
