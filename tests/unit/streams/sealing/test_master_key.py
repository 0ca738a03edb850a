"""Master keys wrap data keys, and are found where they are given; nothing wrapped can be moved or forged."""

from __future__ import annotations

import stat
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.tables import each

from schemas.identity import Owner
from streams.sealing.key_files import KeysUnusable, make_key, read_file, read_keys, write_keys
from streams.sealing.master_key import DataKeyForged, MasterKeys, MasterKeyUnknown, UnwrappedKey

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = bytes(32), bytes(range(32))
ZARA = UnwrappedKey(Owner("default", "zara"), b"k" * 32)


def test_what_a_key_wraps_it_unwraps():
    masters = MasterKeys([NEW])
    assert masters.unwrap(masters.wrap(b"12345678", ZARA)) == ZARA


def test_the_newest_wraps_and_all_unwrap():
    both = MasterKeys([NEW, OLD])
    assert both.unwrap(MasterKeys([OLD]).wrap(b"12345678", ZARA)) == ZARA
    assert both.wrap(b"12345678", ZARA).kek_id == MasterKeys([NEW]).newest


def test_without_its_master_key_a_data_key_says_which_is_missing():
    wrapped = MasterKeys([OLD]).wrap(b"12345678", ZARA)
    with pytest.raises(MasterKeyUnknown, match=wrapped.kek_id):
        MasterKeys([NEW]).unwrap(wrapped)


def test_a_wrapped_key_means_nothing_under_another_id():
    masters = MasterKeys([NEW])
    with pytest.raises(DataKeyForged):
        masters.unwrap(replace(masters.wrap(b"12345678", ZARA), key_id=b"87654321"))


def test_nothing_of_a_key_or_its_owner_stands_in_what_is_wrapped():
    wrapped = MasterKeys([NEW]).wrap(b"12345678", ZARA)
    assert b"zara" not in wrapped.wrapped
    assert ZARA.key not in wrapped.wrapped


def test_keys_are_read_with_commas_or_lines_between_them():
    first, second = (b64encode(key).decode() for key in (NEW, OLD))
    assert read_keys(f"{first},{second}\n", "it").ids == read_keys(f"{first}\n{second}", "it").ids
    assert read_keys(f"{first} {second}", "it").newest == MasterKeys([NEW]).newest


@each("text", ["", " \n", "c2hvcnQ=", "not base64!", b64encode(bytes(33)).decode()])
def test_what_is_no_key_is_refused_without_quoting_it(text: str):
    with pytest.raises(KeysUnusable) as refused:
        read_keys(text, "MNEMOLOG_MASTER_KEY")
    assert "MNEMOLOG_MASTER_KEY" in str(refused.value)
    assert not text.strip() or text.strip() not in str(refused.value)


def test_a_key_file_is_written_for_its_user_alone(tmp_path: Path):
    path, key = tmp_path / "keys" / "master", make_key()
    write_keys(path, [key])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert read_file(path).ids == read_keys(key, "it").ids
    assert [found.name for found in path.parent.iterdir()] == ["master"]


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(KeysUnusable, match="elsewhere"):
        read_file(tmp_path / "elsewhere")
