"""Fits the heads of the built-in encoder to labelled sentences, and writes `projections/embedding/heads.bin`.

`lasting` is fitted to the labelled sentences of `tests/data/sentences*.jsonl` and of `tests/data/heads/kinds.jsonl`:
does one state a fact that lasts? `kept` tells what lasts or passes from what says nothing, by the latter file. `own`
is fitted to those that fill a slot of the speaker's, and to `tests/data/heads/frames.json`: statements in frames in
which they are the speaker's, or somebody else's, supposed, quoted or asked.

The weights are rounded, so that every run on any machine writes the same bytes. It prints how many of the sentences
each head tells right.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from projections.embedding.embedder import unit_vectors
from projections.embedding.heads import FILE, HEADS, SCALE
from projections.embedding.use.encoder import loaded

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data"
RIDGE: Final = 1.0
STEPS: Final = 12
BATCH: Final = 64


def labelled() -> list[tuple[str, list[dict[str, Any]]]]:
    """Return each labelled sentence with its facts."""
    lines = [line for file in sorted(DATA.glob("sentences*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in lines]
    return [(row["text"], row["facts"] if "facts" in row else row["expect"]) for row in rows]


def of_kinds() -> list[tuple[str, str]]:
    """Return sentences with their kind: lasting, passing or nothing."""
    lines = (DATA / "heads" / "kinds.jsonl").read_text("utf-8").splitlines()
    return [(row["text"], row["kind"]) for row in map(json.loads, lines)]


def framed() -> list[tuple[str, bool]]:
    """Return each statement in each frame, with words drawn for it, and whether it is the speaker's own."""
    chance = random.Random(5)  # noqa: S311 - the same words in every run
    sentences = []
    for language in json.loads((DATA / "heads" / "frames.json").read_text("utf-8")).values():
        for statement in language["statements"]:
            for frame in language["about_the_user"]:
                sentences += [(_filled(frame, statement, language["words"], chance), True) for _ in range(2)]
            for frame in language["not_about_the_user"]:
                sentences.append((_filled(frame, statement, language["words"], chance), False))
    return sentences


def _filled(frame: str, statement: list[str], words: dict[str, list[str]], chance: random.Random) -> str:
    text = frame.format(*statement)
    for name, choices in words.items():
        text = text.replace(f"{{{name}}}", str(chance.choice(choices)))
    return text


def vectors_of(texts: list[str]) -> NDArray[np.float64]:
    """Return the encoder's vectors."""
    encode = loaded(1).encode
    parts = [unit_vectors(encode(texts[place : place + BATCH])) for place in range(0, len(texts), BATCH)]
    return np.concatenate(parts).astype(np.float64)


def fitted(vectors: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights and bias of a logistic regression with a ridge, by Newton's method."""
    inputs = np.hstack([vectors, np.ones((len(vectors), 1))])
    ridge = np.eye(inputs.shape[1]) * RIDGE
    ridge[-1, -1] = 1e-6
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (chances - wanted) + ridge @ weights
        curve = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + ridge
        weights -= np.linalg.solve(curve, slope)
    return weights


def main() -> None:
    """Fit the heads, write them, and print how well they know their sentences."""
    rows = labelled()
    vectors = vectors_of([text for text, _ in rows])
    states = np.array([any(not fact.get("optional") for fact in facts) for _, facts in rows])
    clear = np.array([not facts or not all(fact.get("optional") for fact in facts) for _, facts in rows])
    fills = np.array([any(fact.get("attribute") or any(fact.get("slots") or ()) for fact in f) for _, f in rows])
    plain = fills | np.array([not facts for _, facts in rows])
    kinds = of_kinds()
    of_kind = vectors_of([text for text, _ in kinds])
    lasts = np.array([kind == "lasting" for _, kind in kinds])
    says = np.array([kind != "nothing" for _, kind in kinds])
    frames = framed()
    of_frames = vectors_of([text for text, _ in frames])
    sets = {
        "lasting": (np.concatenate([vectors[clear], of_kind]), np.concatenate([states[clear], lasts])),
        "kept": (np.concatenate([vectors[states], of_kind]), np.concatenate([states[states], says])),
        "own": (
            np.concatenate([of_frames, vectors[plain]]),
            np.concatenate([np.array([is_own for _, is_own in frames]), fills[plain]]),
        ),
    }
    found = []
    for name in HEADS:
        inputs, wanted = sets[name]
        weights = np.round(fitted(inputs, wanted.astype(np.float64)) * SCALE)
        right = ((inputs @ weights[:-1] + weights[-1] > 0) == wanted).mean()
        print(f"{name}: {len(wanted)} sentences, {right:.3f} of them told right")
        found.append(weights.astype("<i2"))
    FILE.write_bytes(np.concatenate(found).tobytes())


if __name__ == "__main__":
    main()
