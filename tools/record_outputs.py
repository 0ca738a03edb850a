"""Records what test_recorded_outputs.py compares. Run it when a change of the outputs is intended, and read the diff.

The outputs are read twice, in processes with different hash seeds and time zones. If any differs, nothing is recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HELPER = ROOT / "tests" / "support" / "recorded_outputs.py"
FOLDER = ROOT / "tests" / "data" / "recorded"


def outputs(seed: str, zone: str) -> dict[str, Any]:
    """Return all outputs by name, as a new process gives them."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "TZ": zone,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }
    done = subprocess.run([sys.executable, str(HELPER)], env=environment, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Write the recordings that changed, and print their names; return the exit code."""
    found, again = outputs("1", "UTC"), outputs("2", "Asia/Shanghai")
    if differing := [name for name in found if found[name] != again[name]]:
        print(f"not the same twice, nothing was recorded: {', '.join(differing)}")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, value in found.items():
        file, text = FOLDER / f"{name}.json", json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
            print(f"recorded {file.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
