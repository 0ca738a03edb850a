"""Edits behind the log's back, after those of `agent-memory-integrity` (T1 to T9): each is reported, none is served."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest
from contract.front_door import front_door
from support.tables import each

from mnemolog.diagnostics.ledger_check import check_ledger
from mnemolog.operations.integrity.verification import Verification, heads_of, known_heads, opened_ledger, signed_heads
from mnemolog.settings import from_environment
from schemas.identity import Owner
from schemas.topics import LEDGER, partition_of
from streams.transports.sqlite.file import OFFSET_BITS
from streams.transports.sqlite.rows import checksum_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnemolog.operations.integrity.verification import Verified

SAID: Final = ("My name is Ann.", "I live in Berlin.", "I am allergic to peanuts.", "I like tea.")
OTHER: Final = next(name for name in map(str, range(99)) if partition_of(f"default/{name}".encode(), 2) == 0)
ANN: Final = next(n for n in map(str, range(99)) if n != OTHER and partition_of(f"default/{n}".encode(), 2) == 0)


class _Rows:
    """The rows of Ann's decisions and those of another user, as whoever has the file can edit them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        [(number,)] = connection.execute("select id from partitions where topic=? and partition=0", (LEDGER.name,))
        self.number, self.first = number, number << OFFSET_BITS
        self.of_ann = [self.first + place for place in range(len(SAID))]
        self.of_other = self.first + len(SAID)

    def get(self, row: int) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self._connection.execute("select * from records where id=?", (row,)).fetchone()
        return found

    def put(self, row: int, of: tuple[Any, ...], *, value: bytes | None = None, at_ms: int | None = None) -> None:
        _, own_ms, key, own, headers, _ = of
        kept = own if value is None else value
        checksum = checksum_of(key, kept, headers)
        columns = (row, own_ms if at_ms is None else at_ms, key, kept, headers, checksum)
        self._connection.execute("insert or replace into records values(?,?,?,?,?,?)", columns)

    def delete(self, row: int) -> None:
        self._connection.execute("delete from records where id=?", (row,))

    def end(self, more: int) -> None:
        """Move the end of the partition, as a careful forger does."""
        run = self._connection.execute
        run("update partitions set next_offset = next_offset + ? where id = ?", (more, self.number))


def _changed(rows: _Rows) -> None:
    before = rows.get(rows.of_ann[1])
    rows.put(before[0], before, value=before[3][:-20] + bytes([before[3][-20] ^ 1]) + before[3][-19:])


def _cut(rows: _Rows) -> None:
    rows.delete(rows.of_other)
    rows.end(-1)


def _deleted(rows: _Rows) -> None:
    rows.delete(rows.of_ann[1])


def _exchanged(rows: _Rows) -> None:
    one, other = rows.get(rows.of_ann[1]), rows.get(rows.of_ann[2])
    rows.put(one[0], other)
    rows.put(other[0], one)


def _forged(rows: _Rows) -> None:
    last = rows.get(rows.of_other)
    rows.put(last[0] + 1, last, value=last[3][:22] + bytes(len(last[3]) - 22))
    rows.end(1)


def _from_another_user(rows: _Rows) -> None:
    rows.put(rows.of_ann[1], rows.get(rows.of_other))


def _older_again(rows: _Rows) -> None:
    rows.put(rows.of_ann[3], rows.get(rows.of_ann[0]))


def _dated_otherwise(rows: _Rows) -> None:
    row = rows.get(rows.of_ann[1])
    rows.put(row[0], row, at_ms=row[1] + 1)


def _owned_otherwise(rows: _Rows) -> None:
    _, *rest = rows.get(rows.of_ann[1])
    rest[1] = f"default/{OTHER}".encode()
    rows.put(rows.of_ann[1], (0, *rest), value=rest[2])


EDITS: Final[dict[str, Callable[[_Rows], None]]] = {
    "T1 content": _changed,
    "T2 tail cut": _cut,
    "T3 middle deleted": _deleted,
    "T4 exchanged": _exchanged,
    "T5 forged": _forged,
    "T6 of another user": _from_another_user,
    "T7 an older one again": _older_again,
    "T8 another time": _dated_otherwise,
}


async def _written(folder: Path, encryption: str) -> None:
    async with front_door(folder, encryption=encryption, decay_policy="off") as door:
        for text in SAID:
            await door.remember(text, ANN)
        await door.remember("I like milk.", OTHER)


async def _verified(folder: Path, kept: dict[str, Any] | None = None) -> tuple[Verified, dict[str, Any]]:
    settings = from_environment({}, data_dir=folder, partitions=2)
    async with opened_ledger(settings) as ledger:
        assert ledger is not None
        known = await known_heads(settings)
        if kept is not None:
            known += heads_of(kept, ledger.receipts.public_key)
        found = await Verification(ledger.log, known).run()
        return found, signed_heads(found, ledger.receipts)


def _edited(folder: Path, copy: Path, edit: Callable[[_Rows], None], *, shards: bool) -> Path:
    shutil.copytree(folder, copy)
    if not shards:
        shutil.rmtree(copy / "shards")
    with closing(sqlite3.connect(copy / "log" / "log.sqlite", isolation_level=None)) as connection:
        edit(_Rows(connection))
    return copy


