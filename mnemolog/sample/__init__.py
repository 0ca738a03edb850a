"""The bundled sample: four weeks of two invented people, lin (mostly Chinese) and maya (mostly English).

`events.jsonl` holds input events as they reached the log: a few came twice, two sessions and a screenshot came late.
`questions.json` holds what can be asked afterwards, and words that one of the first three answers holds.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def sample_events() -> list[dict[str, Any]]:
    """Return the input events in the order in which they are published, repetitions included."""
    lines = (resources.files(__name__) / "events.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
