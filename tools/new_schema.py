"""Writes the Avro schema of a message class that has none yet, or another one. Released files are never changed."""

from __future__ import annotations

import json
import sys
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from schemas.codec import MESSAGES, field_types, newest_version, released_schema, schema_fingerprint

FOLDER = Path(__file__).parent.parent / "schemas" / "avro"
PRIMITIVES: dict[type, Any] = {
    str: "string",
    bytes: "bytes",
    bool: "boolean",
    int: "long",
    float: "double",
    datetime: {"type": "long", "logicalType": "timestamp-micros"},
}


def avro_type(hint: Any, named: set[str]) -> Any:  # noqa: ANN401 - a type hint in, JSON out
    """Return the Avro type of a field's type hint; a record stands whole where it is named first."""
    if typing.get_origin(hint) is types.UnionType:
        return ["null", *(avro_type(a, named) for a in typing.get_args(hint) if a is not types.NoneType)]
    if typing.get_origin(hint) is list:
        return {"type": "array", "items": avro_type(typing.get_args(hint)[0], named)}
    if isinstance(hint, type) and is_dataclass(hint):
        return f"mnemolog.{hint.__name__}" if hint.__name__ in named else avro_record(hint, named)
    return PRIMITIVES[hint]


def avro_record(record: type, named: set[str]) -> dict[str, Any]:
    """Return the Avro record of a message class; optional fields default to null."""
    named.add(record.__name__)
    listed = []
    for field in fields(record):
        entry = {"name": field.name, "type": avro_type(field_types(record)[field.name], named)}
        if field.default is None or isinstance(field.default, (str, bool, int, float)):
            entry["default"] = field.default
        listed.append(entry)
    doc = (record.__doc__ or "").strip().splitlines()[0]
    return {"type": "record", "name": record.__name__, "namespace": "mnemolog", "doc": doc, "fields": listed}


def main() -> int:
    """Write what is missing, a message's next version where its class has other fields; say what was written."""
    for message in MESSAGES:
        wanted, version = avro_record(message, set()), newest_version(message)
        if (FOLDER / f"{message.__name__}.v{version}.avsc").exists():
            released = released_schema(message, version)
            if schema_fingerprint(released) == schema_fingerprint(wanted):
                continue
            version += 1
        file = FOLDER / f"{message.__name__}.v{version}.avsc"
        file.write_text(json.dumps(wanted, indent=2) + "\n", "utf-8")
        sys.stdout.write(f"{file.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
