"""What users, operators and the log see is byte for byte what was recorded: nothing of it changes unnoticed.

A change that is meant is recorded anew by `tools/record_outputs.py`, and its diff says what changes for users.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.recorded_outputs import QUICK, RECORDED, sample
from support.tables import each

SAMPLE = ("sample_digests", "sample_answers", "metrics")


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text("utf-8"))


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.fixture(scope="module")
def lived() -> dict[str, Any]:
    return sample()


def test_every_output_is_recorded_and_nothing_else():
    assert {file.stem for file in RECORDED.iterdir()} == {*QUICK, *SAMPLE}
    assert all(recorded(name) for name in (*QUICK, *SAMPLE))


@each("name", sorted(set(QUICK) - {"frozen_files"}))
def test_what_is_promised_is_what_was_recorded(name: str):
    assert as_json(QUICK[name]()) == recorded(name)


def test_no_released_schema_and_no_golden_byte_changes():
    """More may be released."""
    found = QUICK["frozen_files"]()
    assert {name: found.get(name) for name in recorded("frozen_files")} == recorded("frozen_files")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_sample_ends_as_recorded(lived: dict[str, Any], name: str):
    assert as_json(lived[name]) == recorded(name)
