"""Minimal files in the formats of the four systems from which people migrate."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cryptography.fernet import Fernet

EVATAR_COLUMNS = (
    "id", "content", "encrypted_content", "content_hash", "memory_type", "source_type", "source_id", "category",
    "importance", "access_count", "device_id", "created_at", "last_accessed", "expires_at",
)  # fmt: skip
COFFEE: dict[str, Any] = {
    "id": 1,
    "content": "用户喜欢喝咖啡",
    "memory_type": "long_term",
    "source_type": "chat",
    "source_id": "conversation-1",
    "category": "preference",
    "importance": 0.8,
    "access_count": 3,
    "device_id": "phone",
    "created_at": "2026-01-05 08:00:00.123456",
    "last_accessed": "2026-01-09 08:00:00",
}
"""A row of Evatar's table."""
MEETING = COFFEE | {
    "id": 2,
    "content": "下周三有评审会议",
    "memory_type": "short_term",
    "source_type": "photo",
    "source_id": "IMG_1",
    "category": "schedule",
    "expires_at": "2026-01-07 08:00:00",
}


def encrypted(row: Mapping[str, Any], fernet: Fernet) -> dict[str, Any]:
    """Return a row as Evatar stores it with encryption on."""
    secret = fernet.encrypt(row["content"].encode()).decode()
    return {**row, "content": "[encrypted:0123456789abcdef]", "encrypted_content": secret}


def evatar_sqlite(path: Path, *rows: Mapping[str, Any]) -> Path:
    """Write Evatar's table as its model creates it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "create table memories(id integer primary key, content text not null, encrypted_content text,"
            " content_hash varchar(32), memory_type varchar(32), source_type varchar(32), source_id varchar(128),"
            " category varchar(64), importance float, access_count integer, device_id varchar(256),"
            " created_at datetime, last_accessed datetime, expires_at datetime)"
        )
        _insert(connection, "memories", EVATAR_COLUMNS, rows)
    return path


def evatar_csv(path: Path, *rows: Mapping[str, Any], bom: bool = False) -> Path:
    """Write the same table as CSV."""
    with path.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as file:
        writer = csv.DictWriter(file, EVATAR_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


ZHANG: dict[str, Any] = {
    "id": 1,
    "user_id": "zhang",
    "character_id": "luna",
    "user_name": "张三",
    "birthday": "3月5日",
    "occupation": "工程师",
    "location": "北京",
    "likes": ["咖啡", "爬山"],
    "dislikes": ["{辣}"],
    "pet_names": ["小张"],
    "important_dates": {"结婚纪念日": "2020-05-01"},
    "sensitive_topics": [],
    "created_at": "2026-01-01 08:00:00",
    "updated_at": "2026-02-01 08:00:00",
}
"""A row of Luna's profiles."""
GIFT: dict[str, Any] = {
    "id": 1,
    "memory_id": "ep-1",
    "user_id": "zhang",
    "character_id": "luna",
    "event_type": "gift",
    "summary": "用户送了一束花",
    "key_dialogue": ["送给你", {"luna": "谢谢"}],
    "emotion_state": "happy",
    "importance": 3,
    "strength": 0.75,
    "recall_count": 2,
    "last_recalled": "2026-01-20 08:00:00",
    "created_at": "2026-01-10 08:00:00",
}
PROFILE_COLUMNS = (
    "id", "user_id", "character_id", "user_name", "user_nickname", "birthday", "occupation", "location", "likes",
    "dislikes", "interests", "personality_traits", "communication_style", "relationship_status", "pet_names",
    "important_dates", "shared_jokes", "sensitive_topics", "created_at", "updated_at",
)  # fmt: skip
EPISODE_COLUMNS = (
    "id", "memory_id", "user_id", "character_id", "event_type", "summary", "key_dialogue", "emotion_state",
    "importance", "strength", "recall_count", "last_recalled", "created_at",
)  # fmt: skip


