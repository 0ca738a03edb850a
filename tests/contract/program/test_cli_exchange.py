"""`mnemolog export` and `mnemolog import` against a whole worker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from contract.front_door import front_door
from cryptography.fernet import Fernet
from support.foreign_files import (
    BACKUP,
    COFFEE,
    EVERYBODYS,
    GIFT,
    GONE,
    MEETING,
    OWNER_FACT,
    ZHANG,
    chroma_columns,
    chroma_folder,
    encrypted,
    evatar_csv,
    evatar_sqlite,
    luna_sqlite,
)

from mnemolog import AsyncClient, NotFound, Refused, ServerFailed
from mnemolog.cli.commands.drain import drain
from mnemolog.cli.commands.export import export
from mnemolog.cli.invocation import CommandFailed
from mnemolog.cli.output import Output
from mnemolog.client.client import Client
from mnemolog.extensions.migration.command import import_
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CHATS = Path(__file__).parents[2] / "data" / "chats"
END = b'{"type":"Exported","memories":1}\n'


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    async with front_door(tmp_path / "data") as door:
        transport = httpx.ASGITransport(make_http(door.worker))
        async with AsyncClient("http://127.0.0.1", transport=transport) as opened:
            yield opened


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(capsys.readouterr().out)
    return found


async def test_what_is_exported_to_a_file_is_imported_for_another_user(
    client: AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for text in ("用户喜欢喝咖啡", "line\u2028ends\u0085in text"):
        await client.remember(text, "u1")
    output, file = Output(as_json=True), tmp_path / "u1.jsonl"
    await export(client, output, user="u1", into=file)
    assert printed(capsys) == {"memories": 2, "reminders": 0, "events": 2, "file": str(file)}
    assert not file.with_name("u1.jsonl.part").exists()
    await import_(client, output, str(file), user="u2")
    assert printed(capsys) == {"imported": 2, "known": 0, "waiting": 0, "refused": []}
    await import_(client, output, str(file), user="u2")
    assert printed(capsys)["known"] == 2
    [one, other] = [(await client.memories(user))["items"] for user in ("u1", "u2")]
    assert sorted(m["content"] for m in one) == sorted(m["content"] for m in other)


async def test_an_export_to_stdout_is_its_lines(client: AsyncClient, capfdbinary: pytest.CaptureFixture[bytes]):
    await client.remember("likes tea", "u1")
    await export(client, Output(as_json=False), user="u1")
    lines = [orjson.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == ["Memory", "MemoryFormed", "Exported"]
    assert lines[:2] == [line async for line in client.export("u1")][:2]


async def test_a_bad_line_is_told_by_its_number_and_the_good_ones_go_on(
    client: AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "memories.jsonl"
    lines: list[object] = [{"content": "one"}, {"content": " "}, [], {"content": "two"}, {"content": "3", "x": 1}]
    file.write_bytes(b"\n\n".join(map(orjson.dumps, lines)) + b"\n{")
    with pytest.raises(CommandFailed):
        await import_(client, Output(as_json=True), str(file))
    answer = printed(capsys)
    assert answer["imported"] == 2
    assert [bad["line"] for bad in answer["refused"]] == [3, 5, 9, 10]
    errors = " | ".join(bad["error"] for bad in answer["refused"])
    for said in ("$.content: is blank", "must be a JSON object", "$.x: is not a field", "is not JSON"):
        assert said in errors
    assert (await client.memories("owner"))["total"] == 2


async def test_a_file_that_is_not_there_imports_nothing(client: AsyncClient):
    with pytest.raises(CommandFailed, match="nothing was imported"):
        await import_(client, Output(as_json=False), "nowhere.jsonl")


async def test_an_export_that_cannot_be_written_says_why(client: AsyncClient, tmp_path: Path):
    with pytest.raises(CommandFailed, match="cannot write"):
        await export(client, Output(as_json=False), user="u1", into=tmp_path / "nowhere" / "u1.jsonl")


async def test_whose_memories_cannot_be_exported_is_refused(client: AsyncClient):
    with pytest.raises(Refused, match="reserved"):
        [line async for line in client.export("*")]


def answering(content: bytes, status: int = 200) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, content=content))


def test_the_client_without_await_reads_an_export_too():
    with Client("http://mnemolog", transport=answering(b'{"type":"Memory"}\n' + END)) as client:
        assert [line["type"] for line in client.export("u1")] == ["Memory", "Exported"]


@pytest.mark.parametrize("content", [b"", b'{"type":"Memory"}\n', END[:-1], END + b'{"type"'])
async def test_an_export_that_breaks_off_is_no_export(content: bytes):
    with Client("http://mnemolog", transport=answering(content)) as client, pytest.raises(ServerFailed):
        list(client.export("u1"))
    async with AsyncClient("http://mnemolog", transport=answering(content)) as other:
        with pytest.raises(ServerFailed, match="ended before its last line"):
            [line async for line in other.export("u1")]


def test_a_refused_export_is_its_problem():
    with Client("http://mnemolog", transport=answering(b'{"detail":"no"}', 404)) as client, pytest.raises(NotFound):
        list(client.export("u1"))


async def test_what_the_four_systems_kept_is_imported_once(
    client: AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    key, output = Fernet.generate_key(), Output(as_json=True)
    (tmp_path / "key").write_bytes(key + b"\n")
    (tmp_path / "backup.json").write_bytes(orjson.dumps(BACKUP))
    secret = encrypted(COFFEE, Fernet(key))
    brought: list[tuple[Any, Path, int]] = [
        ("evatar", evatar_sqlite(tmp_path / "evatar.db", secret, MEETING), 2),
        ("evatar", evatar_csv(tmp_path / "evatar.csv", secret, MEETING), 0),
        ("luna", luna_sqlite(tmp_path / "luna.db", [ZHANG], [GIFT]), 10),
        ("powermem", tmp_path / "backup.json", 2),
        ("chromadb", chroma_folder(tmp_path / "chroma", OWNER_FACT, EVERYBODYS, GONE), 3),
        ("chromadb", chroma_columns(tmp_path / "get.json", OWNER_FACT, EVERYBODYS, GONE), 0),
    ]
    for number, (system, path, new) in enumerate(brought):
        if number % 2:
            monkeypatch.setenv("EVATAR_ENCRYPTION_KEY", key.decode())
        await import_(client, output, str(path), system=system, key_file=None if number % 2 else tmp_path / "key")
        answer = printed(capsys)
        assert (answer["imported"], answer["refused"]) == (new, []), system
    phone = (await client.memories("phone"))["items"]
    assert [(m["content"], m["access_count"], m["category"]) for m in phone] == [("用户喜欢喝咖啡", 3, "preference")]
    assert (await client.memories("phone", status="expired"))["total"] == 1
    profile = await client.profile("zhang", "luna")
    assert (profile["user_name"], profile["city"], set(profile["likes"])) == ("张三", "北京", {"咖啡", "爬山"})
    assert profile["important_dates"] == {"结婚纪念日": "2020-05-01"}
    [gift] = (await client.episodes("zhang"))["items"]
    assert (gift["grade"], gift["recall_count"], gift["emotion"], gift["event_type"]) == (3.0, 2, "happy", "gift")
    found = await client.search("user", "voice_assistant_agent", "爬山")
    assert found["results"][0]["memory"] == "用户周末喜欢爬山"
    assert [m["content"] for m in (await client.memories("owner"))["items"]] == ["用户喜欢安静"]
    assert (await client.memories("owner", status="forgotten"))["total"] == 1
    assert (await client.memories("anybody", scope="global"))["items"][0]["content"] == "办公室在三楼"


async def test_chats_of_other_programs_become_turns_once_with_their_speakers_and_times(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    brought: list[tuple[Any, str, str | None, int]] = [
        ("chatgpt", "chatgpt.json", None, 5),
        ("claude", "claude.json", None, 3),
        ("telegram", "telegram.json", None, 6),
        ("whatsapp", "whatsapp_iphone.txt", "Ann", 6),
        ("openai-messages", "openai_messages.jsonl", None, 5),
    ]
    remembered: list[list[str]] = []
    for _ in range(2):
        for system, name, me, turns in brought:
            await import_(client, Output(as_json=True), str(CHATS / name), system=system, user="ann", me=me)
            assert printed(capsys) == {"turns": turns, "refused": []}, system
        await drain(client, Output(as_json=True))
        capsys.readouterr()
        remembered.append(sorted(m["memory_id"] for m in (await client.memories("ann", page_size=100))["items"]))
    assert remembered[0] == remembered[1]
    profile = await client.profile("ann")
    assert profile["city"] == "Rome"  # said last, and read first
    of_bob = (await client.memories("ann", speaker="Bob"))["items"]
    assert sorted(m["content"] for m in of_bob) == ["Bob lives in Turin", "Bob: I teach maths."]
    [peanuts] = [m for m in (await client.memories("ann", page_size=100))["items"] if "peanuts" in m["content"]]
    assert (peanuts["formed_at"][:10], peanuts["metadata"]) == ("2026-01-05", {"source_system": "claude"})


async def test_a_preview_says_what_a_file_holds_and_asks_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "backup.json").write_bytes(orjson.dumps(BACKUP))
    async with AsyncClient("http://127.0.0.1", transport=answering(b"", 500)) as nobody:
        output, chat = Output(as_json=True), str(CHATS / "whatsapp_android.txt")
        await import_(nobody, output, chat, system="whatsapp", me="Bob", dry_run=True)
        assert printed(capsys) == {
            "turns": 4,
            "sessions": 2,
            "speakers": {"Ann": 2, "Bob": 2},
            "first": "2026-01-05T00:05:00+00:00",
            "last": "2026-01-13T21:03:00+00:00",
            "left_out": {"notices of the program": 2, "pictures, recordings and files without a text": 3},
            "refused": 0,
        }
        with pytest.raises(CommandFailed, match=re.escape("name one with --me, of Ann (2), Bob (2): nothing was")):
            await import_(nobody, output, chat, system="whatsapp", dry_run=True)
        capsys.readouterr()
        await import_(nobody, output, str(tmp_path / "backup.json"), system="powermem", dry_run=True)
        assert printed(capsys) == {"memories": 2, "users": {"user": 2}, "refused": 0}


async def test_without_the_key_only_the_encrypted_rows_stay_behind(
    client: AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = evatar_sqlite(tmp_path / "evatar.db", encrypted(COFFEE, Fernet(Fernet.generate_key())), MEETING)
    with pytest.raises(CommandFailed):
        await import_(client, Output(as_json=True), str(file), system="evatar")
    answer = printed(capsys)
    assert (answer["imported"], [bad["line"] for bad in answer["refused"]]) == (1, [1])
    assert "--key-file" in answer["refused"][0]["error"]


async def test_a_file_of_another_system_is_refused_whole(client: AsyncClient, tmp_path: Path):
    output, file = Output(as_json=False), evatar_sqlite(tmp_path / "evatar.db", COFFEE)
    with pytest.raises(CommandFailed, match="has no table semantic_memories: nothing was imported"):
        await import_(client, output, str(file), system="luna")
    (tmp_path / "key").write_text("no key")
    with pytest.raises(CommandFailed, match="no Fernet key"):
        await import_(client, output, str(file), system="evatar", key_file=tmp_path / "key")


async def test_importing_again_is_advised_only_where_it_helps(
    client: AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "gbk.csv").write_bytes("id,content,device_id\n1,用户喜欢茶,x\n".encode("gbk"))
    (tmp_path / "empty.json").write_bytes(b"")
    files: list[tuple[Any, str]] = [("evatar", "gbk.csv"), ("powermem", "empty.json")]
    for system, name in files:
        with pytest.raises(CommandFailed, match="cannot read"):
            await import_(client, Output(as_json=False), str(tmp_path / name), system=system)
        said = capsys.readouterr().err
        assert ("stopped: accepted 0" in said, "again" in said) == (True, False)

    async def away(*_: object, **__: object) -> None:
        raise ServerFailed("the server failed")

    monkeypatch.setattr(client, "import_memories", away)
    (tmp_path / "backup.json").write_bytes(orjson.dumps(BACKUP))
    with pytest.raises(ServerFailed):
        await import_(client, Output(as_json=False), str(tmp_path / "backup.json"), system="powermem")
    assert "Import the same again" in capsys.readouterr().err
