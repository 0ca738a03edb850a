"""The released Avro schemas: they agree with the message classes, differ from each other, and are frozen."""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fastavro
import orjson
from message_examples import full
from new_message import avro_record
from support.tables import each

from schemas import codec
from schemas.codec import MESSAGES, schema_fingerprint
from schemas.messages.observations import OBSERVATIONS

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((ROOT / "schemas" / "avro").glob("*.avsc"))
FROZEN: dict[str, str] = orjson.loads((ROOT / "tests" / "data" / "golden" / "fingerprints.json").read_bytes())


def schema_of(file: Path) -> Any:
    return orjson.loads(file.read_bytes())


def version_of(file: Path) -> int:
    return int(file.name.split(".")[1].removeprefix("v"))


def newest(message: type) -> Path:
    return max((f for f in FILES if f.name.split(".")[0] == message.__name__), key=version_of)


@each("message", MESSAGES, ids=lambda m: m.__name__)
def test_every_message_has_a_schema_that_says_what_its_class_says(message: type):
    """The fields, their order, types and defaults; documentation may differ."""

    def bare(schema: Any) -> Any:
        if isinstance(schema, dict):
            return {k: bare(v) for k, v in schema.items() if k != "doc"}
        return [bare(s) for s in schema] if isinstance(schema, list) else schema

    assert bare(schema_of(newest(message))) == bare(avro_record(message, set()))


@each("file", FILES, ids=lambda f: f.name)
def test_every_file_is_avro_and_is_named_after_its_message(file: Path):
    schema = schema_of(file)
    fastavro.parse_schema(schema)
    name, version, suffix = file.name.split(".")
    assert (schema["name"], schema["namespace"], suffix) == (name, "mnemolog", "avsc")
    assert version == f"v{version_of(file)}"
    assert name in {m.__name__ for m in MESSAGES}


def test_no_two_files_share_a_fingerprint():
    fingerprints = {schema_fingerprint(schema_of(file)) for file in FILES}
    assert len(fingerprints) == len(FILES)


def test_released_files_are_frozen_and_every_file_is_released():
    """A changed schema is a new file with the next number; then its fingerprint is added to the list."""
    assert {file.name: schema_fingerprint(schema_of(file)).hex() for file in FILES} == FROZEN


INPUT_FILES = [[f for f in FILES if f.name.split(".")[0] == m.__name__] for m in OBSERVATIONS]
PAIRS = [(a, b) for files in INPUT_FILES for a in files for b in files if a != b]


def envelope_fields(file: Path) -> set[str]:
    [envelope] = [field["type"] for field in schema_of(file)["fields"] if field["name"] == "envelope"]
    return {field["name"] for field in envelope["fields"]}


@each(("written", "read"), PAIRS, ids=lambda f: f.name)
def test_every_version_of_an_input_message_reads_what_any_other_has_written(written: Path, read: Path):
    """FULL_TRANSITIVE: producers and workers may be upgraded in any order."""
    message = next(m for m in OBSERVATIONS if m.__name__ == written.name.split(".")[0])
    fields = {f["name"] for f in schema_of(written)["fields"]}
    writer, reader, out = (
        fastavro.parse_schema(schema_of(written)),
        fastavro.parse_schema(schema_of(read)),
        io.BytesIO(),
    )
    plain = {k: v for k, v in asdict(full(message)).items() if k in fields}
    plain["envelope"] = {k: v for k, v in plain["envelope"].items() if k in envelope_fields(written)}
    fastavro.schemaless_writer(out, writer, plain)
    out.seek(0)
    found = fastavro.schemaless_reader(out, writer, reader)
    assert isinstance(found, dict)
    assert set(found) == {f["name"] for f in schema_of(read)["fields"]}
    sent, got = plain.pop("envelope"), found.pop("envelope")
    assert set(got) == envelope_fields(read)
    assert {k: got[k] for k in sent.keys() & got.keys()} == {k: sent[k] for k in sent.keys() & got.keys()}
    assert {k: found[k] for k in plain.keys() & found.keys()} == {k: plain[k] for k in plain.keys() & found.keys()}


