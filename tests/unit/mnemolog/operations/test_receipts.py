"""A receipt is what was signed or it is not, and the list of erasures survives a crash in the middle of a line."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from mnemolog.operations.erasing.receipts import LIST_FILE, Erasure, Receipts, is_signed
from schemas.identity import Owner

if TYPE_CHECKING:
    from pathlib import Path

ZARA, YURI = Owner("default", "zara"), Owner("default", "yuri")
RECEIPT: dict[str, Any] = {"user": "zoë", "memories": 6, "remains": [], "keys": ["a39a82d09933db7a"]}


@pytest.fixture
def receipts(tmp_path: Path) -> Receipts:
    return Receipts(tmp_path, b"s" * 32)


def erasure(number: int) -> Erasure:
    return Erasure(f"subject {number}", "default", "2026-11-23T22:26:17.368000Z", f"receipt {number}", 6)


@pytest.mark.parametrize(
    "altered",
    [
        {"memories": 5},
        {"memories": True},
        {"memories": 6.0},
        {"memories": 10**30},
        {"memories": float("nan")},
        {"user": "zoe"},
        {"user": "\ud800"},
        {"remains": [{"where": "elsewhere"}]},
        {"more": None},
        {"signature": None},
        {"signature": ""},
        {"signature": "ü"},
    ],
    ids=str,
)
def test_an_altered_receipt_is_not_signed_whatever_it_holds(receipts: Receipts, altered: dict[str, Any]):
    signed = receipts.sign(RECEIPT)
    assert is_signed(signed, receipts.public_key)
    assert not is_signed(signed | altered, receipts.public_key)


@pytest.mark.parametrize("name", RECEIPT)
def test_of_a_receipt_nothing_can_be_left_out(receipts: Receipts, name: str):
    signed = receipts.sign(RECEIPT)
    assert not is_signed({key: value for key, value in signed.items() if key != name}, receipts.public_key)


def test_a_signature_has_one_spelling_and_one_signer(receipts: Receipts, tmp_path: Path):
    signed = receipts.sign(RECEIPT)
    assert not is_signed(signed | {"signature": signed["signature"] + "!!!!"}, receipts.public_key)
    assert not is_signed(signed, Receipts(tmp_path, b"o" * 32).public_key)
    assert not is_signed(signed, "no key")


def test_behind_a_line_that_a_crash_cut_off_the_next_erasure_is_kept(receipts: Receipts, tmp_path: Path):
    receipts.keep(erasure(1), erasure(2))
    path = tmp_path / "keys" / LIST_FILE
    path.write_bytes(path.read_bytes()[:-20])
    assert receipts.kept() == [erasure(1)]
    receipts.keep(erasure(3))
    assert receipts.kept() == [erasure(1), erasure(3)]
    receipts.keep(erasure(2), erasure(3))
    assert receipts.kept() == [erasure(1), erasure(3), erasure(2)]


def test_what_a_later_version_says_besides_is_passed_over(receipts: Receipts, tmp_path: Path):
    receipts.keep(erasure(1))
    path = tmp_path / "keys" / LIST_FILE
    path.write_bytes(orjson.dumps(asdict(erasure(2)) | {"why": "asked for"}) + b"\n" + path.read_bytes())
    assert receipts.kept() == [erasure(2), erasure(1)]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"erased_at": "yesterday"},
        {"erased_at": "2026-11-23T22:26:17"},
        {"erased_at": 5},
        {"subject": None},
        {"receipt_id": 7},
        {"tenant": None},
    ],
    ids=str,
)
def test_a_line_that_somebody_has_spoilt_is_left_out_and_the_others_count(
    receipts: Receipts, tmp_path: Path, caplog: pytest.LogCaptureFixture, spoilt: dict[str, Any]
):
    receipts.keep(erasure(1))
    path = tmp_path / "keys" / LIST_FILE
    path.write_bytes(orjson.dumps(asdict(erasure(2)) | spoilt) + b"\n[]\n" + path.read_bytes())
    assert receipts.kept() == [erasure(1)]
    assert "line 1 of" in caplog.text


def test_without_a_secret_a_key_is_made_and_kept(tmp_path: Path):
    own = Receipts(tmp_path, None)
    assert is_signed(own.sign(RECEIPT), own.public_key)
    assert Receipts(tmp_path, None).public_key == own.public_key
    assert Receipts(tmp_path / "another", None).public_key != own.public_key


def test_names_on_the_list_outlive_the_secret_that_made_them(tmp_path: Path):
    before = Receipts(tmp_path, b"s" * 32)
    before.keep(erasure(1))
    after = Receipts(tmp_path, b"o" * 32)
    assert after.subject(ZARA) != before.subject(ZARA)
    assert before.subject(ZARA) in after.subjects(ZARA)
    assert before.subject(ZARA, "m1") in after.subjects(ZARA, "m1")
    assert before.subject(ZARA) not in after.subjects(YURI)


def test_the_key_of_names_does_not_sign(tmp_path: Path):
    receipts = Receipts(tmp_path, b"s" * 32)
    receipts.keep(erasure(1))
    [kept] = (tmp_path / "keys" / "subjects").read_text("ascii").split()
    assert Receipts(tmp_path, b64decode(kept)).public_key != receipts.public_key
