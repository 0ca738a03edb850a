"""Lines to import from any source: an export of ours, or a file of another system."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import orjson

from mnemolog.cli.lines.event_lines import BadLine, EventLine, json_lines
from mnemolog.cli.lines.reader import STDIN, sizes
from mnemolog.extensions.migration.chromadb import chromadb_rows
from mnemolog.extensions.migration.evatar import evatar_rows
from mnemolog.extensions.migration.luna import luna_rows
from mnemolog.extensions.migration.mem0 import mem0_rows
from mnemolog.extensions.migration.powermem import powermem_rows
from mnemolog.extensions.migration.rows import Rows
from mnemolog.imports.snapshot import BESIDES
from schemas.inputs.input_events import Fault, InvalidEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.extensions.migration.systems import Memories


def rows_of(system: Memories, name: str, *, key: str | None, collection: str) -> Rows:
    """Return the rows of a system's file. Raises OSError, and ValueError for an invalid key."""
    match system:
        case "mnemolog":
            return Rows(sizes([name]), "bytes", lambda: exported_rows(name))
        case "evatar":
            return evatar_rows(name, key)
        case "luna":
            return luna_rows(name)
        case "powermem":
            return powermem_rows(name)
        case "chromadb":
            return chromadb_rows(name, collection)
        case "mem0":
            return mem0_rows(name)


def exported_rows(name: str) -> Iterator[tuple[EventLine | BadLine, int]]:
    """Read the lines of an export, each with its size in bytes; lines of its history are left out."""
    # stdin by its number: see file_reading
    with open(sys.stdin.fileno() if name == STDIN else name, "rb", closefd=name != STDIN) as stream:
        seen = 0
        for line in json_lines(name, stream, _checked):
            here = 0 if name == STDIN else stream.tell()
            if isinstance(line, BadLine) or line.event.get("type") not in BESIDES:
                yield line, here - seen
                seen = here


def _checked(text: bytes) -> tuple[dict[str, Any], bool]:
    raw: Any = orjson.loads(text)
    if not isinstance(raw, dict):
        raise InvalidEvent([Fault("$", "a memory must be a JSON object")])
    return raw, True
