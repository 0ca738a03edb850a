"""Words are found in every spelling, and where pieces of a file meet."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING

import pytest
from support.tables import each

from mnemolog.diagnostics.residue import PIECE_BYTES, NothingToSearch, Spellings, TooShort, find_residue, searched
from mnemolog.settings import from_environment
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = ["Quirinius", "紫藤巷九号", "naïve😀quokka"]
MANY = [f"{first}uirin{number:04}" for number in range(500) for first in "QT"]

SPELT: dict[str, Callable[[str], bytes]] = {
    "UTF-8": lambda word: b"said: " + word.encode() + b" to",
    "UTF-16": lambda word: b"\0" + f"{word} to".encode("utf-16-be"),
    "JSON": lambda word: json.dumps({"said": word}).encode(),
    "base64 of UTF-8, at 0": lambda word: b64encode(word.encode()),
    "base64 of UTF-8, at 1": lambda word: b64encode(b"1" + word.encode() + b"12"),
    "base64 of UTF-8, at 2": lambda word: urlsafe_b64encode(b"12" + word.encode() + b"1"),
    "base64 of UTF-16": lambda word: b64encode(f"1{word}2".encode("utf-16-le")),
    "zlib": lambda word: b"begin" + zlib.compress(f"said: {word}".encode()),
    "zlib of JSON": lambda word: zlib.compress(json.dumps([word]).encode(), 9),
    "gzip": lambda word: b"begin" + gzip.compress(word.encode()),
}


@each("word", WORDS)
@each("spell", SPELT.values(), ids=list(SPELT))
def test_a_word_is_found_however_it_is_spelt(spell: Callable[[str], bytes], word: str):
    spellings = Spellings([*MANY, "", word])
    assert {line for line, _ in spellings.find(b"\xff" * 99 + spell(word) + b"\xff" * 99)} == {len(MANY) + 2}
    assert spellings.find(b"\xff" * 99 + spell(word[:-1]) + b"\xff" * 99) == set()


def test_of_a_thousand_words_each_is_found():
    found = Spellings(MANY).find(" ".join(MANY).encode())
    assert found == {(line, "UTF-8") for line in range(1, 1001)}
    assert Spellings(MANY).find(b"") == Spellings([]).find(b"Quirin0001") == set()


def test_a_short_word_is_refused():
    with pytest.raises(TooShort, match="line 2"):
        Spellings(["Quirinius", "cat"])


@pytest.mark.parametrize("spell", [SPELT["UTF-8"], SPELT["zlib"]])
async def test_a_word_is_found_where_two_pieces_of_a_file_meet(tmp_path: Path, spell: Callable[[str], bytes]):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / LOG_FILE).touch()
    spelt = spell("Quirinius")
    (tmp_path / "log" / "a.bin").write_bytes(b"\0" * (PIECE_BYTES - len(spelt) // 2) + spelt)
    [found] = await find_residue(from_environment({}, data_dir=tmp_path), ["Quirinius"])
    assert (found.line, found.where) == (1, "log/a.bin")


async def test_a_folder_that_lies_on_another_disk_is_searched_too(tmp_path: Path):
    other, folder = tmp_path / "other", tmp_path / "var"
    other.mkdir()
    folder.mkdir()
    (other / "log.sqlite").write_bytes(b"said: Quirinius")
    (folder / "log").symlink_to(other)
    (folder / "single").symlink_to(other / "log.sqlite")
    (other / "back").symlink_to(folder)
    found = await find_residue(from_environment({}, data_dir=folder), ["Quirinius"])
    assert [one.where for one in found] == ["log/log.sqlite", "single"]


async def test_a_worker_on_kafka_is_not_searched_without_its_topics(tmp_path: Path):
    (tmp_path / "shards").mkdir()
    with pytest.raises(NothingToSearch, match="set MNEMOLOG_BROKER too"):
        await find_residue(from_environment({}, data_dir=tmp_path), ["Quirinius"])
    assert searched(from_environment({}, data_dir=tmp_path)).endswith("and no topics")
    assert "every record on kafka://k:9092" in searched(from_environment({}, broker="kafka://k:9092", encryption="off"))


@pytest.mark.parametrize(("words", "at"), [(["", "  "], ""), ([], ""), (["Quirinius"], "elsewhere")])
async def test_where_there_is_nothing_to_search_it_is_not_said_that_nothing_was_found(
    tmp_path: Path, words: list[str], at: str
):
    with pytest.raises(NothingToSearch):
        await find_residue(from_environment({}, data_dir=tmp_path / at), words)
