"""The command line: its commands, its exit codes, and what goes to which stream."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import orjson
import pytest
from support import forked_program
from support.tables import each

from mnemolog.cli import data_directory
from mnemolog.cli.data_directory import wait_until_free
from mnemolog.settings import Settings
from schemas.log import LogLocked
from streams.transports.directory_lock import DirectoryLock, read_note

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_SECONDS = 300
COMMANDS = (
    "up", "publish", "drain", "search", "memories", "memory", "history", "profile", "context", "remember",
    "revise", "forget", "restore", "digest", "rebuild", "doctor", "topics", "tick", "dead-letters",
    "usage", "policy",
)  # fmt: skip
NOBODY = "http://127.0.0.1:9"


def mnemolog(*arguments: str, said: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line with no other settings than these."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
    return forked_program.mnemolog(*arguments, said=said, environment=kept | variables, timeout=TIMEOUT_SECONDS)


def test_the_help_names_every_command_and_explains_each() -> None:
    listed = mnemolog("--help").stdout.decode()
    for command in COMMANDS:
        assert f"\n  {command} " in listed


@each("group", ["", "tick", "topics", "policy", "webhooks", "keys", "dead-letters"])
def test_a_list_of_commands_ends_no_sentence_in_its_middle(group: str) -> None:
    _usage, listed = mnemolog(*group.split(), "--help").stdout.decode().split("\nCommands:\n")
    assert "..." not in listed


@each("arguments", ["search", "memories --page 0", "nonsense", "tick decay", "rebuild half"])
def test_wrong_usage_exits_2(arguments: str) -> None:
    done = mnemolog(*arguments.split())
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("command", ["topics create", "doctor"])
def test_of_a_broker_that_is_away_a_command_says_a_sentence_and_the_client_library_nothing(command: str) -> None:
    done = mnemolog(*command.split(), MNEMOLOG_BROKER="kafka://127.0.0.1:9", MNEMOLOG_ENCRYPTION="off")
    assert done.returncode == 1
    assert b"nobody listens at 127.0.0.1:9" in done.stdout + done.stderr
    assert b"Unable connect" not in done.stderr
    assert b"Unclosed" not in done.stderr


def test_a_setting_that_does_not_exist_exits_2_and_is_named() -> None:
    done = mnemolog("digest", MNEMOLOG_COLOUR="red")
    assert done.returncode == 2
    assert b"MNEMOLOG_COLOUR is no setting of mnemolog" in done.stderr
    with_url = mnemolog("digest", "--url", NOBODY, MNEMOLOG_COLOUR="red")
    assert (with_url.returncode, with_url.stderr) == (2, done.stderr)


def test_a_server_that_is_not_there_exits_1_with_a_sentence() -> None:
    done = mnemolog("profile", MNEMOLOG_URL=NOBODY)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"does not answer" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_file_that_is_not_there_publishes_nothing() -> None:
    done = mnemolog("publish", "no-such-file.jsonl", "--url", NOBODY)
    assert done.returncode == 1
    assert b"there is no file no-such-file.jsonl" in done.stderr
    assert b". is a folder, not a file: nothing was published" in mnemolog("publish", ".", "--url", NOBODY).stderr


def test_an_env_file_is_read_and_a_wrong_line_of_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# mine\nMNEMOLOG_URL=" + NOBODY + "\n")
    assert b"does not answer" in mnemolog("digest", "--env-file", str(file)).stderr
    file.write_text("nonsense\n")
    done = mnemolog("digest", "--env-file", str(file))
    assert done.returncode == 2
    assert b"line 1" in done.stderr


def test_publishing_reports_bad_lines_and_exits_1_and_a_command_needs_no_server(tmp_path: Path) -> None:
    """The engine is started by each command and ended with it; what is said on stdin is published like a file."""
    turn = {"type": "TurnRecorded", "user_id": "u1", "session_id": "s1", "role": "user", "content": "My name is Ann."}
    lines = orjson.dumps(turn) + b"\n{broken\n"
    where = ("--data", str(tmp_path), "--json")
    done = mnemolog("publish", "-", *where, said=lines, MNEMOLOG_PARTITIONS="1")
    assert done.returncode == 1
    answer = orjson.loads(done.stdout)
    assert answer["accepted"] == 1
    assert [(bad["line"], bad["file"]) for bad in answer["refused"]] == [(2, "-")]
    assert b"-:2: is not JSON" in done.stderr
    assert orjson.loads(mnemolog("drain", *where, MNEMOLOG_PARTITIONS="1").stdout)["observations"] == 1


def test_topics_are_created_twice_and_another_count_is_refused(tmp_path: Path) -> None:
    where = ("topics", "create", "--data", str(tmp_path))
    for _ in range(2):
        done = mnemolog(*where, "--json", MNEMOLOG_PARTITIONS="2")
        assert done.returncode == 0, done.stderr
        assert orjson.loads(done.stdout)["topics"]["mnemolog.inbox"] == 2
    refused = mnemolog(*where, MNEMOLOG_PARTITIONS="3")
    assert refused.returncode == 1
    assert b"has 2 partitions, not 3" in refused.stderr


def test_a_tick_of_wakes_says_how_many_were_raised(tmp_path: Path) -> None:
    done = mnemolog("tick", "wake", "--as-of", "2026-01-05", "--json", "--data", str(tmp_path))
    told = orjson.loads(done.stdout)
    assert (done.returncode, told["policy"], told["changed"], told["applied"]) == (0, "wake", 0, True)
    assert b"applied before" not in done.stderr
    again = mnemolog("tick", "wake", "--as-of", "2026-01-05", "--data", str(tmp_path))
    assert (again.returncode, b"applied before, and nothing was done again" in again.stderr) == (0, True)


def test_a_tick_that_is_not_applied_in_time_exits_1_and_says_what_to_do(tmp_path: Path) -> None:
    tick = ("tick", "decay", "--as-of", "2026-01-05", "--json", "--data", str(tmp_path))
    done = mnemolog(*tick, "--timeout", "0.001", MNEMOLOG_PARTITIONS="8")
    assert (done.returncode, orjson.loads(done.stdout)["applied"]) == (1, False)
    assert b"give the same command again" in done.stderr
    again = mnemolog(*tick, MNEMOLOG_PARTITIONS="8")
    assert (again.returncode, orjson.loads(again.stdout)["applied"]) == (0, True)
    assert orjson.loads(again.stdout)["tick_id"] == orjson.loads(done.stdout)["tick_id"]


def test_the_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    done = mnemolog("doctor", "--json", "--data", str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert orjson.loads(done.stdout)["ok"]
    ill = mnemolog("doctor", "--json", "--data", str(tmp_path), MNEMOLOG_LLM_BASE_URL=f"{NOBODY}/v1")
    assert ill.returncode == 1
    wrong = [check for check in orjson.loads(ill.stdout)["checks"] if not check["ok"]]
    assert [check["name"] for check in wrong] == ["model"]
    assert "MNEMOLOG_LLM_BASE_URL" in wrong[0]["advice"]


def test_the_doctor_says_that_a_server_is_not_there(tmp_path: Path) -> None:
    done = mnemolog("doctor", "--json", "--url", NOBODY, MNEMOLOG_DATA_DIR=str(tmp_path))
    [check] = orjson.loads(done.stdout)["checks"]
    assert (done.returncode, check["name"], check["ok"]) == (1, "server", False)
    assert not list(tmp_path.iterdir())


def test_importing_the_package_loads_the_client_and_no_engine() -> None:
    check = (
        "import sys, mnemolog; mnemolog.Client, mnemolog.AsyncClient;"
        "print(sorted({'faust', 'numpy', 'fastapi', 'pydantic', 'openai', 'aiokafka'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, check=True)  # noqa: S603 - our own text
    assert done.stdout == b"[]\n"


@pytest.mark.parametrize(
    "command",
    ["search tea", "memories", "memory m-1", "history m-1", "profile", "context", "digest", "dead-letters list"],
)
def test_what_only_reads_creates_no_data_and_says_where_it_looked(tmp_path: Path, command: str) -> None:
    done = mnemolog(*command.split(), "--data", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"there is no data at {tmp_path / 'none'} and no worker: start `mnemolog up`".encode() in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_writes_says_whose_engine_it_runs_and_others_read_it_then(tmp_path: Path) -> None:
    where = ("--data", str(tmp_path / "new"))
    written = mnemolog("remember", "likes tea", *where, MNEMOLOG_PARTITIONS="1")
    assert (written.returncode, b"likes tea" in written.stdout) == (0, True)
    assert f"no worker serves {tmp_path / 'new'}: this command runs its engine".encode() in written.stderr
    read = mnemolog("search", "tea", *where, "--user", "somebody", MNEMOLOG_PARTITIONS="1")
    assert (read.returncode, read.stdout, read.stderr) == (0, b"", b"nothing found for user somebody (--user)\n")


def test_a_context_is_shown_as_an_agent_is_told_it(tmp_path: Path) -> None:
    where = ("--data", str(tmp_path / "new"))
    mnemolog("remember", "用户喜欢喝咖啡", "--attribute", "likes", "--value", "咖啡", *where, MNEMOLOG_PARTITIONS="1")
    shown = mnemolog("context", "--query", "喝什么", *where, MNEMOLOG_PARTITIONS="1").stdout.decode()
    assert "- 喜欢：咖啡" in shown
    assert "用户喜欢喝咖啡" not in shown  # each fact once
    told = orjson.loads(mnemolog("context", "--json", *where, MNEMOLOG_PARTITIONS="1").stdout)
    assert (told["memories"], told["total_memories"], told["message"]) == ([], 1, "")
    nobody = mnemolog("context", "--user", "nobody", *where, MNEMOLOG_PARTITIONS="1")
    assert (nobody.stdout, nobody.stderr) == (b"", b"nothing is known about nobody (--user)\n")


@pytest.mark.parametrize(
    ("url", "advice"),
    [("127.0.0.1:8420", b"must begin with http://"), (f"{NOBODY}/v1", b"give the URL without a path")],
)
def test_a_url_that_cannot_be_one_is_wrong_usage(url: str, advice: bytes) -> None:
    for done in (mnemolog("digest", "--url", url), mnemolog("digest", MNEMOLOG_URL=url)):
        assert done.returncode == 2
        assert advice in done.stderr


def test_a_data_directory_that_is_a_file_or_lies_in_one_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for command, folder in (("drain", file), ("up", file / "var"), ("topics create", file)):
        done = mnemolog(*command.split(), "--data", str(folder))
        assert done.returncode == 2
        assert f"{file} is a file, not a folder".encode() in done.stderr


@each(
    "arguments",
    [
        "memories --category pets",
        "memories --status gone",
        "remember x --scope all",
        "tick decay --as-of 2026-01-05 --policy odd",
    ],
)
def test_a_word_that_is_not_of_the_list_is_wrong_usage(arguments: str) -> None:
    done = mnemolog(*arguments.split(), "--url", NOBODY)
    assert done.returncode == 2
    assert b"is not one of" in done.stderr


def test_the_version_is_that_of_the_package() -> None:
    assert mnemolog("--version").stdout.decode() == f"mnemolog {version('mnemolog')}\n"


async def test_a_second_worker_of_a_folder_is_told_where_the_first_answers(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    lock = DirectoryLock.take(tmp_path / "log")
    lock.write_note({"pid": os.getpid(), "url": NOBODY})
    done = mnemolog("up", "--data", str(tmp_path), "--port", "0")
    assert done.returncode == 1
    assert f"a worker (process {os.getpid()}) already serves {tmp_path} at {NOBODY}".encode() in done.stderr
    lock.release()
    (tmp_path / "log" / "log.lock").write_text(f'{{"pid": {os.getpid()}, "url": "{NOBODY}"}}')
    await wait_until_free(Settings(data_dir=tmp_path), print)  # what a killed worker left does not count


async def test_a_worker_waits_for_a_command_that_holds_its_folder(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    lock, said = DirectoryLock.take(tmp_path / "log"), list[str]()
    waiting = asyncio.get_running_loop().create_task(wait_until_free(Settings(data_dir=tmp_path), said.append))
    async with asyncio.timeout(120):
        while not said:  # noqa: ASYNC110 - it tells nobody else
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    assert (said, waiting.done()) == ([f"waiting for process {os.getpid()}, which holds {tmp_path}"], False)
    lock.release()
    await asyncio.wait_for(waiting, 120)


async def test_a_worker_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_directory, "COMMAND_SECONDS", 0.5)
    (tmp_path / "log").mkdir()
    lock = DirectoryLock.take(tmp_path / "log")
    await asyncio.wait_for(wait_until_free(Settings(data_dir=tmp_path), print), 120)
    assert read_note(tmp_path / "log") == {"pid": os.getpid()}
    lock.write_note({"pid": os.getpid(), "url": NOBODY})
    with pytest.raises(LogLocked, match="already serves"):
        await wait_until_free(Settings(data_dir=tmp_path), print)
    lock.release()


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out() -> None:
    done = mnemolog("up", "--data", "/proc/x", "--port", "0")
    assert done.returncode != 0
    assert b"the data directory /proc/x cannot be created: " in done.stderr
    assert b"name another with --data" in done.stderr


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_list_of_words_may_begin_with_the_mark_that_some_editors_write(tmp_path: Path, mark: bytes) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "notes").write_bytes(b"said: Quirinius")
    words = tmp_path / "words.txt"
    words.write_bytes(mark + b"Quirinius\r\n")
    done = mnemolog("doctor", "--data", str(tmp_path / "var"), "--residue", str(words))
    assert done.returncode == 1
    assert b"notes" in done.stdout


def test_a_search_for_no_words_proves_nothing(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_bytes(b"\n")
    done = mnemolog("doctor", "--data", str(tmp_path), "--residue", str(words))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no word to search for" in done.stderr
