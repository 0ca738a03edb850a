"""Asks a real, small model about the labelled windows and scores its answers: `make real-model`.

    python bench/real_model/real_model.py [--half tuning|held-out] [--forms grammar,free] [--answers FOLDER]

It starts the model that `fetch_model.py` has fetched, extracts each window with the product's own extractor, and prints
the scores together with those of the rules on the same windows. The answers are kept in a folder: `--replay` scores
them again without the model, after a change in how answers are read. It uses two threads, and takes some ten minutes a
form on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
from fetch_model import MODEL, RUNTIME, fetch
from scores import Score, table

from projections.embedding import heads
from projections.embedding.embedder import unit_vectors
from projections.embedding.use.encoder import loaded
from streams.extraction.assisted import with_slots
from streams.extraction.model.answer import UnusableAnswerError, read_answer
from streams.extraction.model.extractor import ModelExtractor
from streams.extraction.model.grounding import grounded
from streams.extraction.own_words.extractor import OwnWords
from streams.extraction.own_words.statements import read_window
from streams.extraction.protocol import Extraction, Piece, Rejected, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors
    from streams.extraction.own_words.statements import Reading

HERE = Path(__file__).parent
WINDOWS = HERE / "windows.jsonl"
ANSWERS = Path.home() / ".cache" / "mnemolog" / "models" / "answers"
MAX_TOKENS = 450
TIMEOUT_SECONDS = 3_600.0
"""A window takes eleven seconds on two quiet cores, and ten minutes on two busy ones."""
BETWEEN_TURNS = timedelta(seconds=10)


def window_of(labelled: dict[str, Any]) -> Window:
    """Return a labelled window as the worker would cut it."""
    at = datetime.fromisoformat(labelled["at"])
    pieces = tuple(
        Piece(
            piece_id=f"{labelled['id']}-{number}#0",
            event_id=f"{labelled['id']}-{number}",
            speaker=speaker,
            text=text,
            occurred_at=at + number * BETWEEN_TURNS,
            recorded_at=at + number * BETWEEN_TURNS,
        )
        for number, (speaker, text) in enumerate(labelled["turns"])
    )
    return Window(
        tenant="default",
        user_id="u1",
        agent_id=None,
        session_id=labelled["id"],
        source_type="chat",
        source_ref=labelled["id"],
        pieces=pieces,
    )


async def ask(windows: list[dict[str, Any]], base_url: str, answers: Path) -> None:
    """Append the model's answer to each window without one to a file of JSON lines, with its seconds and tokens."""
    extractor = ModelExtractor(
        base_url, "", "local", temperature=0.0, max_tokens=MAX_TOKENS, timeout_seconds=TIMEOUT_SECONDS
    )
    have = {line["id"] for line in _lines(answers)}
    for labelled in windows:
        if labelled["id"] in have:
            continue
        began = time.monotonic()
        try:
            extraction = await extractor.extract(window_of(labelled))
            found = {"answer": extraction.answer, "in": extraction.tokens_in, "out": extraction.tokens_out}
        except Rejected as rejected:
            found = {"answer": rejected.answer, "error": rejected.reason}
        with answers.open("a", encoding="utf-8") as file:
            line = {"id": labelled["id"], "seconds": round(time.monotonic() - began, 1), **found}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print(f"{labelled['id']}: {line['seconds']} s", file=sys.stderr, flush=True)
    await extractor.aclose()


class _Rules:
    """The rules, and the encoder, in this process."""

    async def read(self, window: Window) -> Reading:
        return read_window(window)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = unit_vectors(loaded(1).encode(list(texts))).astype(np.float32)
        return vectors


def own_words(window: Window) -> Extraction:
    """Return the extraction of a window without a model."""
    rules = _Rules()
    return asyncio.run(OwnWords(rules, rules.embed, heads.load()).extract(window))


def read_back(windows: list[dict[str, Any]], answers: Path) -> list[Extraction | None]:
    """Return the product's extractions from the kept answers, None for an unusable one."""
    kept = {line["id"]: line for line in _lines(answers)}
    found: list[Extraction | None] = []
    for labelled in windows:
        line = kept.get(labelled["id"], {})
        window = window_of(labelled)
        cut_off = line.get("out", 0) >= MAX_TOKENS
        try:
            answer = grounded(read_answer(line.get("answer") or "", window, cut_off=cut_off), window)
        except UnusableAnswerError:
            found.append(None)
        else:
            read = with_slots(answer.proposals, own_words(window).proposals)
            found.append(Extraction(proposals=read, dropped=answer.dropped))
    return found


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []


def serve(port: int, *, grammar: bool) -> subprocess.Popen[bytes]:
    """Start the model's server and wait until it answers."""
    options = [] if grammar else ["--no-grammar"]
    python = os.fspath(RUNTIME / "bin" / "python")
    command = [python, os.fspath(HERE / "model_server.py"), os.fspath(MODEL), "--port", str(port), *options]
    server = subprocess.Popen(command)  # noqa: S603 - words of our own
    while True:
        if server.poll() is not None:
            raise SystemExit("the model's server ended, see above")
        try:
            httpx.get(f"http://127.0.0.1:{port}/v1/models", timeout=1)
        except httpx.HTTPError:
            time.sleep(0.5)
        else:
            return server


def main() -> int:
    """Ask, score, print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuning", "held-out", "both"), default="both")
    parser.add_argument("--forms", default="grammar,free", help="grammar, free, or both with a comma")
    parser.add_argument("--answers", type=Path, default=ANSWERS, help="the folder of the kept answers")
    parser.add_argument("--port", type=int, default=18461)
    parser.add_argument("--base-url", help="of a server that runs already, instead of starting one")
    parser.add_argument("--replay", action="store_true", help="score the kept answers, ask nothing")
    parser.add_argument("--show", action="store_true", help="print each window's entries and what became of them")
    parser.add_argument("--answered", action="store_true", help="with --replay: only windows that have an answer")
    chosen = parser.parse_args()
    windows = [w for w in _lines(WINDOWS) if chosen.half in ("both", w["half"].replace(" ", "-"))]
    if chosen.answered:
        kept = [_lines(chosen.answers / f"{form}.jsonl") for form in chosen.forms.split(",")]
        have = set.intersection(*({line["id"] for line in lines if line["answer"]} for lines in kept))
        windows = [labelled for labelled in windows if labelled["id"] in have]
    scores = {"rules": Score.of(windows, [own_words(window_of(labelled)) for labelled in windows])}
    chosen.answers.mkdir(parents=True, exist_ok=True)
    for form in chosen.forms.split(","):
        answers = chosen.answers / f"{form}.jsonl"
        if not chosen.replay:
            server = None
            if chosen.base_url is None:
                fetch()
                server = serve(chosen.port, grammar=form == "grammar")
            try:
                asyncio.run(ask(windows, chosen.base_url or f"http://127.0.0.1:{chosen.port}/v1", answers))
            finally:
                if server is not None:
                    server.terminate()
        found = read_back(windows, answers)
        scores[f"model, {form}"] = Score.of(windows, found, show=chosen.show)
    print(table(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
