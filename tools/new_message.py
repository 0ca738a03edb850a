"""Writes the files that derive from the message classes: released schemas, their fingerprints and golden bytes.

    python tools/new_message.py [NAME ...]

Add or change a class in `schemas/messages/` and its place in a union there, then run this; without names it handles
every message. A class without a schema gets version 1. A class whose fields differ from its newest schema gets the
next version, and the golden bytes of the version before move to `tests/data/golden/vN/`.

Files that `tests/data/recorded/frozen_files.json` lists are released, and never change. Others are drafts, which are
written again until `tools/record_outputs.py` records them. A second run without a change writes nothing.
"""

from __future__ import annotations

import io
import json
import sys
import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # it writes for the checkout that contains it

import fastavro  # noqa: E402
from message_examples import bare, full  # noqa: E402

from schemas import codec, messages  # noqa: E402
from schemas.codec import HEADER_BYTES, MARKER, MESSAGES, field_types, schema_fingerprint  # noqa: E402

AVRO: Final = ROOT / "schemas" / "avro"
GOLDEN: Final = ROOT / "tests" / "data" / "golden"
FINGERPRINTS: Final = GOLDEN / "fingerprints.json"
RELEASED: Final = ROOT / "tests" / "data" / "recorded" / "frozen_files.json"
EXAMPLES: Final = {"full": full, "bare": bare}
PRIMITIVES: Final[dict[type, Any]] = {
    str: "string",
    bytes: "bytes",
    bool: "boolean",
    int: "long",
    float: "double",
    datetime: {"type": "long", "logicalType": "timestamp-micros"},
}


class Wrong(Exception):
    """The message classes or the files do not allow it; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a message's schema, and whether its file is to be written."""

    number: int
    schema: dict[str, Any]
    is_written: bool


def avro_type(hint: Any, named: set[str]) -> Any:  # noqa: ANN401 - a type hint in, JSON out
    """Return the Avro type of a field's type hint; a record is written out where it occurs first. Raises Wrong."""
    if typing.get_origin(hint) is types.UnionType:
        return ["null", *(avro_type(a, named) for a in typing.get_args(hint) if a is not types.NoneType)]
    if typing.get_origin(hint) is list:
        return {"type": "array", "items": avro_type(typing.get_args(hint)[0], named)}
    if isinstance(hint, type) and is_dataclass(hint):
        return f"mnemolog.{hint.__name__}" if hint.__name__ in named else avro_record(hint, named)
    if hint not in PRIMITIVES:
        names = ", ".join(kind.__name__ for kind in PRIMITIVES)
        raise Wrong(f"the type {hint} has no Avro type here: use {names}, a record, a list of one, or `| None`")
    return PRIMITIVES[hint]


def avro_record(record: type, named: set[str]) -> dict[str, Any]:
    """Return the Avro record of a message class; optional fields default to null. Raises Wrong."""
    named.add(record.__name__)
    listed = []
    for field in fields(record):
        entry = {"name": field.name, "type": avro_type(field_types(record)[field.name], named)}
        if field.default is None or isinstance(field.default, (str, bool, int, float)):
            entry["default"] = field.default
        elif field.default_factory is list:
            entry["default"] = []
        listed.append(entry)
    doc = (record.__doc__ or "").strip().splitlines()[0]
    return {"type": "record", "name": record.__name__, "namespace": "mnemolog", "doc": doc, "fields": listed}


def main() -> int:
    """Write the missing files and print their names; return the exit code."""
    try:
        for name in written(sys.argv[1:]):
            print(name)
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def written(names: list[str]) -> Iterator[str]:
    """Write the missing files of the named messages, by default of all; yield each file's name. Raises Wrong."""
    released = json.loads(RELEASED.read_text("utf-8"))
    check_imported()
    check_released(released)
    chosen = messages_named(names)
    versions = {message: version_of(message, released) for message in chosen}
    # Schemas first: the codec reads them when it encodes the golden bytes, and keeps what it has read.
    for message, version in versions.items():
        if version.is_written:
            yield from put(schema_file(message, version.number), as_text(version.schema))
    for message in chosen:
        yield from golden_bytes(message, released)
    yield from put(FINGERPRINTS, as_text(fingerprints()))


def check_imported() -> None:
    """Check that the classes are those of this checkout. Raises Wrong."""
    folder = Path(messages.__path__[0])
    if not folder.is_relative_to(ROOT):
        raise Wrong(f"Python imports the messages of {folder}: run this with the .venv of {ROOT}")


def check_released(released: dict[str, str]) -> None:
    """Check that released files have not changed. Raises Wrong.

    Golden bytes of a version that is no longer the newest may be in the folder of their version.
    """
    for name, digest in released.items():
        kind, _, path = name.partition("/")
        if path == FINGERPRINTS.name:
            continue
        folder = AVRO if kind == "avro" else GOLDEN
        places = [folder / path, *sorted(folder.glob(f"v*/{path}"))]
        if not any(file.is_file() and sha256(file.read_bytes()).hexdigest() == digest for file in places):
            where = (folder / path).relative_to(ROOT)
            raise Wrong(f"{where} is released and was changed or removed: take it back with `git checkout -- {where}`")


