"""A ChromaDB collection of memories: its folder, its `chroma.sqlite3`, or the JSON of `collection.get()`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mnemolog.extensions.migration import sqlite_rows
from mnemolog.extensions.migration.json_arrays import NoArray, elements
from mnemolog.extensions.migration.rows import (
    CATEGORIES,
    BadRow,
    Line,
    Rows,
    Unreadable,
    count,
    given,
    instant,
    line_of,
    number,
    text,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

FILE: Final = "chroma.sqlite3"
DOCUMENT: Final = "chroma:document"
"""The key under which ChromaDB stores the text itself."""
VALUES: Final = ("string_value", "int_value", "float_value")
COLUMNS: Final = ("ids", "documents", "metadatas")
_ENTRIES: Final = "embeddings e join segments s on s.id = e.segment_id join collections c on c.id = s.collection"
OURS: Final = ("person_id", "source_session", "scope", "active", "created_at", "importance", "access_count")
"""The keys of the metadata that become fields of the memory."""


def chromadb_rows(name: str, collection: str) -> Rows:
    """Return the memories of a collection. Raises OSError."""
    path = str(Path(name) / FILE) if Path(name).is_dir() else name
    if not sqlite_rows.is_sqlite(path):
        return Rows(Path(path).stat().st_size, "bytes", lambda: _of_json(path, collection))
    with sqlite_rows.opened(path) as connection:
        sqlite_rows.check_table(path, connection, "embedding_metadata", ("id", "key", *VALUES))
        sqlite_rows.check_table(path, connection, "collections", ("id", "name"))
        there = [str(row["name"]) for row in connection.execute("select name from collections order by name")]
        if collection not in there:
            advice = f"it has {', '.join(there)}: name one with --collection" if there else "it has none"
            raise Unreadable(f"{path} has no collection {collection}: {advice}")
        counted = f"select count(*) from {_ENTRIES} where c.name = ?"  # noqa: S608 - our own words
        total = connection.execute(counted, (collection,)).fetchone()[0]
    return Rows(total, "rows", lambda: _of_sqlite(path, collection))


def _of_sqlite(name: str, collection: str) -> Iterator[tuple[Line, int]]:
    with sqlite_rows.opened(name) as connection:
        has_bool = "bool_value" in sqlite_rows.columns(connection, "embedding_metadata")
        values = ", ".join(f"m.{value}" for value in (*VALUES, *(("bool_value",) if has_bool else ())))
        query = (
            f"select e.id, e.embedding_id, e.created_at, m.key, {values} from {_ENTRIES} "  # noqa: S608 - our own words
            "left join embedding_metadata m on m.id = e.id where c.name = ? order by e.id"
        )
        rows = connection.execute(query, (collection,))
        for number_, group in groupby(rows, key=lambda row: row["id"]):
            entry = list(group)
            yield line_of(f"{name}:{collection}", int(number_), partial(_stored, collection, entry)), 1


def _stored(collection: str, entry: list[sqlite3.Row]) -> dict[str, Any]:
    metadata = {str(row["key"]): _value(row) for row in entry if row["key"] is not None}
    document = metadata.pop(DOCUMENT, None)
    metadata.setdefault("created_at", entry[0]["created_at"])
    return chromadb_memory(collection, entry[0]["embedding_id"], document, metadata)


def _value(row: sqlite3.Row) -> object:
    if "bool_value" in row.keys() and row["bool_value"] is not None:  # noqa: SIM118 - a Row holds values
        return bool(row["bool_value"])
    return next((row[name] for name in VALUES if row[name] is not None), None)


def _of_json(name: str, collection: str) -> Iterator[tuple[Line, int]]:
    """Read a list of records, or the parallel columns that `get()` returns."""
    with ExitStack() as files:
        streams = [files.enter_context(Path(name).open("rb")) for _ in COLUMNS]
        seen = 0
        first = streams[0].read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        streams[0].seek(0)
        records: Iterator[tuple[Any, Any, Any]]
        if first == b"[":
            records = (_record(element) for element in elements(name, streams[0], ()))
        else:
            columns = [elements(name, stream, (key,)) for stream, key in zip(streams, COLUMNS, strict=True)]
            records = _side_by_side(name, columns)
        for place, record in enumerate(records, 1):
            here = streams[0].tell()
            yield line_of(name, place, partial(chromadb_memory, collection, *record)), here - seen
            seen = here


def _record(element: object) -> tuple[Any, Any, Any]:
    if not isinstance(element, dict):
        return None, None, BadRow("is no object")
    return (
        element.get("id"),
        element.get("document", element.get("content")),
        element.get(
            "metadata", {k: v for k, v in element.items() if k not in ("id", "document", "content", "embedding")}
        ),
    )


def _side_by_side(name: str, columns: list[Iterator[Any]]) -> Iterator[tuple[Any, Any, Any]]:
    try:
        yield from zip(*columns, strict=True)
    except NoArray as error:
        raise NoArray(f"{name} must have ids, documents and metadatas of one length: {error}") from error
    except ValueError as error:
        raise Unreadable(f"{name} must have ids, documents and metadatas of one length") from error


def chromadb_memory(collection: str, id_: object, document: object, metadata: object) -> dict[str, Any]:
    """Return an entry as a memory. Raises BadRow."""
    if isinstance(metadata, BadRow):
        raise metadata
    entry = {} if metadata is None else metadata
    if not isinstance(entry, dict):
        raise BadRow(f"metadata {entry!r} is no object")
    session, word = entry.get("source_session"), entry.get("type")
    is_global = entry.get("scope") == "global"
    return given(
        source_system="chromadb",
        memory_id=None if id_ is None else f"{collection}/{id_}",
        user_id=str(entry.get("person_id") or "owner"),
        scope="global" if is_global else "personal",
        content=text({"document": document}, "document"),
        category=word if word in CATEGORIES else "fact",
        importance=number("importance", entry.get("importance"), 0, 1, 0.5),
        access_count=count("access_count", entry.get("access_count")),
        source_ref=None if session is None else str(session),
        session_id=None if session is None else str(session),
        formed_at=instant("created_at", entry.get("created_at")),
        status="forgotten" if entry.get("active") in (False, 0, "false", "False") else "active",
        metadata={k: v for k, v in entry.items() if k not in OURS and not (k == "type" and word in CATEGORIES)},
    )