def luna_sqlite(path: Path, profiles: Sequence[Mapping[str, Any]], episodes: Sequence[Mapping[str, Any]]) -> Path:
    """Write Luna's two tables, with lists and objects as JSON, as SQLAlchemy writes them."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns, rows in (
            ("semantic_memories", PROFILE_COLUMNS, profiles),
            ("episodic_memories", EPISODE_COLUMNS, episodes),
        ):
            connection.execute(f"create table {table}(id integer primary key, {', '.join(columns[1:])})")
            stored = [
                {k: orjson.dumps(v).decode() if isinstance(v, (list, dict)) else v for k, v in row.items()}
                for row in rows
            ]
            _insert(connection, table, columns, stored)
    return path


BACKUP: dict[str, Any] = {
    "version": "1.0",
    "created_at": "2026-02-01T08:00:00",
    "source": "powermem-cli",
    "filters": {"user_id": None, "memories": ["no memory"]},
    "count": 2,
    "memories": [
        {
            "id": 501,
            "memory": "用户周末喜欢爬山",
            "user_id": "user",
            "agent_id": "voice_assistant_agent",
            "run_id": "r-1",
            "metadata": {"intelligence": {"importance_score": 0.9, "access_count": 4}, "source": "talk"},
            "created_at": "2026-01-05T08:00:00",
            "updated_at": "2026-01-06T08:00:00+08:00",
        },
        {"memoryId": 502, "content": "用户在北京工作", "userId": "user", "metadata": None, "createdAt": 1767600000},
    ],
}
"""What `pmem manage backup` writes; the second memory has the spelling of PowerMem's TypeScript."""

OWNER_FACT = ("m-1", "用户喜欢安静", {"person_id": "owner", "type": "preference", "source_session": "s1",
                                  "scope": "personal", "active": True, "mood": 0.5})  # fmt: skip
EVERYBODYS = ("m-2", "办公室在三楼", {"person_id": "owner", "type": "place", "scope": "global", "active": True})
GONE = ("m-3", "旧的事", {"person_id": "owner", "scope": "personal", "active": False})


def chroma_folder(folder: Path, *entries: tuple[str, str, dict[str, Any]], collection: str = "memories") -> Path:
    """Write a folder as ChromaDB's migrations and its metadata segment make it, with another collection in it."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection, connection:
        connection.executescript(
            "create table collections(id text primary key, name text not null, dimension integer);"
            "create table segments(id text primary key, type text not null, scope text not null, collection text);"
            "create table embeddings(id integer primary key, segment_id text not null, embedding_id text not null,"
            " seq_id blob not null, created_at timestamp not null default '2026-01-05 08:00:00',"
            " unique(segment_id, embedding_id));"
            "create table embedding_metadata(id integer references embeddings(id), key text not null,"
            " string_value text, int_value integer, float_value real, bool_value integer, primary key(id, key));"
            "insert into collections values('c-1', 'others', 3), ('c-2', '" + collection + "', 3);"
            "insert into segments values('v', 'hnsw', 'VECTOR', 'c-2'), ('m', 'sqlite', 'METADATA', 'c-2'),"
            " ('o', 'sqlite', 'METADATA', 'c-1');"
            "insert into embeddings(segment_id, embedding_id, seq_id) values('o', 'other', 1);"
            "insert into embedding_metadata(id, key, string_value) values(1, 'chroma:document', 'not this');"
        )
        for number, (name, document, metadata) in enumerate(entries, 2):
            connection.execute("insert into embeddings(segment_id, embedding_id, seq_id) values('m', ?, 1)", (name,))
            for key, value in {"chroma:document": document, **metadata}.items():
                kinds = {bool: "bool_value", int: "int_value", float: "float_value", str: "string_value"}
                connection.execute(
                    f"insert into embedding_metadata(id, key, {kinds[type(value)]}) values(?, ?, ?)",
                    (number, key, value),
                )
    return folder


def chroma_columns(path: Path, *entries: tuple[str, str, dict[str, Any]]) -> Path:
    """Write the JSON that `collection.get()` returns."""
    ids, documents, metadatas = zip(*entries, strict=True)
    found = {"ids": ids, "embeddings": [[0.5, 1e-3]], "documents": documents, "uris": None, "metadatas": metadatas}
    path.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    return path


def chroma_records(path: Path, *entries: tuple[str, str, dict[str, Any]]) -> Path:
    """Write the entries as a list of records."""
    path.write_bytes(orjson.dumps([{"id": i, "document": d, "metadata": m} for i, d, m in entries]))
    return path


def _insert(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    places = ", ".join("?" * len(columns))
    connection.executemany(f"insert into {table} values({places})", [[row.get(c) for c in columns] for row in rows])
