"""Fits the heads of the built-in encoder to labelled sentences, and writes `projections/embedding/heads.bin`.

`tests/data/heads/turns_*.jsonl` have turns of chats, with the question before some, each sentence with its kind
(`lasting`, `experience`: what happened and a friend would bring up weeks later, `passing` or `nothing`) and whether it
stands `alone`; `kinds.jsonl` has single sentences with their kind. `lasting` and `kept` are fitted to both, `alone` to
the sentences of turns that say something, the heads of answers to first sentences behind a question, `over` to
`changes.jsonl`: sentences, and whether what was so until now is over by what they say.

`endings.jsonl` has what users said, and which of it each of some later sentences ends; `alike.jsonl` the same of later
sentences that are like an earlier one but for a value, and stand beside it or take its place; `weeks.jsonl` the same of
weeks of chat, in which one sentence of seven ends something; `near_misses.jsonl` the same of later sentences on the
topic of an earlier one, of which one of four ends it. To these `over` is fitted too, and how surely one statement ends
another, given all that is known and, so that it does not depend on how much is known, given a part of it.

`own` is fitted to the sentences of `tests/data/sentences*.jsonl` that fill a slot of the speaker's, and to
`frames.json`: statements in frames in which they are the speaker's, or somebody else's, supposed, quoted or asked.

The weights are rounded, so that every run on any machine writes the same bytes. It prints how many of the sentences
each head tells right, and how many of those that it was not fitted to, in five parts of whole turns.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from projections.embedding.embedder import unit_vectors
from projections.embedding.heads import ANSWER_HEADS, FILE, HEADS, SCALE, ending_inputs, over_inputs
from projections.embedding.use.encoder import loaded
from streams.extraction.own_words.cues import words_of
from streams.extraction.own_words.endings import measured
from streams.extraction.own_words.splitting import parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data"
RIDGE: Final = 1.0
STEPS: Final = 8
BATCH: Final = 64
PARTS: Final = 5
LASTING: Final = ("lasting", "experience")
DRAWS: Final = {"endings": 1, "alike": 1, "weeks": 5, "near_misses": 5}
"""The files of endings, and how often a part of what is known is drawn for each of their later sentences.

In talk fewer sentences end something than in the first two, so the others, which are more like it, count three times.
"""


def labelled() -> list[tuple[str, list[dict[str, Any]]]]:
    """Return each labelled sentence with its facts."""
    lines = [line for file in sorted(DATA.glob("sentences*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in lines]
    return [(row["text"], row["facts"] if "facts" in row else row["expect"]) for row in rows]


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of labels."""
    return [json.loads(line) for line in (DATA / "heads" / f"{name}.jsonl").read_text("utf-8").splitlines()]


def turns() -> list[dict[str, Any]]:
    """Return the turns of all languages."""
    return [*rows_of("turns_en"), *rows_of("turns_zh")]


def of_kinds() -> list[tuple[str, str, bool | None]]:
    """Return sentences with their kind, and whether they stand alone; those of one turn behind each other."""
    kinds = [(row["text"], row["kind"], None) for row in rows_of("kinds")]
    of_turns = (one for row in turns() for one in row["sentences"])
    return [*kinds, *((one["text"], one["kind"], one["alone"]) for one in of_turns)]


def answers() -> list[tuple[str, str, str]]:
    """Return questions with the first sentence behind each, and its kind."""
    asked = ((row["question"], row["sentences"][0]) for row in turns() if "question" in row)
    return [(question, first["text"], first["kind"]) for question, first in asked]


def users_with_endings() -> list[dict[str, Any]]:
    """Return what users said, what each of some later sentences ends, and how often parts of the former are drawn."""
    return [row | {"draws": draws} for name, draws in DRAWS.items() for row in rows_of(name)]


def later_sentences() -> tuple[list[str], list[bool], NDArray[np.intp]]:
    """Return what users said later, whether it ends anything, and in which part of the users each is."""
    users = users_with_endings()
    later = [(one["text"], bool(one["ends"]), n % PARTS) for n, user in enumerate(users) for one in user["new"]]
    texts, ends, parts = zip(*later, strict=True)
    return list(texts), list(ends), np.array(parts)


