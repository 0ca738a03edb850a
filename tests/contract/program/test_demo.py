"""`make demo`'s program: it goes through the main job on the bundled sample, and shows a person what happened."""

from __future__ import annotations

import json
import os
import re
from importlib import resources
from typing import TYPE_CHECKING

from support import forked_program

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_SECONDS = 180
SHOWN = (
    r"1\. Published",
    r"\d+ events .* of them came twice and count once",
    r"2\. Remembered, and from which words",
    r"What was said again was known \d+ times",
    r"superseded by newer values, with history",
    r"3\. 30 days pass",
    r"[1-9]\d* events lowered an importance, [1-9]\d* short-term memories expired",
    r"4\. Questions",
    r"5\. Rebuilt from the log",
    r"live +(?P<digest>[0-9a-f]{64})\nrebuilt (?P=digest)\n",
    r"Next: make up",
)
"""In this order."""


def test_the_demo_shows_the_main_job_and_ends_well(tmp_path: Path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))} | {"COLUMNS": "200"}
    done = forked_program.mnemolog(program="mnemolog.demo", folder=tmp_path, environment=kept, timeout=TIMEOUT_SECONDS)
    printed = done.stdout.decode()
    assert done.returncode == 0, printed + done.stderr.decode()
    assert re.search(".*?".join(SHOWN), printed, re.DOTALL), printed
    questions = json.loads((resources.files("mnemolog.sample") / "questions.json").read_text("utf-8"))
    assert [asked["query"] for asked in questions if asked["query"] not in printed] == []
    assert list(tmp_path.iterdir()) == []
