"""Luna's profiles and episodes as memories to import; a bad column stops no other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from support.foreign_files import (
    GIFT,
    ZHANG,
    luna_sqlite,
)
from support.migrating import bad, memories

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration.luna import luna_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_each_value_of_lunas_profile_is_a_memory_of_its_slot(tmp_path: Path):
    rows = luna_rows(str(luna_sqlite(tmp_path / "luna.db", [ZHANG], [])))
    found = {(m["attribute"], m["value"]): m for m in memories(rows)}
    assert {key: m["content"] for key, m in found.items()} == {
        ("user_name", "张三"): "用户叫张三",
        ("birthday", "3月5日"): "用户的生日是3月5日",
        ("occupation", "工程师"): "用户的职业是工程师",
        ("city", "北京"): "用户住在北京",
        ("likes", "咖啡"): "用户喜欢咖啡",
        ("likes", "爬山"): "用户喜欢爬山",
        ("dislikes", "{辣}"): "用户不喜欢{辣}",
        ("pet_names", "小张"): "用户的昵称是小张",
        ("important_dates", "结婚纪念日: 2020-05-01"): "用户的结婚纪念日是2020-05-01",
    }
    name = found["user_name", "张三"]
    assert (name["user_id"], name["agent_id"], name["source_system"]) == ("zhang", "luna", "luna")
    assert (name["formed_at"], name["said_at"]) == ("2026-01-01T08:00:00+00:00", "2026-02-01T08:00:00+00:00")
    assert len({m["memory_id"] for m in found.values()}) == len(found)


def test_a_profile_that_grew_brings_only_what_is_new(tmp_path: Path):
    before = memories(luna_rows(str(luna_sqlite(tmp_path / "a.db", [ZHANG], []))))
    grown = ZHANG | {"likes": ["茶", "咖啡", "爬山"], "location": "上海"}
    after = memories(luna_rows(str(luna_sqlite(tmp_path / "b.db", [grown], []))))
    known = {m["memory_id"] for m in before}
    assert [m["value"] for m in after if m["memory_id"] not in known] == ["上海", "茶"]


def test_lunas_episodes_keep_feeling_grade_recalls_and_words(tmp_path: Path):
    [episode] = memories(luna_rows(str(luna_sqlite(tmp_path / "luna.db", [], [GIFT]))))
    assert episode == {
        "source_system": "luna",
        "memory_id": "ep-1",
        "user_id": "zhang",
        "agent_id": "luna",
        "kind": "episodic",
        "content": "用户送了一束花",
        "event_type": "gift",
        "emotion": "happy",
        "key_dialogue": ["送给你", '{"luna":"谢谢"}'],
        "importance": 0.75,
        "access_count": 2,
        "recall_count": 2,
        "formed_at": "2026-01-10T08:00:00+00:00",
        "last_accessed_at": "2026-01-20T08:00:00+00:00",
        "metadata": {"strength": 0.75},
    }


def test_a_bad_column_of_lunas_is_named_and_the_others_come(tmp_path: Path):
    profile = ZHANG | {"likes": "[", "dislikes": [7], "important_dates": ["5月"], "pet_names": {}}
    episode = GIFT | {"key_dialogue": "{}", "id": 4}
    rows = luna_rows(str(luna_sqlite(tmp_path / "luna.db", [profile], [episode])))
    numbers, errors = zip(*bad(rows), strict=True)
    assert numbers == (1, 1, 1, 1, 4)
    for error, says in zip(errors, ("likes is not JSON", "dislikes holds 7", "pet_names {} is no list",
                                    "important_dates", "key_dialogue {} is no list"), strict=True):  # fmt: skip
        assert says in error
    read = list(rows.read())
    assert (sum(size for _, size in read), len(read)) == (rows.total, 10)


def test_a_bad_time_of_a_profile_is_refused_by_itself(tmp_path: Path):
    rows = luna_rows(str(luna_sqlite(tmp_path / "luna.db", [ZHANG | {"updated_at": "soon"}], [])))
    assert bad(rows) == [(1, "updated_at 'soon' is no time")]
    came = [line.event for line, _ in rows.read() if not isinstance(line, BadLine)]
    assert len(came) == 9
    assert {m["said_at"] for m in came} == {"2026-01-01T08:00:00+00:00"}


def test_an_episode_comes_without_its_bad_columns(tmp_path: Path):
    wrong = {"key_dialogue": "[", "importance": "big", "recall_count": "x", "created_at": "?", "last_recalled": "?"}
    rows = luna_rows(str(luna_sqlite(tmp_path / "luna.db", [], [GIFT | wrong])))
    assert [error.split()[0] for _, error in bad(rows)] == list(wrong)
    [episode] = [line.event for line, _ in rows.read() if not isinstance(line, BadLine)]
    assert (episode["content"], episode["importance"]) == ("用户送了一束花", 0.5)
    assert not {"key_dialogue", "formed_at", "last_accessed_at"} & set(episode)


def test_ids_of_any_kind_stop_no_row_of_lunas(tmp_path: Path):
    path = luna_sqlite(tmp_path / "luna.db", [], [])
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, filled in (("semantic_memories", "user_name"), ("episodic_memories", "summary")):
            connection.execute(f"drop table {table}")
            connection.execute(f"create table {table}(id, user_id, character_id, {filled})")
            for id_, value in (("x1", "a"), (None, "b"), ("x2", b"\xff"), ("x3", "c")):
                stored = f"insert into {table}(id, user_id, {filled}) values(?, 'u', cast(? as text))"
                connection.execute(stored, (id_, value))
    rows = luna_rows(str(path))
    assert [number for number, _ in bad(rows)] == [1, 3, 1, 3]
    came = [line.event for line, _ in rows.read() if not isinstance(line, BadLine)]
    assert [m["content"] for m in came] == ["用户叫a", "用户叫c", "a", "c"]