def of_endings(heads: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the inputs of each later sentence with the known ones nearest to it, and whether it ends each.

    `heads` are those of `over` by the part of the users whom each was not fitted to: of what it was fitted to a head is
    surer than it will be of anything else.
    """
    chance = random.Random(6)  # noqa: S311 - the same parts in every run
    users = users_with_endings()
    texts = {part for user in users for later in user["new"] for part in parts_of(later["text"])}
    texts |= {one["text"] for user in users for one in user["known"]}
    known_texts = sorted(texts)
    at = {text: place for place, text in enumerate(known_texts)}
    all_vectors = vectors_of(known_texts)
    inputs, wanted = [], []
    for number, user in enumerate(users):
        over = heads[number % PARTS]
        known = all_vectors[[at[one["text"]] for one in user["known"]]]
        words_known = [words_of(one["text"]) for one in user["known"]]
        everything = list(range(len(known)))
        for later in user["new"]:
            parts = parts_of(later["text"])
            vectors = all_vectors[[at[part] for part in parts]]
            scores = 1 / (1 + np.exp(-(over_inputs(parts, vectors) @ over[:-1] + over[-1])))
            ends = np.array([one["id"] in later["ends"] for one in user["known"]])
            drawn = (sorted(chance.sample(everything, chance.randint(1, len(known)))) for _ in range(user["draws"]))
            for some in (everything, *drawn):
                words = [words_known[n] for n in some]
                found, nearest = measured(later["text"], vectors, scores, known[some], words)
                inputs.append(ending_inputs(found, known[some][nearest]))
                wanted.append(ends[some][nearest])
    return np.concatenate(inputs).astype(np.float64), np.concatenate(wanted)


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


def told_right(weights: NDArray[np.float64], vectors: NDArray[np.float64], wanted: NDArray[np.bool_]) -> float:
    """Return the share of vectors that a head tells right."""
    return float(((vectors @ weights[:-1] + weights[-1] > 0) == wanted).mean())


def main() -> None:
    """Fit the heads, write them, and print how well they know their sentences and others."""
    rows = labelled()
    vectors = vectors_of([text for text, _ in rows])
    fills = np.array([any(fact.get("attribute") or any(fact.get("slots") or ()) for fact in f) for _, f in rows])
    plain = fills | np.array([not facts for _, facts in rows])
    kinds = of_kinds()
    of_kind = vectors_of([text for text, _, _ in kinds])
    lasts = np.array([kind in LASTING for _, kind, _ in kinds])
    says = np.array([kind != "nothing" for _, kind, _ in kinds])
    alone = np.array([bool(is_alone) for _, _, is_alone in kinds])
    of_turns = says & np.array([is_alone is not None for _, _, is_alone in kinds])
    frames = framed()
    own = np.concatenate([np.array([is_own for _, is_own in frames]), fills[plain]])
    said = answers()
    to_questions = np.hstack([vectors_of([text for _, text, _ in said]), vectors_of([asked for asked, _, _ in said])])
    later, ends, part_of_later = later_sentences()
    changes = rows_of("changes")
    of_over = [*(row["text"] for row in changes), *later]
    to_over = over_inputs(of_over, vectors_of(of_over)).astype(np.float64)
    is_over = np.array([*(row["ends"] for row in changes), *ends])
    part_of_over = np.concatenate([np.full(len(changes), PARTS), part_of_later])
    sets = {
        "lasting": (of_kind, lasts),
        "kept": (of_kind, says),
        "own": (np.concatenate([vectors_of([text for text, _ in frames]), vectors[plain]]), own),
        "alone": (of_kind[of_turns], alone[of_turns]),
        "lasting of answers": (to_questions, np.array([kind in LASTING for _, _, kind in said])),
        "kept of answers": (to_questions, np.array([kind != "nothing" for _, _, kind in said])),
    }
    found = []
    for name in (*HEADS, *(f"{head} of answers" for head in ANSWER_HEADS)):
        inputs, wanted = sets[name]
        weights = np.round(fitted(inputs, wanted.astype(np.float64)) * SCALE)
        part = np.arange(len(wanted)) * PARTS // len(wanted)
        others = [
            told_right(
                fitted(inputs[part != n], wanted[part != n].astype(np.float64)), inputs[part == n], wanted[part == n]
            )
            for n in range(PARTS)
        ]
        known = told_right(weights, inputs, wanted)
        print(f"{name}: {len(wanted)} sentences, {known:.3f} told right; of others {np.mean(others):.3f}")
        found.append(weights.astype("<i2"))
    weights = np.round(fitted(to_over, is_over.astype(np.float64)) * SCALE)
    found.append(weights.astype("<i2"))
    heads = [fitted(to_over[part_of_over != n], is_over[part_of_over != n].astype(np.float64)) for n in range(PARTS)]
    others = [told_right(heads[n], to_over[part_of_over == n], is_over[part_of_over == n]) for n in range(PARTS)]
    known = told_right(weights, to_over, is_over)
    print(f"over: {len(is_over)} sentences, {known:.3f} told right; of others {np.mean(others):.3f}")
    inputs, wanted = of_endings(heads)
    weights = np.round(fitted(inputs, wanted.astype(np.float64)) * SCALE)
    print(f"endings: {len(wanted)} pairs, {told_right(weights, inputs, wanted):.3f} told right")
    found.append(weights.astype("<i2"))
    FILE.write_bytes(np.concatenate(found).tobytes())


if __name__ == "__main__":
    main()
