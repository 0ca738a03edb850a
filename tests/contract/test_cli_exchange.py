"""`mnemolog export` and `mnemolog import` against a whole worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from contract.front_door import front_door

from mnemolog import AsyncClient, NotFound, Refused, ServerFailed
from mnemolog.cli.export import export
from mnemolog.cli.import_memories import import_
from mnemolog.cli.invoking import CommandFailed
from mnemolog.cli.output import Output
from mnemolog.client import Client
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

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
    assert printed(capsys) == {"memories": 2, "events": 2, "file": str(file)}
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
