"""`mnemolog reembed` against a whole worker: forecast, built, compared by a file of questions, switched to and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from contract.front_door import front_door
from support.tiny_encoder import write_encoder

from mnemolog import AsyncClient
from mnemolog.cli.commands.rebuild import reembed
from mnemolog.cli.invocation import CommandFailed
from mnemolog.cli.output import Output
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

FACTS = ["likes coffee", "works in Berlin", "plays the violin"]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    async with front_door(tmp_path / "data") as door:
        transport = httpx.ASGITransport(make_http(door.worker))
        async with AsyncClient("http://127.0.0.1", transport=transport) as opened:
            yield opened


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return f"onnx:{write_encoder(tmp_path / 'tiny')}"


async def test_a_forecast_says_memories_tokens_and_seconds_and_makes_nothing(
    client: AsyncClient, tiny: str, capsys: pytest.CaptureFixture[str]
):
    for fact in FACTS:
        await client.remember(fact, "u1")
    for _ in range(2):
        await reembed(client, Output(as_json=True), tiny, forecast=True)
        said = orjson.loads(capsys.readouterr().out)
        assert (said["memories"], said["characters"]) == (len(FACTS), sum(map(len, FACTS)))
        assert said["tokens"] >= len(FACTS)
        assert said["seconds"] > 0


async def test_a_file_of_questions_that_is_not_there_is_said_before_anything_is_made(
    client: AsyncClient, tiny: str, tmp_path: Path
):
    await client.remember(FACTS[0], "u1")
    with pytest.raises(CommandFailed, match=r"missing\.jsonl: No such file or directory"):
        await reembed(client, Output(as_json=True), tiny, diff=tmp_path / "missing.jsonl")
    made = await client.reembed(tiny, what="build")
    assert made["memories"] == 1


async def test_an_encoder_is_built_switched_to_and_back_and_a_second_build_has_nothing_to_make(
    client: AsyncClient, tiny: str, capsys: pytest.CaptureFixture[str]
):
    for fact in FACTS:
        await client.remember(fact, "u1")
    digest = await client.digest()
    for expected, options in ((len(FACTS), {}), (0, {}), (0, {"activate": True})):
        made = await printed(client, capsys, tiny, **options)
        assert made["memories"] == expected
    assert (await printed(client, capsys, listed=True))["active"] == tiny
    assert await client.digest() == digest
    await reembed(client, Output(as_json=True), "builtin", activate=True)
    capsys.readouterr()
    assert (await printed(client, capsys, listed=True))["active"] == "builtin"
    assert await client.digest() == digest


async def test_a_file_of_questions_shows_the_recall_of_both_and_lets_neither_serve(
    client: AsyncClient, tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    ids = [(await client.remember(fact, "u1"))["memory_id"] for fact in FACTS]
    asked = [{"user_id": "u1", "query": fact, "expected": [i]} for fact, i in zip(FACTS, ids, strict=True)]
    asked.append({"user_id": "u1", "query": "x", "expected": ["unknown"]})
    questions = tmp_path / "questions.jsonl"
    questions.write_bytes(b"\n\n".join(map(orjson.dumps, asked)))
    found = await printed(client, capsys, tiny, diff=questions)
    assert found["questions"] == len(asked)
    for one, name in (("active", "builtin"), ("other", tiny)):
        assert (found[one]["encoder"], found[one]["recall_at_5"]) == (name, pytest.approx(3 / 4))
    assert (await client.reembedding())["active"] == "builtin"


async def test_a_file_that_cannot_be_read_is_named_with_its_line(client: AsyncClient, tiny: str, tmp_path: Path):
    output, questions = Output(as_json=False), tmp_path / "questions.jsonl"
    with pytest.raises(CommandFailed, match=r"questions\.jsonl: No such file"):
        await reembed(client, output, tiny, diff=questions)
    questions.write_text('{"user_id": "u1", "query": "x", "expected": []}\n{"user_id"')
    with pytest.raises(CommandFailed, match="line 2: is no JSON"):
        await reembed(client, output, tiny, diff=questions)
    with pytest.raises(CommandFailed, match="name it"):
        await reembed(client, output, diff=questions)


async def printed(
    client: AsyncClient, capsys: pytest.CaptureFixture[str], encoder: str | None = None, **options: Any
) -> dict[str, Any]:
    """Run the command and return what it prints for programs."""
    await reembed(client, Output(as_json=True), encoder, **options)
    said: dict[str, Any] = orjson.loads(capsys.readouterr().out)
    return said
