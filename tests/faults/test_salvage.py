"""A log with a damaged record: what can be read of it is exported, and imported into a log that is whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from contract.front_door import front_door

from mnemolog import AsyncClient
from mnemolog.cli.commands.export import salvage
from mnemolog.cli.invocation import CommandFailed, Surroundings
from mnemolog.cli.output import Output
from mnemolog.extensions.migration.command import import_
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from pathlib import Path


def harm(folder: Path, topic: str, number: int) -> None:
    """Change a byte of a record of a topic behind the log's back."""
    with closing(sqlite3.connect(folder / "log" / "log.sqlite")) as connection, connection:
        [partition] = [
            row[0]
            for row in connection.execute("select id from partitions where topic = ? and next_offset > 0", (topic,))
        ]
        rows = connection.execute("select id from records where id >= ? order by id", (partition << 40,)).fetchall()
        connection.execute("update records set value = cast(value || x'00' as blob) where id = ?", rows[number])


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_all_but_what_a_damaged_record_said_comes_into_a_new_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encryption: str
):
    old, new, file = tmp_path / "old", tmp_path / "new", tmp_path / "left.jsonl"
    async with front_door(old, encryption=encryption, partitions=1) as door:
        for content in ("likes tea", "plays the cello", "keeps a quokka"):
            await door.remember(content, "ann")
        await door.remember("rows on Sundays", "bob")
    harm(old, "mnemolog.memories", 1)
    around = Surroundings({}, old, None, Output(as_json=True))
    capsys.readouterr()
    with pytest.raises(CommandFailed, match=r"^$"):
        await salvage(around, into=file)
    said = capsys.readouterr()
    told: dict[str, Any] = orjson.loads(said.out)
    assert told == {"memories": 3, "users": 2, "unread": 1, "file": str(file)}
    assert "mnemolog.memories:0:1" in said.err
    async with (
        front_door(new) as door,
        AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(make_http(door.worker))) as client,
    ):
        await import_(client, Output(as_json=True), str(file))
        found = {user: [m["content"] for m in (await client.memories(user))["items"]] for user in ("ann", "bob")}
    assert {user: sorted(contents) for user, contents in found.items()} == {
        "ann": ["keeps a quokka", "likes tea"],
        "bob": ["rows on Sundays"],
    }
    with pytest.raises(CommandFailed, match="File exists"):
        await salvage(around, into=file)
    with pytest.raises(CommandFailed, match="say where to with --output"):
        await salvage(around)
