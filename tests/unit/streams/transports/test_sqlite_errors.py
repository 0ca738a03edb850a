"""A full disk, a damaged file, a stranger's file: clear errors, nothing acknowledged, nothing made worse."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

import pytest
from support.log_file import leave_pages

from schemas.log import LogDamaged, LogFull, LogUnavailable, NewRecord
from streams.transports.sqlite.file import LOG_FILE, meaning
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = "mnemolog.inbox"
PAGE = 4096


def records(count: int, size: int) -> list[NewRecord]:
    return [NewRecord(topic=TOPIC, partition=0, key=b"default/xiaoming", value=b"x" * size) for _ in range(count)]


async def fill(directory: Path) -> SqliteLog:
    log = SqliteLog.open(directory)
    await log.create_topic(TOPIC, 1)
    await log.append(records(200, 1000))
    return log


async def test_a_full_disk_acknowledges_nothing_and_works_again_with_space(tmp_path: Path):
    log = await fill(tmp_path)
    leave_pages(log, 1)
    with pytest.raises(LogFull, match="free some"):
        await log.append(records(100, 1000))
    assert (await log.end(TOPIC, 0), len(await log.read(TOPIC, 0, 0))) == (200, 200)
    leave_pages(log, 1000)
    assert [a.position.offset for a in await log.append(records(2, 1000))] == [200, 201]
    log.close()


async def test_on_an_almost_full_disk_the_small_call_does_not_suffer_from_the_large_one(tmp_path: Path):
    log = await fill(tmp_path)
    leave_pages(log, 2)
    large, small = await asyncio.gather(
        log.append(records(100, 1000)), log.append(records(1, 10)), return_exceptions=True
    )
    log.close()
    assert isinstance(large, LogFull)
    assert not isinstance(small, BaseException)
    assert [a.position.offset for a in small] == [200]


async def test_overwritten_pages_are_damage_that_stops_all_writing(tmp_path: Path):
    (await fill(tmp_path)).close()
    file = tmp_path / LOG_FILE
    content = bytearray(file.read_bytes())
    for page in range(8, len(content) // PAGE):
        content[page * PAGE : page * PAGE + 64] = b"\xee" * 64
    file.write_bytes(content)
    log = SqliteLog.open(tmp_path)
    with pytest.raises(LogDamaged, match="restore it from a copy"):
        await log.read(TOPIC, 0, 0)
    with pytest.raises(LogDamaged, match="restore it from a copy"):
        await log.append(records(1, 10))
    log.close()


async def test_a_flipped_bit_in_a_value_is_noticed(tmp_path: Path):
    (await fill(tmp_path)).close()
    file = tmp_path / LOG_FILE
    content = file.read_bytes()
    place = content.rindex(b"x" * 500)
    file.write_bytes(content[:place] + b"y" + content[place + 1 :])
    log = SqliteLog.open(tmp_path)
    with pytest.raises(LogDamaged, match="not what was appended"):
        await log.read(TOPIC, 0, 0)
    with pytest.raises(LogDamaged, match="not what was appended"):
        await log.append(records(1, 10))
    log.close()


async def test_a_damaged_beginning_is_refused_at_once_and_the_lock_is_given_back(tmp_path: Path):
    (await fill(tmp_path)).close()
    file = tmp_path / LOG_FILE
    whole = file.read_bytes()
    file.write_bytes(b"\xee" * 100 + whole[100:])
    for _ in range(2):
        with pytest.raises(LogDamaged, match="restore it from a copy"):
            SqliteLog.open(tmp_path)
    file.write_bytes(whole)
    log = SqliteLog.open(tmp_path)
    assert len(await log.read(TOPIC, 0, 0)) == 200
    log.close()


def test_another_programs_database_is_left_alone(tmp_path: Path):
    with sqlite3.connect(tmp_path / LOG_FILE) as other:
        other.execute("create table people(name text)")
    other.close()
    before = (tmp_path / LOG_FILE).read_bytes()
    with pytest.raises(LogDamaged, match="not a log"):
        SqliteLog.open(tmp_path)
    assert (tmp_path / LOG_FILE).read_bytes() == before


async def test_a_log_of_a_later_version_says_upgrade(tmp_path: Path):
    (await fill(tmp_path)).close()
    with sqlite3.connect(tmp_path / LOG_FILE) as later:
        later.execute("pragma user_version = 2")
    later.close()
    with pytest.raises(LogDamaged, match="upgrade"):
        SqliteLog.open(tmp_path)


def test_an_input_output_error_asks_to_try_again(tmp_path: Path):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    assert isinstance(meaning(error, tmp_path), LogUnavailable)
    assert not isinstance(meaning(error, tmp_path), LogFull)
