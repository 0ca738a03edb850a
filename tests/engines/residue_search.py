"""A search for words in all files of the engines and of the workers, as they lie."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mnemolog.diagnostics.residue import Spellings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def found_in(folder: Path, words: list[str]) -> dict[str, set[str]]:
    """Return the files with words in any spelling, each with the spellings."""
    spellings = Spellings(words)
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # the engines delete files of theirs meanwhile
            # Kafka makes the files of its indexes 10 MB long: no word ends in more than one zero.
            if path.is_file() and (seen := spellings.find(path.read_bytes().rstrip(b"\0") + b"\0")):
                found[str(path.relative_to(folder))] = {f"{words[line - 1]}: {spelling}" for line, spelling in seen}
    return found


def topics_of(files: Iterable[str]) -> set[str]:
    """Return the topics whose files these are; fails for any other file."""
    parts = [path.split("/") for path in files]
    assert all(part[:2] == ["kafka", "data"] for part in parts), parts
    return {part[2].rpartition("-")[0] for part in parts}
