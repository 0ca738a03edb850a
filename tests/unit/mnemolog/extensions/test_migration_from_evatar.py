"""Evatar's rows as memories to import; bad rows are named and stop nobody."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.fernet import Fernet
from support.foreign_files import (
    COFFEE,
    MEETING,
    encrypted,
    evatar_csv,
    evatar_sqlite,
    luna_sqlite,
)
from support.migrating import bad, memories

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration.evatar import evatar_rows
from mnemolog.extensions.migration.luna import luna_rows
from mnemolog.extensions.migration.rows import Unreadable

if TYPE_CHECKING:
    from pathlib import Path


KEY = Fernet.generate_key().decode()


@pytest.mark.parametrize("form", [evatar_sqlite, evatar_csv])
def test_evatars_rows_keep_everything_they_say(tmp_path: Path, form: Any):
    coffee, meeting = memories(evatar_rows(str(form(tmp_path / "evatar", COFFEE, MEETING)), None))
    assert coffee == {
        "source_system": "evatar",
        "memory_id": "1",
        "user_id": "phone",
        "content": "用户喜欢喝咖啡",
        "memory_type": "long_term",
        "category": "preference",
        "importance": 0.8,
        "access_count": 3,
        "source_type": "chat",
        "source_ref": "conversation-1",
        "session_id": "conversation-1",
        "formed_at": "2026-01-05T08:00:00.123456+00:00",
        "last_accessed_at": "2026-01-09T08:00:00+00:00",
    }
    assert (meeting["memory_type"], meeting["expires_at"]) == ("short_term", "2026-01-07T08:00:00+00:00")
    assert (meeting["source_ref"], "session_id" in meeting) == ("IMG_1", False)


def test_a_csv_may_begin_with_a_byte_order_mark_and_hold_lines_within_a_field(tmp_path: Path):
    lines = COFFEE | {"content": 'one\ntwo, "three"'}
    path = evatar_csv(tmp_path / "memories.csv", lines, MEETING | {"importance": "much"}, bom=True)
    rows = evatar_rows(str(path), None)
    assert (rows.total, rows.unit) == (path.stat().st_size, "bytes")
    read = list(rows.read())
    assert not isinstance(read[0][0], BadLine)
    assert read[0][0].event["content"] == 'one\ntwo, "three"'
    assert bad(rows) == [(4, "importance 'much' is no number")]
    assert sum(size for _, size in read) == rows.total


def test_evatars_encrypted_rows_are_decrypted_with_its_key_and_refused_without(tmp_path: Path):
    path = str(evatar_sqlite(tmp_path / "evatar.db", encrypted(COFFEE, Fernet(KEY)), MEETING))
    assert [memory["content"] for memory in memories(evatar_rows(path, KEY))] == [COFFEE["content"], MEETING["content"]]
    [(number, error)] = bad(evatar_rows(path, None))
    assert (number, "give Evatar's key" in error) == (1, True)
    assert bad(evatar_rows(path, Fernet.generate_key().decode())) == [
        (1, "its content cannot be decrypted with this key")
    ]
    with pytest.raises(ValueError, match="Fernet key"):
        evatar_rows(path, "no key")


def test_evatars_first_version_kept_the_text_beside_the_secret(tmp_path: Path):
    both = encrypted(COFFEE, Fernet(KEY)) | {"content": COFFEE["content"]}
    path = str(evatar_sqlite(tmp_path / "evatar.db", both))
    assert [m["content"] for key in (KEY, None) for m in memories(evatar_rows(path, key))] == [COFFEE["content"]] * 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"content": " "}, "content is empty"),
        ({"content": "[encrypted:0123]"}, "no encrypted_content to decrypt"),
        ({"created_at": "yesterday"}, "created_at 'yesterday' is no time"),
        ({"importance": "nan"}, "is no number"),
    ],
)
def test_a_bad_row_of_evatars_says_why(tmp_path: Path, change: dict[str, Any], says: str):
    [(number, error)] = bad(evatar_rows(str(evatar_sqlite(tmp_path / "evatar.db", MEETING, COFFEE | change)), None))
    assert (number, says in error) == (1, True)


def test_what_is_outside_of_our_words_and_bounds_is_kept_as_near_as_it_goes(tmp_path: Path):
    odd = COFFEE | {"category": "夜宵", "importance": 7, "device_id": None, "memory_type": None}
    [memory] = memories(evatar_rows(str(evatar_sqlite(tmp_path / "evatar.db", odd)), None))
    assert (memory["category"], memory["metadata"]) == ("fact", {"category": "夜宵"})
    assert (memory["importance"], memory["user_id"], memory["memory_type"]) == (1, "owner", "long_term")


def test_files_of_another_shape_are_refused_as_a_whole(tmp_path: Path):
    (tmp_path / "e.db").write_bytes(b"")
    (tmp_path / "a.csv").write_text("id,text\n1,x\n")
    (tmp_path / "b.csv").write_bytes(b"id,content,device_id\n1,\xff\xfe,x\n")
    (tmp_path / "c.csv").write_text('id,content,device_id\n1,"x\n')
    (tmp_path / "d.db").write_bytes(b"SQLite format 3\x00 and then nothing of it")
    luna = str(luna_sqlite(tmp_path / "luna.db", [], []))
    for name, says in (
        ("a.csv", "no column content"),
        ("b.csv", "no CSV in UTF-8"),
        ("c.csv", "no CSV"),
        ("e.db", "is empty"),
    ):
        with pytest.raises(Unreadable, match=says):
            list(evatar_rows(str(tmp_path / name), None).read())
    with pytest.raises(Unreadable, match="has no table memories"):
        evatar_rows(luna, None)
    with pytest.raises(Unreadable, match="cannot be read as a SQLite database"):
        evatar_rows(str(tmp_path / "d.db"), None)
    with pytest.raises(Unreadable, match="has no table semantic_memories"):
        luna_rows(str(evatar_sqlite(tmp_path / "evatar.db")))
    assert bad(evatar_rows(str(_of_lines(tmp_path, "id,content,device_id", "1,x", "2,y,z")), None)) == [
        (2, "has another number of columns than the first line")
    ]


def _of_lines(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "short.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_ids_and_text_of_any_kind_stop_no_other_row(tmp_path: Path):
    path = tmp_path / "evatar.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table memories(id, content text, encrypted_content text, device_id text)")
        for row in ((1, "one", None), ("m1", "two", None), (None, "three", None), (4, b"\xff\xfe", None),
                    (5, None, b"\xff"), (6, "six", None)):  # fmt: skip
            connection.execute("insert into memories values(?, cast(? as text), cast(? as text), 'phone')", row)
    rows = evatar_rows(str(path), KEY)
    assert [number for number, _ in bad(rows)] == [1, 4, 5]
    errors = " | ".join(error for _, error in bad(rows))
    for says in ("id is empty", "content cannot be written as JSON: str is not valid UTF-8", "cannot be decrypted"):
        assert says in errors
    came = [line.event for line, _ in rows.read() if not isinstance(line, BadLine)]
    assert [(m["memory_id"], m["content"]) for m in came] == [("1", "one"), ("6", "six"), ("m1", "two")]
