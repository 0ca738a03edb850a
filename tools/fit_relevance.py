"""Fits the relevance of results to labelled pairs, and writes `projections/queries/relevance.json`.

`tests/data/relevance/talks.jsonl` has what made-up users said, in English and in Chinese, each with a question that it
answers; `nobody.jsonl` has questions about nobody's life. Each question is asked in both languages of its user, who
speaks one of them, of another user, whom it is never about, and those of nobody of all. Users have their own eight
texts and none, a few, or many of the turns of other people in `others.jsonl`, so that the best of many texts is not
taken for a find. Of each question the first five texts take part: what answers it is about it, and nothing else is.

The weights of what speaks for a result are never below 0, so that relevance grows with each. They are rounded, so that
every run writes the same bytes. It prints how well the relevance is told of users who were left out.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from train_heads import vectors_of

from projections.embedding.languages import language_of
from projections.index.embedded.bm25 import Bm25
from projections.queries.relevance import CASES, FEATURES, FILE, Measured, Relevance
from projections.text.analyser import terms, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data"
LANGUAGES: Final = ("en", "zh")
OTHER_TEXTS: Final = (0, 24, 120, 400)
"""How many turns of others a user has besides the own ones."""
FIRST: Final = 5
RIDGE: Final = 1.0
STEPS: Final = 3_000
RATE: Final = 0.5
DIGITS: Final = 3
PARTS: Final = 4
FEW: Final = (100, 0.25)
MANY: Final = (400, 0.1)
"""Texts of a user, and the relevance that the best result has to have: by it one in twenty of nobody's questions finds
anything of the users here, and of long conversations 19 in 20 of what answers stays (docs/quality.md)."""
BESIDE: Final = 0.001
"""The relevance that others have to have beside it."""
STRONG: Final = 0.5
"""The relevance of a best result that is as likely about the question as not."""
SPEAKS_AGAINST: Final = ("texts",)
NOBODY_WEIGHT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """The first results of one question to one user."""

    part: int
    """Whose question it is: those of one part are left out together."""
    measured: Measured
    answers: NDArray[np.bool_]
    """Which of them is about it."""
    weight: float
    is_own: bool


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of labelled data."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


class Encoded:
    """Vectors of texts, each made once."""

    def __init__(self, texts: list[str]) -> None:
        different = list(dict.fromkeys(texts))
        self._rows = dict(zip(different, vectors_of(different).astype(np.float32), strict=True))

    def of(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, a row each."""
        return np.stack([self._rows[text] for text in texts])


class Life:
    """What one user said, and questions held against it."""

    def __init__(self, texts: list[str], language: str, encoded: Encoded) -> None:
        self.texts, self._language, self._encoded = texts, language, encoded
        self._vectors = encoded.of(texts)
        self._words = Bm25()
        for text in texts:
            self._words.add(tokens(text))

    def ask(self, question: str, language: str, answer: str | None) -> tuple[Measured, NDArray[np.bool_]]:
        """Return what tells the relevance of the first results, and which of them is the answer."""
        cosines = (self._vectors @ self._encoded.of([question])[0]).astype(np.float64)
        words = terms(question)
        shares, scores = self._words.shares(words).astype(np.float64), self._words.scores(words).astype(np.float64)
        order = cosines / max(cosines.max(), 0.01) + scores / max(scores.max(), 0.01)
        first = np.argsort(-order, kind="stable")[:FIRST]
        is_between = np.full(len(first), language != self._language)
        best = float(cosines.max()), float(shares.max())
        found = Measured(cosines[first], shares[first], is_between, *best, len(self.texts))
        return found, np.array([self.texts[row] == answer for row in first.tolist()])


def asked() -> list[Asked]:
    """Return each question, asked of each user."""
    talks, nobody = read("relevance/talks.jsonl"), read("relevance/nobody.jsonl")
    turns = [row["turn"] for row in read("relevance/others.jsonl")]
    others = {language: [turn for turn in turns if language_of(turn) == language] for language in LANGUAGES}
    fields = [row[name] for row in talks for name in ("en", "zh", "ask_en", "ask_zh")]
    encoded = Encoded([*fields, *turns, *(row[name] for row in nobody for name in LANGUAGES)])
    users = list(dict.fromkeys(row["user"] for row in talks))
    chance = random.Random(7)  # noqa: S311 - the same turns in every run
    found = []
    for number, user in enumerate(users):
        own = [row for row in talks if row["user"] == user]
        strangers = [row for row in talks if row["user"] != user]
        for spoken in LANGUAGES:
            for count in OTHER_TEXTS:
                more = chance.sample(others[spoken], min(count, len(others[spoken])))
                life = Life([row[spoken] for row in own] + more, spoken, encoded)
                for language in LANGUAGES:
                    for row in own:
                        result = life.ask(row[f"ask_{language}"], language, row[spoken])
                        found.append(Asked(number % PARTS, *result, 1.0, is_own=True))
                    for row in chance.sample(strangers, len(own)):
                        result = life.ask(row[f"ask_{language}"], language, None)
                        found.append(Asked(number % PARTS, *result, 1.0, is_own=False))
                    for row in chance.sample(nobody, len(own)):
                        result = life.ask(row[language], language, None)
                        found.append(Asked(number % PARTS, *result, NOBODY_WEIGHT, is_own=False))
    return found


