"""Elements of arrays in files of any size, and times however they are written."""

from __future__ import annotations

import tracemalloc
from io import BytesIO
from typing import TYPE_CHECKING

import orjson
import pytest
from support.tables import each

from mnemolog.extensions.migration import json_arrays
from mnemolog.extensions.migration.powermem import powermem_rows
from mnemolog.extensions.migration.rows import BadRow, Unreadable, instant

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 16])
def test_elements_are_found_wherever_the_chunks_end(monkeypatch: pytest.MonkeyPatch, chunk: int):
    monkeypatch.setattr(json_arrays, "CHUNK_BYTES", chunk)
    text = (
        ' {"a": {"memories": ["]", "\\"}"]}, "b": 12.5e3, "c": "[{",'
        ' "memories" : [ 123 , "x\\u00e9\\"茶", {"k": [1]}, [] ] ,'
        ' "d": {"memories": [5]}, "e": {}} '
    )
    found = list(json_arrays.elements("f", BytesIO(text.encode()), ("memories",), ("d",)))
    assert found == [123, 'xé"茶', {"k": [1]}, [], 5]


@each("text", ["", "7", "[1", "[1,]", "[1 2]", '{"a"', '{"a": [', '{"a": {"b": "', "[nul]", "[\udcff]"])
def test_what_is_no_json_is_unreadable(text: str):
    with pytest.raises(Unreadable, match="is not the JSON that was expected"):
        list(json_arrays.elements("f", BytesIO(text.encode("utf-8", "surrogateescape")), ("memories",)))


def test_a_number_of_thousands_of_digits_is_unreadable():
    with pytest.raises(Unreadable, match=r"at character \d+: Exceeds the limit"):
        list(json_arrays.elements("f", BytesIO(b"[1, " + b"9" * 5_000 + b"]"), ("memories",)))


def test_a_large_file_is_read_in_little_memory(tmp_path: Path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(
            b'{"embeddings": [' + b",".join([b"[" + b"0.123456789," * 99 + b"1]"] * 10_000) + b'], "memories": ['
        )
        file.write(b",".join(orjson.dumps({"id": n, "memory": f"memory {n} " + "x" * 500}) for n in range(10_000)))
        file.write(b"]}")
    tracemalloc.start()
    try:
        count = sum(1 for _ in powermem_rows(str(path)).read())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 10_000
    assert peak < path.stat().st_size / 8


@each(
    ("value", "expected"),
    [
        ("2026-01-05 08:00:00", "2026-01-05T08:00:00+00:00"),
        ("2026-01-05T08:00:00Z", "2026-01-05T08:00:00+00:00"),
        ("2026-01-05T16:00:00+08:00", "2026-01-05T08:00:00+00:00"),
        (1767600000, "2026-01-05T08:00:00+00:00"),
        (1767600000123, "2026-01-05T08:00:00.123000+00:00"),
        (None, None),
        ("", None),
    ],
)
def test_times_are_read_however_the_systems_write_them(value: object, expected: str | None):
    assert instant("created_at", value) == expected


def test_a_number_beyond_all_times_is_none():
    with pytest.raises(BadRow, match="is no time"):
        instant("created_at", 1e30)