@pytest.fixture(scope="module", params=["on", "off"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with the decisions of two users, encrypted or in clear."""
    folder: Path = tmp_path_factory.mktemp("written") / "var"
    asyncio.run(_written(folder, request.param))
    return folder


@each("edit", EDITS.items(), ids=lambda case: case[0])
def test_an_edit_behind_the_log_is_reported_whether_its_shards_are_there_or_not(
    written: Path, tmp_path: Path, edit: tuple[str, Callable[[_Rows], None]]
):
    name, change = edit
    assert not asyncio.run(_verified(written))[0].damage
    for shards in (True, False):
        copy = _edited(written, tmp_path / f"{name} {shards}", change, shards=shards)
        assert asyncio.run(_verified(copy))[0].damage, (name, shards)
        said = asyncio.run(check_ledger(from_environment({}, data_dir=copy, partitions=2)))
        assert not said.ok
        assert "restore the log from a copy" in said.advice


def test_a_record_in_clear_whose_key_names_another_user_is_reported(tmp_path: Path):
    folder = tmp_path / "var"
    asyncio.run(_written(folder, "off"))
    copy = _edited(folder, tmp_path / "copy", _owned_otherwise, shards=True)
    assert [one.what for one in asyncio.run(_verified(copy))[0].damage] == ["its key names another user"]


def test_an_older_copy_of_everything_is_told_by_a_head_that_was_kept_elsewhere(tmp_path: Path):
    """T9: all that the store keeps beside itself is as old as the copy."""
    folder, older = tmp_path / "var", tmp_path / "older"
    asyncio.run(_written(folder, "on"))
    shutil.copytree(folder, older)

    async def grow() -> None:
        async with front_door(folder, encryption="on", decay_policy="off") as door:
            await door.remember("I like coffee.", ANN)

    asyncio.run(grow())
    found, kept = asyncio.run(_verified(folder))
    assert not found.damage
    assert not asyncio.run(_verified(older))[0].damage
    assert not asyncio.run(_verified(folder, kept))[0].damage
    [damage] = asyncio.run(_verified(older, kept))[0].damage
    assert "a head was kept at offset 6, and the log ends at 5" in damage.what
    with pytest.raises(ValueError, match="not signed"):
        heads_of(kept | {"heads": []}, kept["public_key"])


async def test_a_user_whose_history_is_damaged_is_refused_and_others_are_answered_until_it_is_whole(tmp_path: Path):
    folder = tmp_path / "var"
    await _written(folder, "on")
    copy = _edited(folder, tmp_path / "copy", _exchanged, shards=False)
    with closing(sqlite3.connect(copy / "log" / "log.sqlite", isolation_level=None)) as connection:
        connection.execute("delete from heads")  # as a log of before heads: then only the links can tell
    async with front_door(copy, decay_policy="off") as door:
        for refused in (
            await door.get("/v1/memories", user_id=ANN),
            await door.get("/v1/memories", user_id=ANN, as_of="2026-01-01T00:00:00Z"),
            await door.post("/v1/search", {"user_id": ANN, "query": "Where does she live?"}),
            await door.post("/v1/memories", {"user_id": ANN, "content": "I like coffee."}),
            await door.get("/v1/admin/digest"),
        ):
            assert refused.status_code == 503, refused.text
            assert f"the history of default/{ANN} is damaged at mnemolog.memories:0:1" in refused.json()["detail"]
        others = await door.get("/v1/memories", user_id=OTHER)
        assert [one["content"] for one in others.json()["items"]] == ["I like milk."]
        assert (await door.get("/health/ready")).status_code == 200
        assert "mnemolog_damaged_histories 1.0" in (await door.get("/metrics")).text
        told = await door.get("/v1/admin/checks")
        assert told.status_code == 200, told.text
        checks = told.json()["checks"]
        assert [one["detail"] for one in checks if one["name"] == "ledger" and not one["ok"]]
        erased = await door.http.delete(f"/v1/users/{ANN}")
        assert erased.status_code == 200, erased.text
        assert (await door.get("/v1/memories", user_id=ANN)).json()["items"] == []
        await door.remember("I like coffee.", ANN)
    async with front_door(copy, decay_policy="off") as door:
        assert [m["content"] for m in (await door.get("/v1/memories", user_id=ANN)).json()["items"]]


@each("owner", [Owner("default", ANN), Owner("default", OTHER)], ids=lambda owner: owner.user_id)
def test_only_the_user_asked_for_is_told_of(written: Path, tmp_path: Path, owner: Owner):
    copy = _edited(written, tmp_path / owner.user_id, _deleted, shards=True)

    async def read() -> Verified:
        settings = from_environment({}, data_dir=copy, partitions=2)
        async with opened_ledger(settings) as ledger:
            assert ledger is not None
            return await Verification(ledger.log, user=owner).run()

    named = {one.user for one in asyncio.run(read()).damage}
    assert (f"default/{owner.user_id}" in named) == (owner.user_id == ANN)