def messages_named(names: list[str]) -> list[type]:
    """Return the named messages, by default all. Raises Wrong."""
    by_name = {message.__name__: message for message in MESSAGES}
    if lost := [name for name in classes() if name not in by_name]:
        raise Wrong(
            f"{', '.join(lost)}: in no union of schemas/messages. Add a command about memories to MemoryCommand in"
            " inbox.py, an event about a memory to MemoryEvent in events.py, others to UserItem and LedgerEvent there"
        )
    if unknown := [name for name in names if name not in by_name]:
        raise Wrong(f"{', '.join(unknown)}: no message is called so. Write its class in schemas/messages first")
    return [by_name[name] for name in names] or list(MESSAGES)


def classes() -> list[str]:
    """Return the names of all message classes: those of `schemas/messages/` that have an envelope."""
    found = []
    for file in sorted(Path(messages.__path__[0]).glob("*.py")):
        module = __import__(f"schemas.messages.{file.stem}", fromlist=["*"]) if file.stem != "__init__" else messages
        for one in vars(module).values():
            if is_dataclass(one) and isinstance(one, type) and one.__module__ == module.__name__:
                found += [one.__name__] if any(field.name == "envelope" for field in fields(one)) else []
    return found


def version_of(message: type, released: dict[str, str]) -> Version:
    """Return the version of a message that its class requires. Raises Wrong."""
    try:
        wanted = avro_record(message, set())
    except Wrong as error:
        raise Wrong(f"{message.__name__}: {error}") from None
    known = known_schemas(message)
    newest = len(known)
    if newest and schema_fingerprint(known[-1]) == schema_fingerprint(wanted):
        return Version(number=newest, schema=known[-1], is_written=False)
    is_draft = newest > 0 and f"avro/{schema_file(message, newest).name}" not in released
    older = known[:-1] if is_draft else known
    for number, schema in enumerate(older, 1):
        if schema_fingerprint(schema) == schema_fingerprint(wanted):
            raise Wrong(
                f"{message.__name__} has the fields of its version {number} again: a later version needs another field"
            )
        check_readable(message, number, schema, wanted)
    return Version(number=len(older) + 1, schema=wanted, is_written=True)


def check_readable(message: type, number: int, written: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Check that data of an older version can be read as the wanted version. Raises Wrong."""
    there = {field["name"] for field in written["fields"]}
    new = [field["name"] for field in wanted["fields"] if field["name"] not in there and "default" not in field]
    if new:
        raise Wrong(
            f"{message.__name__}.{new[0]} has no default, and version {number} was written without it:"
            " give it one, such as None"
        )
    for kind in EXAMPLES:
        data = golden_of(message, kind, number)
        try:
            reader = fastavro.parse_schema(wanted)
            fastavro.schemaless_reader(io.BytesIO(data[HEADER_BYTES:]), fastavro.parse_schema(written), reader)
        except (fastavro.read.SchemaResolutionError, ValueError) as error:
            raise Wrong(
                f"{message.__name__}: what version {number} has written cannot be read with these fields ({error}):"
                " keep the type of what is there, and add a field beside it"
            ) from None


def golden_of(message: type, kind: str, number: int) -> bytes:
    """Return the golden bytes of a version, from either folder. Raises Wrong."""
    header = MARKER + schema_fingerprint(known_schemas(message)[number - 1])
    name = f"{message.__name__}.{kind}.bin"
    for file in (GOLDEN / name, GOLDEN / f"v{number}" / name):
        if file.is_file() and (data := file.read_bytes()).startswith(header):
            return data
    raise Wrong(f"there are no golden bytes of {message.__name__} version {number}: take {name} back with git")


def golden_bytes(message: type, released: dict[str, str]) -> Iterator[str]:
    """Write the golden bytes of a message, and move those of an older version; yield each file's name. Raises Wrong."""
    by_header = {MARKER + schema_fingerprint(schema): n for n, schema in enumerate(known_schemas(message), 1)}
    for kind, make in EXAMPLES.items():
        file, data = GOLDEN / f"{message.__name__}.{kind}.bin", codec.encode(make(message))
        before = file.read_bytes() if file.is_file() else b""
        number = by_header.get(before[:HEADER_BYTES])
        if number is not None and number < len(by_header):
            yield from put(GOLDEN / f"v{number}" / file.name, before)
        elif data != before and f"golden/{file.name}" in released:
            raise Wrong(f"{file.name} is released, and the example is another now: take back tools/message_examples.py")
        yield from put(file, data)


def known_schemas(message: type) -> list[dict[str, Any]]:
    """Return the existing schemas of a message, the oldest first."""
    found: list[dict[str, Any]] = []
    while (file := schema_file(message, len(found) + 1)).is_file():
        found.append(json.loads(file.read_text("utf-8")))
    return found


def schema_file(message: type, number: int) -> Path:
    """Return the path of a version of a message's schema."""
    return AVRO / f"{message.__name__}.v{number}.avsc"


def fingerprints() -> dict[str, str]:
    """Return the fingerprint of every schema by its file's name."""
    return {
        file.name: schema_fingerprint(json.loads(file.read_text("utf-8"))).hex() for file in sorted(AVRO.glob("*.avsc"))
    }


def as_text(value: object) -> bytes:
    """Return a value as JSON in the format of the files."""
    return (json.dumps(value, indent=2) + "\n").encode()


def put(file: Path, data: bytes) -> Iterator[str]:
    """Write a file and yield its name, if its content is another."""
    if not file.is_file() or file.read_bytes() != data:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        yield file.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main())
