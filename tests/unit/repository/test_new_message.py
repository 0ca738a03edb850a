"""tools/new_message.py in a copy of what it reads and writes: new messages, new versions, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COPIED = ("schemas", "tests/data/golden")
RECORDED = "tests/data/recorded/frozen_files.json"
FORGET = '''    """Make a memory unfindable; what was said before is not remembered again."""

    envelope: Envelope
    memory_id: str
'''
RESTORE = "@dataclass(frozen=True, slots=True, kw_only=True)\nclass RestoreMemory:"
WHISPER = '''@dataclass(frozen=True, slots=True, kw_only=True)
class WhisperMemory:
    """Say a memory in a low voice."""

    envelope: Envelope
    memory_id: str


'''
UNION = {"MemoryWish: TypeAlias = ": "MemoryWish: TypeAlias = WhisperMemory | "}


class Copy:
    """A copy of the messages, their files and the tool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("tools/new_message.py", "tools/message_examples.py", RECORDED):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)

    def run(self, *names: str) -> tuple[int, list[str]]:
        """Run the tool; return its exit code and the lines that it printed."""
        done = subprocess.run(  # noqa: S603 - our own tool
            [sys.executable, "tools/new_message.py", *names],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).splitlines()

    def edit(self, name: str, **changes: str) -> None:
        """Replace texts of a file, each of which stands there once."""
        file = self.folder / name
        text = file.read_text("utf-8")
        for old, new in changes.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file.write_text(text, "utf-8")

    def add_whisper(self) -> None:
        """Write the class of a command, and its place in a union."""
        self.edit("schemas/messages/inbox.py", **{RESTORE: WHISPER + RESTORE}, **UNION)

    def give_reason(self, field: str) -> None:
        """Add a field to a command that is released."""
        self.edit("schemas/messages/inbox.py", **{FORGET: f"{FORGET}    {field}\n"})

    def frozen(self) -> dict[str, bytes]:
        """Return the files that are released, and no list of them, by their names."""
        names = json.loads((ROOT / RECORDED).read_text("utf-8"))
        folders = {"avro": self.folder / "schemas" / "avro", "golden": self.folder / "tests" / "data" / "golden"}
        files = {name: folders[name.split("/")[0]] / name.split("/", 1)[1] for name in names}
        return {name: file.read_bytes() for name, file in files.items() if file.suffix != ".json"}


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_there_is_nothing_to_write_for_the_messages_as_they_are(copy: Copy):
    assert copy.run() == (0, [])


def test_a_new_message_gets_its_schema_golden_bytes_and_fingerprint_once(copy: Copy):
    before = copy.frozen()
    copy.add_whisper()
    assert copy.run("WhisperMemory") == (
        0,
        [
            "schemas/avro/WhisperMemory.v1.avsc",
            "tests/data/golden/WhisperMemory.full.bin",
            "tests/data/golden/WhisperMemory.bare.bin",
            "tests/data/golden/fingerprints.json",
        ],
    )
    assert copy.run() == (0, [])
    assert copy.frozen() == before


def test_a_message_that_was_not_released_yet_is_written_anew(copy: Copy):
    copy.add_whisper()
    copy.run()
    copy.edit("schemas/messages/inbox.py", **{WHISPER: f"{WHISPER.rstrip()}\n    reason: str\n\n\n"})
    assert copy.run() == (
        0,
        [
            "schemas/avro/WhisperMemory.v1.avsc",
            "tests/data/golden/WhisperMemory.full.bin",
            "tests/data/golden/WhisperMemory.bare.bin",
            "tests/data/golden/fingerprints.json",
        ],
    )


def test_a_released_message_with_another_field_gets_its_next_version_and_its_golden_bytes_move(copy: Copy):
    before = copy.frozen()
    copy.give_reason("reason: str | None = None")
    code, written = copy.run()
    assert (code, written) == (
        0,
        [
            "schemas/avro/ForgetMemory.v4.avsc",
            "tests/data/golden/v3/ForgetMemory.full.bin",
            "tests/data/golden/ForgetMemory.full.bin",
            "tests/data/golden/v3/ForgetMemory.bare.bin",
            "tests/data/golden/ForgetMemory.bare.bin",
            "tests/data/golden/fingerprints.json",
        ],
    )
    after, golden = copy.frozen(), copy.folder / "tests" / "data" / "golden"
    moved = {f"golden/ForgetMemory.{kind}.bin" for kind in ("full", "bare")}
    assert {name for name in before if after[name] != before[name]} == moved
    assert {name: (golden / "v3" / Path(name).name).read_bytes() for name in moved} == {n: before[n] for n in moved}
    assert copy.run() == (0, [])


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("reason: str", r"ForgetMemory.reason has no default, and version 1 was written without it"),
        ("reason: dict[str, str] | None = None", r"ForgetMemory: the type dict\[str, str\] has no Avro type here"),
    ],
)
def test_a_field_that_old_bytes_or_avro_do_not_allow_is_refused_by_name(copy: Copy, field: str, said: str):
    before = copy.frozen()
    copy.give_reason(field)
    code, lines = copy.run()
    assert code == 1
    assert re.search(said, "\n".join(lines))
    assert not (copy.folder / "schemas" / "avro" / "ForgetMemory.v4.avsc").exists()
    assert copy.frozen() == before


def test_a_field_of_another_type_is_refused(copy: Copy):
    copy.edit("schemas/messages/inbox.py", **{FORGET: FORGET.replace("memory_id: str", "memory_id: int")})
    code, [line] = copy.run()
    assert (code, line.split(" (")[0]) == (
        1,
        "ForgetMemory: what version 1 has written cannot be read with these fields",
    )


def test_a_class_in_no_union_and_a_name_without_a_class_are_refused(copy: Copy):
    assert copy.run("WhisperMemory") == (
        1,
        ["WhisperMemory: no message is called so. Write its class in schemas/messages first"],
    )
    copy.edit("schemas/messages/inbox.py", **{RESTORE: WHISPER + RESTORE})
    code, [line] = copy.run()
    assert (code, line.split(".")[0]) == (1, "WhisperMemory: in no union of schemas/messages")


@pytest.mark.parametrize("name", ["schemas/avro/ForgetMemory.v1.avsc", "tests/data/golden/ForgetMemory.full.bin"])
def test_a_released_file_that_was_changed_is_refused_and_left_alone(copy: Copy, name: str):
    file = copy.folder / name
    file.write_bytes(file.read_bytes() + b"\n")
    changed = file.read_bytes()
    assert copy.run() == (
        1,
        [f"{name} is released and was changed or removed: take it back with `git checkout -- {name}`"],
    )
    assert file.read_bytes() == changed
