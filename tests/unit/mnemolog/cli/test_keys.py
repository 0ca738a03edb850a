"""`mnemolog keys`: makes, lists, revokes and rotates keys in their file, without a server."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from mnemolog import Client
from mnemolog.access.key_file import read_keys
from mnemolog.access.principal import Role
from mnemolog.cli.invocation import Surroundings
from mnemolog.cli.program import program
from mnemolog.diagnostics.checks import checked
from mnemolog.environment import SettingsError
from mnemolog.settings import from_environment
from schemas.instant import read_instant

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MNEMOLOG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MNEMOLOG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MNEMOLOG_API_KEYS_FILE", str(tmp_path / "api-keys.json"))
    return tmp_path / "api-keys.json"


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(program, ["keys", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_key_is_printed_once_and_its_hash_kept(path: Path):
    made = run("create", "--tenant", "acme")
    assert set(made) == {"key_id", "key"}
    key = read_keys(path)[made["key_id"]]
    assert key.matches(made["key"])
    assert (key.tenant, key.roles, key.users, key.expires) == ("acme", frozenset({Role.READ, Role.WRITE}), None, None)
    secret = made["key"].split("_", 2)[2]
    assert secret not in path.read_text()
    assert secret not in json.dumps(run("list"))


def test_everything_that_is_said_about_a_key_is_kept(path: Path):
    grants = ("--role", "read,tenant-admin", "--user", "u1", "--user", "team-*", "--agent", "luna", "--expires", "90d")
    limits = ("--requests-per-second", "2.5", "--events-per-day", "100", "--streams", "3")
    made = run("create", "--tenant", "acme", *grants, *limits)
    (listed,) = run("list")["keys"]
    assert listed["id"] == made["key_id"]
    assert (listed["roles"], listed["users"], listed["agents"]) == (
        ["read", "tenant-admin"],
        ["u1", "team-*"],
        ["luna"],
    )
    assert listed["limits"] == {"requests_per_second": 2.5, "events_per_day": 100, "streams": 3}
    lasts = read_instant(listed["expires"]) - read_instant(listed["created"])
    assert lasts == timedelta(days=90)
    assert path.exists()


def test_a_revoked_key_is_gone(path: Path):
    made = run("create", "--tenant", "acme")
    assert run("revoke", made["key_id"]) == {"key_id": made["key_id"], "state": "revoked"}
    assert read_keys(path) == {}


def test_rotation_gives_a_key_with_the_same_grants_and_lets_the_old_one_run_out(path: Path):
    old = run("create", "--tenant", "acme", "--role", "read", "--user", "u1", "--streams", "2", "--expires", "90d")
    new = run("rotate", old["key_id"], "--grace", "30m")
    keys = read_keys(path)
    before, after = keys[old["key_id"]], keys[new["key_id"]]
    assert after.matches(new["key"])
    same = [(key.tenant, key.roles, key.users, key.limits) for key in (before, after)]
    assert same[0] == same[1]
    assert before.expires is not None
    assert timedelta(minutes=29) < before.expires - datetime.now(UTC) <= timedelta(minutes=30)
    assert new["replaces"] == old["key_id"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "--tenant", "Acme"], "tenant 'Acme' must match"),
        (["create", "--tenant", "acme", "--role", "boss"], "the roles are read, write"),
        (["create", "--tenant", "acme", "--expires", "soon"], "no length of time"),
        (["create", "--tenant", "acme", "--role", "operator", "--user", "u1"], "the whole installation"),
        (["revoke", "000000000000"], "there is no key '000000000000'"),
    ],
)
@pytest.mark.usefixtures("path")
def test_what_cannot_be_is_a_sentence(arguments: list[str], said: str):
    done = CliRunner().invoke(program, ["keys", *arguments])
    assert done.exit_code != 0
    assert said in " ".join(done.output.replace("│", " ").split())
    assert "Traceback" not in done.output


def test_a_file_that_others_may_read_is_refused(path: Path):
    run("create", "--tenant", "acme")
    path.chmod(0o644)
    done = CliRunner().invoke(program, ["keys", "create", "--tenant", "acme"])
    assert done.exit_code == 1
    assert "chmod 600" in done.output


def test_commands_take_the_key_of_a_file_before_that_of_the_environment(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MNEMOLOG_API_KEY", "mnl_of_the_environment")
    assert Surroundings.given({}).api_key == "mnl_of_the_environment"
    file = path.with_name("key")
    file.write_text("mnl_of_the_file\n")
    around = Surroundings.given({"api_key_file": file})
    assert around.api_key == "mnl_of_the_file"
    assert "mnl_of_the" not in repr(around)


@pytest.mark.parametrize("text", ["", "two words", "schl\u00fcssel"])
@pytest.mark.usefixtures("path")
def test_a_file_without_a_key_is_refused_without_repeating_it(tmp_path: Path, text: str):
    file = tmp_path / "key"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError) as refused:
        Surroundings.given({"api_key_file": file})
    assert not text or text not in str(refused.value)


@pytest.mark.parametrize("text", ["", "schl\u00fcssel", "mnl_a\nX-Other: header"])
def test_a_client_refuses_what_cannot_be_a_key_without_repeating_it(text: str):
    with pytest.raises(ValueError, match="printable ASCII") as refused:
        Client("http://127.0.0.1", text)
    assert not text or text not in str(refused.value)


def test_doctor_reads_the_file_of_keys_as_a_worker_does(path: Path, tmp_path: Path):
    settings = from_environment({}, data_dir=tmp_path / "data", api_keys_file=path)
    wrong = [check for check in asyncio.run(checked(settings)) if check.name == "API keys"]
    assert [(check.ok, "is not there" in check.detail) for check in wrong] == [(False, True)]
    run("create", "--tenant", "acme")
    right = [check for check in asyncio.run(checked(settings)) if check.name == "API keys"]
    assert [(check.ok, check.detail) for check in right] == [(True, f"{path}: 1 keys")]
