"""`mnemolog policy`, `mnemolog usage` and `mnemolog search --hops` against a whole worker."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import httpx
import orjson
import pytest
from contract.front_door import front_door

from mnemolog import AsyncClient, Refused
from mnemolog.cli.commands.search import search
from mnemolog.cli.invocation import CommandFailed
from mnemolog.cli.output import Output
from mnemolog.cli.policy import set_, show
from mnemolog.cli.usage import usage
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import TextIO


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    async with front_door(tmp_path) as door:
        transport = httpx.ASGITransport(make_http(door.worker))
        async with AsyncClient("http://127.0.0.1", transport=transport) as opened:
            yield opened


def file(text: str) -> TextIO:
    found = io.StringIO(text)
    found.name = "policy.json"
    return found


async def test_a_policy_is_set_from_a_file_and_what_is_shown_can_be_set_again(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    await set_(client, Output(as_json=False), file('{"never": ["salary"]}'))
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if len(line.split()) > 1)
    assert (lines["version"], lines["never"]) == ("1", '["salary"]')
    await show(client, Output(as_json=True))
    shown = capsys.readouterr().out
    assert orjson.loads(shown) == await client.policy()
    await set_(client, Output(as_json=True), file(shown), agent="luna")
    assert orjson.loads(capsys.readouterr().out)["never"] == ["salary"]
    await show(client, Output(as_json=True), agent="luna")
    assert orjson.loads(capsys.readouterr().out)["agent_id"] == "luna"
    await set_(client, Output(as_json=True), file("{}"))
    assert orjson.loads(capsys.readouterr().out)["policy_id"] is None


async def test_a_file_that_holds_no_policy_sets_none(client: AsyncClient):
    for text in ("never: salary", '["salary"]'):
        with pytest.raises(CommandFailed, match=r"policy\.json: is n"):
            await set_(client, Output(as_json=False), file(text))
    with pytest.raises(Refused):
        await set_(client, Output(as_json=False), file('{"nevre": ["salary"]}'))
    assert (await client.policy())["version"] == 0


async def test_the_usage_of_a_worker_without_a_model_says_that_none_was_asked(
    client: AsyncClient, capsys: pytest.CaptureFixture[str]
):
    await usage(client, Output(as_json=False), by="day")
    assert capsys.readouterr().err == "no model was asked\n"
    await usage(client, Output(as_json=True))
    assert orjson.loads(capsys.readouterr().out) == {"items": [], "calls": 0, "tokens_in": 0, "tokens_out": 0}


async def test_a_search_takes_a_second_hop(client: AsyncClient, capsys: pytest.CaptureFixture[str]):
    await client.remember("User's brother Jake plays the violin", "u1")
    await client.remember("Jake lives in Oslo", "u1")
    await search(client, Output(as_json=True), "violin", user="u1", hops=2)
    asked = await client.search("u1", None, "violin", recall=False, hops=2)
    found = orjson.loads(capsys.readouterr().out)["results"]
    assert [hit["memory"] for hit in found] == [hit["memory"] for hit in asked["results"]]
    assert "Jake lives in Oslo" in [hit["memory"] for hit in found]