def test_optional_fields_default_to_null_so_that_older_data_can_be_read():
    for file in FILES:
        for field in schema_of(file)["fields"]:
            if isinstance(field["type"], list):
                assert field["type"][0] == "null"
                assert field.get("default", 0) is None, (file.name, field["name"])


@each(
    ("schema", "fingerprint"),
    [
        ('"null"', "63dd24e7cc258f8a"),
        ('"boolean"', "9f42fc78a4d4f764"),
        ('"int"', "7275d51a3f395c8f"),
        ('"long"', "d054e14493f41db7"),
        ('"float"', "4d7c02cb3ea8d790"),
        ('"double"', "8e7535c032ab957e"),
        ('"bytes"', "4fc016dac3201965"),
        ('"string"', "8f014872634503c7"),
    ],
)
def test_fingerprints_are_crc_64_avro_written_little_endian(schema: str, fingerprint: str):
    """The primitive types, computed with the table algorithm of the Avro specification below."""
    assert schema_fingerprint(orjson.loads(schema))[::-1].hex() == fingerprint
    assert f"{crc_64_avro(schema.encode()):016x}" == fingerprint


@each("file", FILES, ids=lambda f: f.name)
def test_every_files_fingerprint_is_that_of_its_canonical_form(file: Path):
    schema = schema_of(file)
    canonical = fastavro.schema.to_parsing_canonical_form(schema)
    assert int.from_bytes(schema_fingerprint(schema), "little") == crc_64_avro(canonical.encode())


def crc_64_avro(data: bytes) -> int:
    """Return the fingerprint as the Avro specification defines it, by its own table."""
    empty = 0xC15D213AA4D7A795
    table = []
    for byte in range(256):
        entry = byte
        for _ in range(8):
            entry = (entry >> 1) ^ (empty & -(entry & 1))
        table.append(entry)
    fingerprint = empty
    for byte in data:
        fingerprint = (fingerprint >> 8) ^ table[(fingerprint ^ byte) & 0xFF]
    return fingerprint


VECTORS = ROOT.parent / "shared" / "evals" / "data" / "avro" / "data"


def vectors() -> list[tuple[str, str, int | None]]:
    """Return (input, canonical form, fingerprint if there is one) of the Avro project's vectors, which lie beside us.

    Not in the repository: it holds files of our own only.
    """
    file = VECTORS / "schema-tests.txt"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    found: list[tuple[str, str, int | None]] = []
    text: dict[str, list[str]] = {}
    name = ""
    for line in [*lines, "// the end"]:
        if line.startswith("<<"):
            name, _, first = line[2:].partition(" ")
            if name == "INPUT":
                text = {}
            text[name] = [first]
        elif line.startswith("//") or not line.strip():
            if "canonical" in text:
                fingerprint = int(text["fingerprint"][0]) if "fingerprint" in text else None
                found.append(("\n".join(text["INPUT"]), "\n".join(text["canonical"]), fingerprint))
                text = {}
        elif name and line != name:  # a text of several lines ends with its name alone
            text[name].append(line)
    return found


@each(("source", "canonical", "fingerprint"), [*vectors(), ('"null"', '"null"', 7195948357588979594)])
def test_the_vectors_of_the_avro_project_hold(source: str, canonical: str, fingerprint: int | None):
    schema = orjson.loads(source)
    assert fastavro.schema.to_parsing_canonical_form(schema) == canonical
    assert fingerprint in (None, int.from_bytes(schema_fingerprint(schema), "little", signed=True))


def test_single_object_encoding_is_the_one_that_java_writes():
    """The sample message of the Avro project, where it lies beside us; ours always."""
    files = [VECTORS / "messageV1" / "test_message.bin"] if VECTORS.exists() else []
    for file in files:
        schema = schema_of(file.with_name("test_schema.avsc"))
        assert file.read_bytes()[:10] == codec.MARKER + schema_fingerprint(schema)
    own = ROOT / "tests" / "data" / "golden" / "ForgetMemory.full.bin"
    assert own.read_bytes()[:10] == codec.MARKER + schema_fingerprint(
        schema_of(ROOT / "schemas/avro/ForgetMemory.v3.avsc")
    )
