"""PowerMem's backups and ChromaDB's collections as memories to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from support.foreign_files import (
    BACKUP,
    EVERYBODYS,
    GONE,
    OWNER_FACT,
    chroma_columns,
    chroma_folder,
    chroma_records,
)
from support.migrating import bad, memories

from mnemolog.cli.lines.event_lines import EventLine
from mnemolog.extensions.migration.chromadb import chromadb_rows
from mnemolog.extensions.migration.powermem import powermem_rows
from mnemolog.extensions.migration.rows import Unreadable

if TYPE_CHECKING:
    from pathlib import Path


def test_a_powermem_backup_keeps_user_agent_run_times_and_importance(tmp_path: Path):
    path = tmp_path / "backup.json"
    path.write_bytes(orjson.dumps(BACKUP, option=orjson.OPT_INDENT_2))
    hiking, work = memories(powermem_rows(str(path)))
    assert hiking == {
        "source_system": "powermem",
        "memory_id": "501",
        "user_id": "user",
        "agent_id": "voice_assistant_agent",
        "content": "用户周末喜欢爬山",
        "category": "fact",
        "importance": 0.9,
        "access_count": 4,
        "source_ref": "r-1",
        "session_id": "r-1",
        "formed_at": "2026-01-05T08:00:00+00:00",
        "said_at": "2026-01-06T00:00:00+00:00",
        "last_accessed_at": "2026-01-06T00:00:00+00:00",
        "metadata": BACKUP["memories"][0]["metadata"],
    }
    assert (work["memory_id"], work["content"], work["user_id"]) == ("502", "用户在北京工作", "user")
    assert work["formed_at"] == "2026-01-05T08:00:00+00:00"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m,
        lambda m: {"results": m},
        lambda m: {"data": {"memories": m}, "ok": 1},
        lambda m: {"success": True, "data": m},
        lambda m: {"results": m, "profiles": None},
    ],
)
def test_what_powermem_returns_is_read_whatever_is_around_it(tmp_path: Path, wrap: Any):
    path = tmp_path / "memories.json"
    profile = {
        "id": 9,
        "user_id": "u",
        "profile_content": "Prefers short answers.",
        "topics": {"work": {"job": "nurse"}},
    }
    path.write_bytes(orjson.dumps(wrap([*BACKUP["memories"], profile])))
    *_, last = memories(powermem_rows(str(path)))
    assert (last["memory_id"], last["content"]) == ("profile-9", "Prefers short answers.")
    assert last["metadata"] == {"topics": {"work": {"job": "nurse"}}}


def test_a_bad_element_of_powermems_is_named_by_its_place(tmp_path: Path):
    path = tmp_path / "memories.json"
    path.write_bytes(
        orjson.dumps([7, {"memory": ""}, {"memory": "x", "metadata": []}, {"memory": "x", "metadata": [1]},
                      {"memory": "x", "metadata": "{"}, {"memory": "x", "metadata": '{"a": 1}'}])
    )  # fmt: skip
    assert [number for number, _ in bad(powermem_rows(str(path)))] == [1, 2, 4, 5]
    *_, (last, _) = powermem_rows(str(path)).read()
    assert isinstance(last, EventLine)
    assert last.event["metadata"] == {"a": 1}


@pytest.mark.parametrize("found", [{"results": None}, {"results": {"memory": "x"}}, {"foo": 1}, {}, {"data": {}}])
def test_an_object_without_a_list_of_memories_is_no_file_of_powermems(tmp_path: Path, found: object):
    path = tmp_path / "memories.json"
    path.write_bytes(orjson.dumps(found))
    with pytest.raises(Unreadable, match="no list under memories or results or profiles or data"):
        list(powermem_rows(str(path)).read())
    path.write_bytes(b'{"results": []}')
    assert list(powermem_rows(str(path)).read()) == []


@pytest.mark.parametrize("found", [{"foo": 1}, {"ids": ["a"], "documents": ["x"]}, {}])
def test_an_object_without_the_columns_is_no_file_of_chromadbs(tmp_path: Path, found: object):
    path = tmp_path / "get.json"
    path.write_bytes(orjson.dumps(found))
    with pytest.raises(Unreadable, match=r"must have ids, documents and metadatas of one length: .* no list under"):
        list(chromadb_rows(str(path), "memories").read())
    path.write_bytes(b'{"ids": [], "documents": [], "metadatas": []}')
    assert list(chromadb_rows(str(path), "memories").read()) == []


@pytest.mark.parametrize("form", [chroma_folder, chroma_columns, chroma_records])
def test_a_collection_of_chromadbs_keeps_person_session_scope_and_what_is_gone(tmp_path: Path, form: Any):
    path = form(tmp_path / "chroma", OWNER_FACT, EVERYBODYS, GONE)
    quiet, office, gone = memories(chromadb_rows(str(path), "memories"))
    assert {name: quiet[name] for name in quiet if name != "formed_at"} == {
        "source_system": "chromadb",
        "memory_id": "memories/m-1",
        "user_id": "owner",
        "scope": "personal",
        "content": "用户喜欢安静",
        "category": "preference",
        "importance": 0.5,
        "access_count": 0,
        "source_ref": "s1",
        "session_id": "s1",
        "status": "active",
        "metadata": {"mood": 0.5},
    }
    assert (office["scope"], office["category"], office["metadata"]) == ("global", "fact", {"type": "place"})
    assert gone["status"] == "forgotten"
    if form is chroma_folder:
        assert quiet["formed_at"] == "2026-01-05T08:00:00+00:00"


def test_a_collection_that_is_not_there_is_told_with_those_that_are(tmp_path: Path):
    folder = chroma_folder(tmp_path / "chroma", OWNER_FACT, collection="notes")
    with pytest.raises(Unreadable, match="has no collection memories: it has notes, others"):
        chromadb_rows(str(folder), "memories")
    assert len(memories(chromadb_rows(str(folder / "chroma.sqlite3"), "notes"))) == 1
    with pytest.raises(FileNotFoundError):
        chromadb_rows(str(tmp_path), "memories")


def test_columns_of_different_lengths_are_none(tmp_path: Path):
    path = tmp_path / "get.json"
    path.write_bytes(orjson.dumps({"ids": ["a"], "documents": ["x"], "metadatas": None}))
    with pytest.raises(Unreadable, match="of one length"):
        list(chromadb_rows(str(path), "memories").read())
