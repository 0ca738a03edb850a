"""Lines to import, whatever they come from: a file of ours, or of another system."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import orjson

from mnemolog.cli.event_lines import BadLine, EventLine, json_lines
from mnemolog.cli.file_reading import STDIN
from mnemolog.snapshots import BESIDES
from schemas.input_events import Fault, InvalidEvent

if TYPE_CHECKING:
    from collections.abc import Iterator


def exported_rows(name: str) -> Iterator[tuple[EventLine | BadLine, int]]:
    """Read the lines of an export, with the bytes that each took; those of its history are left out."""
    # stdin by its number: see file_reading
    with open(sys.stdin.fileno() if name == STDIN else name, "rb", closefd=name != STDIN) as stream:
        seen = 0
        for line in json_lines(name, stream, _checked):
            here = 0 if name == STDIN else stream.tell()
            if isinstance(line, BadLine) or line.event.get("type") not in BESIDES:
                yield line, here - seen
                seen = here


def _checked(text: bytes) -> dict[str, Any]:
    raw: Any = orjson.loads(text)
    if not isinstance(raw, dict):
        raise InvalidEvent([Fault("$", "a memory must be a JSON object")])
    return raw