def inputs(some: list[Asked], case: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the features of results that one model tells of, whether each answers, and its weight."""
    features = np.concatenate([one.measured.features() for one in some])
    cases = np.concatenate([one.measured.cases() for one in some])
    answers = np.concatenate([one.answers for one in some]).astype(np.float64)
    weights = np.concatenate([np.full(len(one.answers), one.weight) for one in some])
    if case == "words":  # as if no meaning were known
        rows = cases == CASES.index("within")
        features[:, [FEATURES.index("cosine"), FEATURES.index("best_cosine")]] = 0.0
    else:
        rows = cases == CASES.index(case)
    return features[rows], answers[rows], weights[rows]


def fitted(
    features: NDArray[np.float64], wanted: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return weights and bias of a logistic regression: what speaks for a result never has a weight below 0."""
    scale = np.maximum(features.std(axis=0), 1e-9)
    table = np.hstack([features / scale, np.ones((len(features), 1))])
    least = np.array([-np.inf if name in SPEAKS_AGAINST else 0.0 for name in FEATURES] + [-np.inf])
    found, moved = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    ridge = np.array([RIDGE] * len(FEATURES) + [0.0])
    total = weights.sum()
    for step in range(STEPS):  # projected gradients, with momentum
        ahead = found + step / (step + 3) * moved
        slope = (table.T @ (weights * (1 / (1 + np.exp(-table @ ahead)) - wanted)) + ridge * ahead) / total
        before, found = found, np.maximum(ahead - RATE * slope, least)
        moved = found - before
    return np.append(found[:-1] / scale, found[-1])


def model(some: list[Asked]) -> dict[str, list[float]]:
    """Return the weights of each case, rounded."""
    return {case: [round(float(one), DIGITS) for one in fitted(*inputs(some, case))] for case in CASES}


def body(weights: dict[str, list[float]]) -> dict[str, Any]:
    """Return what the file says, but for its version."""
    return {"few": FEW, "many": MANY, "beside": BESIDE, "strong": STRONG, "features": FEATURES, "weights": weights}


def told(own: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return how often a user's own question has the greater relevance than another's (AUROC)."""
    greater = (own[:, None] > others[None]).mean() + 0.5 * (own[:, None] == others[None]).mean()
    return float(greater)


def main() -> None:
    """Fit, write, and print how well it tells about users who were left out."""
    found = asked()
    best, values, answers = dict[str, list[float]](own=[], other=[], nobody=[]), [], []
    for part in range(PARTS):
        without = body(model([one for one in found if one.part != part]))
        relevance = Relevance(json.dumps({"version": ""} | without).encode())
        for one in (one for one in found if one.part == part):
            scores = relevance.of(one.measured)
            best["own" if one.is_own else "nobody" if one.weight < 1 else "other"].append(float(scores.max()))
            values += scores.tolist()
            answers += one.answers.tolist()
    fitted_to_all = body(model(found))
    version = hashlib.blake2b(json.dumps(fitted_to_all).encode(), digest_size=4).hexdigest()
    FILE.write_text(json.dumps({"version": version} | fitted_to_all, indent=1) + "\n", "utf-8")
    own, other, nobody = (np.array(best[name]) for name in ("own", "other", "nobody"))
    print(f"of users who were left out: AUROC {told(own, other):.3f}, with nobody's questions {told(own, nobody):.3f}")
    for line in (MANY[1], FEW[1], STRONG):
        shares = ", ".join(f"{(one >= line).mean():.3f}" for one in (own, other, nobody))
        print(f"of own, another's and nobody's questions have a result of {line} or more: {shares}")
    said, about = np.array(values), np.array(answers)
    for low in np.linspace(0, 0.9, 10).tolist():
        if (rows := (said >= low) & (said < low + 0.1)).any():
            print(f"{low:.1f}-{low + 0.1:.1f}: {rows.sum()} results, {about[rows].mean():.2f} about the question")


if __name__ == "__main__":
    main()
