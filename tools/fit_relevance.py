"""Fits the relevance of results to labelled pairs, and writes `projections/queries/relevance.json`.

`tests/data/relevance/talks.jsonl` and `asked.jsonl` have the texts of made-up users, in English and in Chinese, with
questions. Those of `asked.jsonl` name their answers; there is none where they ask about another person, or about
another thing of the same person. `nobody.jsonl` has questions about nobody's life. Each question is asked in both
languages. It is asked of its own user, who speaks one of them, and of another user, for whom it has no answer; the
questions about nobody are asked of all users. A user has the own texts, and none, a few or many turns of other people
from `others.jsonl`. The first five texts found for a question take part: its answers are relevant, all others are not.
`asked_judged.jsonl` and `nobody_judged.jsonl` are never fitted to: the tool prints the quality of the relevance on
them.

First each direction of the built-in encoder's vectors gets a weight for the similarity of two texts. Then the features
get weights. Those of features that speak for a result are never below 0, so that relevance grows with each of them. For
each user they are fitted to directions that were fitted without that user. All are rounded, so that every run writes
the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from train_heads import vectors_of

from projections.index.embedded.bm25 import Bm25
from projections.profile.persons_asked import persons_asked
from projections.queries.relevance import CASES, DIRECTION_SCALE, FEATURES, FILE, SPEAKS_FOR, Measured, Relevance
from projections.text.analyser import terms, tokens
from projections.text.measure import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Table = NDArray[np.float64]

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data"
LANGUAGES: Final = ("en", "zh")
OTHER_TEXTS: Final = (0, 24, 120, 400)
"""How many turns of others a user has besides the own texts."""
DIRECTIONS_BY: Final = 120
"""The directions are fitted to users with this many turns of others: there, texts are found that only look similar."""
FIRST: Final = 5
RIDGE: Final = 1.0
DIRECTION_RIDGE: Final = 30.0
DIRECTION_STEPS: Final = 6
STRANGERS: Final = 8
STEPS: Final = 3_000
RATE: Final = 0.5
DIGITS: Final = 3
PARTS: Final = 4
FEW: Final = (30, 0.2)
MANY: Final = (400, 0.05)
"""FEW and MANY: a number of a user's texts, and the least relevance of the best result there. With it, one in twenty of
the questions about nobody finds anything, and in long talks 19 in 20 answers stay (docs/evidence/quality.md)."""
BESIDE: Final = 0.02
"""The least relevance of the results after the best: of those with less, one in fifty is about the question."""
STRONG: Final = 0.5
"""The relevance of a best result that is as likely as not about the question."""
NOBODY_WEIGHT: Final = 0.5
NOT_FITTED: Final = -1
PLAIN_SCALE: Final = 6.0
KINDS: Final = ("own", "near", "other", "nobody")


@dataclass(frozen=True, slots=True)
class Asked:
    """The first results of one question to one user."""

    part: int
    """The part that its user belongs to, which is left out as a whole; NOT_FITTED if it is only judged."""
    measured: Measured
    """The features, with plain cosines."""
    alike: NDArray[np.float32]
    """The product of question and result in each direction, shape (results, dimensions)."""
    answers: NDArray[np.bool_]
    """Whether each result is an answer."""
    kind: str
    """own: it has an answer; near: it has none; other: it is another user's; nobody: it is about nobody."""
    others: int

    @property
    def weight(self) -> float:
        """The weight of its results in the fit."""
        return NOBODY_WEIGHT if self.kind == "nobody" else 1.0

    def asked_by(self, directions: NDArray[np.float64]) -> Measured:
        """Return its features, with the similarity by weighted directions."""
        return replace(self.measured, near=self.alike @ directions, is_plain=False)


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of labelled data."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


class Encoded:
    """Vectors of texts, each made once."""

    def __init__(self, texts: Iterable[str]) -> None:
        different = list(dict.fromkeys(texts))
        self._rows = dict(zip(different, vectors_of(different).astype(np.float32), strict=True))

    def of(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, a row each."""
        return np.stack([self._rows[text] for text in texts])


class Life:
    """The texts of one user, of which questions are asked."""

    def __init__(self, texts: list[str], language: str, encoded: Encoded) -> None:
        self.texts, self._language, self._encoded = texts, language, encoded
        self._vectors = encoded.of(texts)
        self._words = Bm25()
        self._tokens: list[set[str]] = []
        for found in map(tokens, texts):
            self._words.add(found)
            self._tokens.append(set(found))

    def ask(self, question: str, language: str) -> tuple[Measured, NDArray[np.float32], list[int]]:
        """Return the features of the first results, their products with the question, and their places."""
        vector = self._encoded.of([question])[0]
        cosines = (self._vectors @ vector).astype(np.float64)
        words = terms(question)
        shares, scores = self._shares(words), self._words.scores(words).astype(np.float64)
        order = cosines / max(cosines.max(), 0.01) + scores / max(scores.max(), 0.01)
        first = np.argsort(-order, kind="stable")[:FIRST]
        persons = persons_asked(question)
        missed = np.array([persons.misses(self.texts[row]) for row in first.tolist()], np.float64)
        found = Measured(
            cosines[first],
            shares[first],
            np.full(len(first), language != self._language),
            missed,
            len(self.texts),
            is_unnamed=persons.is_unnamed,
            is_plain=True,
        )
        return found, self._vectors[first] * vector, first.tolist()

    def _shares(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the share of the words' weight that each text contains, 0 to 1."""
        weights = {word: self._words.weight(word) for word in dict.fromkeys(words)}
        held = [sum(weight for word, weight in weights.items() if word in text) for text in self._tokens]
        return np.array(held) / (sum(weights.values()) or 1.0)


@dataclass(frozen=True, slots=True)
class User:
    """A made-up user."""

    said: list[dict[str, str]]
    asked: list[dict[str, Any]]
    part: int


def users() -> list[User]:
    """Return all users; those that are only judged come last."""
    talks = read("relevance/talks.jsonl")
    found = []
    for name in dict.fromkeys(row["user"] for row in talks):
        own = [row for row in talks if row["user"] == name]
        questions = [{"en": row["ask_en"], "zh": row["ask_zh"], "answers": [n]} for n, row in enumerate(own)]
        found.append(([{"en": row["en"], "zh": row["zh"]} for row in own], questions))
    found += [(row["said"], row["asked"]) for row in read("relevance/asked.jsonl")]
    judged = [User(row["said"], row["asked"], NOT_FITTED) for row in read("relevance/asked_judged.jsonl")]
    return [User(*one, number % PARTS) for number, one in enumerate(found)] + judged


def asked() -> list[Asked]:
    """Return the questions with their first results, as the module's docstring describes."""
    everybody = users()
    nobody, unseen = read("relevance/nobody.jsonl"), [row["ask"] for row in read("relevance/nobody_judged.jsonl")]
    turns = [row["turn"] for row in read("relevance/others.jsonl")]
    others = {language: [turn for turn in turns if language_of(turn) == language] for language in LANGUAGES}
    own = [one[language] for user in everybody for one in user.said + user.asked for language in LANGUAGES]
    encoded = Encoded([*own, *turns, *unseen, *(row[name] for row in nobody for name in LANGUAGES)])
    chance = random.Random(7)  # noqa: S311 - the same turns in every run
    found = []
    for user in everybody:
        is_judged = user.part == NOT_FITTED
        strangers = [
            one
            for other in everybody
            for one in other.asked
            if other is not user and one["answers"] and (other.part == NOT_FITTED) == is_judged
        ]
        for spoken in LANGUAGES:
            for count in OTHER_TEXTS:
                more = chance.sample(others[spoken], min(count, len(others[spoken])))
                life = Life([one[spoken] for one in user.said] + more, spoken, encoded)
                for language in LANGUAGES:
                    of_nobody = [t for t in unseen if (language_of(t) or "en") == language]
                    of_nobody = of_nobody if is_judged else [row[language] for row in nobody]
                    questions = [
                        *((one[language], one["answers"], "own" if one["answers"] else "near") for one in user.asked),
                        *((one[language], [], "other") for one in chance.sample(strangers, STRANGERS)),
                        *((text, [], "nobody") for text in chance.sample(of_nobody, STRANGERS)),
                    ]
                    for question, answers, kind in questions:
                        measured, alike, rows = life.ask(question, language)
                        is_answer = np.array([row in answers for row in rows])
                        found.append(Asked(user.part, measured, alike, is_answer, kind, count))
    return found


def directions_of(some: list[Asked]) -> NDArray[np.float64]:
    """Return a weight for each direction, by logistic regression; where the data tell nothing, all are equal."""
    some = [one for one in some if one.others == DIRECTIONS_BY]
    alike = np.concatenate([one.alike for one in some])
    plain = np.concatenate([one.measured.near for one in some])
    between = np.concatenate([one.measured.is_between for one in some])
    rest = np.concatenate([one.measured.features()[:, 1:] for one in some])
    answers = np.concatenate([one.answers for one in some]).astype(np.float64)
    weights = np.concatenate([np.full(len(one.answers), one.weight) for one in some])
    count = alike.shape[1]
    scale = np.sqrt(count)
    rest = np.column_stack([rest, between, between * rest[:, 0]])
    table = np.hstack([alike * scale, PLAIN_SCALE * plain[:, None], rest, np.ones((len(rest), 1))]).astype(np.float32)
    ridge = np.concatenate([np.full(count, DIRECTION_RIDGE), [0.1], np.full(rest.shape[1], RIDGE), [1e-6]])
    found = np.zeros(table.shape[1])
    for _ in range(DIRECTION_STEPS):
        told = 1 / (1 + np.exp(-(table @ found)))
        bend = (table * (weights * told * (1 - told))[:, None].astype(np.float32)).T @ table
        found -= np.linalg.solve(bend + np.diag(ridge), table.T @ (weights * (told - answers)) + ridge * found)
    directions: NDArray[np.float64] = found[:count] * scale + found[count] * PLAIN_SCALE
    rounded: NDArray[np.float64] = np.round(directions / directions.mean() * DIRECTION_SCALE) / DIRECTION_SCALE
    return rounded


def inputs(some: list[tuple[Measured, Asked]], case: str) -> tuple[Table, Table, Table]:
    """Return the features of the results that a case covers, whether each is an answer, and its weight."""
    features = np.concatenate([measured.features() for measured, _ in some])
    is_between = np.concatenate([measured.is_between for measured, _ in some])
    answers = np.concatenate([one.answers for _, one in some]).astype(np.float64)
    weights = np.concatenate([np.full(len(one.answers), one.weight) for _, one in some])
    if case == "words":  # as without vectors
        features[:, FEATURES.index("near")] = 0.0
    rows = is_between == case.endswith("between")
    return features[rows], answers[rows], weights[rows]


def fitted(features: Table, wanted: Table, weights: Table) -> Table:
    """Return weights and bias of a logistic regression; features that speak for a result get no weight below 0."""
    scale = np.maximum(features.std(axis=0), 1e-9)
    table = np.hstack([features / scale, np.ones((len(features), 1))])
    least = np.array([0.0 if name in SPEAKS_FOR else -np.inf for name in FEATURES] + [-np.inf])
    found, moved = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    ridge = np.array([RIDGE] * len(FEATURES) + [0.0])
    total = weights.sum()
    for step in range(STEPS):  # projected gradients, with momentum
        ahead = found + step / (step + 3) * moved
        slope = (table.T @ (weights * (1 / (1 + np.exp(-table @ ahead)) - wanted)) + ridge * ahead) / total
        before, found = found, np.maximum(ahead - RATE * slope, least)
        moved = found - before
    return np.append(found[:-1] / scale, found[-1])


def crossed(some: list[Asked]) -> list[tuple[Measured, Asked]]:
    """Return the features of each question by directions that were fitted without its part."""
    without = {part: directions_of([one for one in some if one.part != part]) for part in {one.part for one in some}}
    return [(one.asked_by(without[one.part]), one) for one in some]


def model(by_directions: list[tuple[Measured, Asked]]) -> dict[str, list[float]]:
    """Return the weights of each case, rounded."""
    plain = [(one.measured, one) for _, one in by_directions]
    return {
        case: [round(float(one), DIGITS) for one in fitted(*inputs(plain if "plain" in case else by_directions, case))]
        for case in CASES
    }


def body(weights: dict[str, list[float]], directions: NDArray[np.float64]) -> dict[str, Any]:
    """Return the content of the file without its version."""
    whole = np.round(directions * DIRECTION_SCALE).astype(int).tolist()
    lines = {"few": FEW, "many": MANY, "beside": BESIDE, "strong": STRONG}
    return {**lines, "features": FEATURES, "weights": weights, "directions": whole}


def told(own: Table, others: Table) -> float:
    """Return how often a value of the first table is greater than one of the second (AUROC)."""
    ranks = np.unique(np.concatenate([own, others]), return_inverse=True)[1]
    counts = np.bincount(ranks)
    middle = np.cumsum(counts) - (counts - 1) / 2
    return float((middle[ranks[: len(own)]].sum() - len(own) * (len(own) + 1) / 2) / (len(own) * len(others)))


def show(name: str, judged: list[tuple[Measured, Asked]], relevance: Relevance) -> None:
    """Print how well a relevance separates questions and results."""
    for is_between in (False, True):
        some = [(m, one) for m, one in judged if m.is_between[0] == is_between]
        values = [relevance.of(m) for m, _ in some]
        best = {k: np.array([v.max() for v, (_, o) in zip(values, some, strict=True) if o.kind == k]) for k in KINDS}
        said, about = np.concatenate(values), np.concatenate([one.answers for _, one in some])
        apart = ", ".join(f"{kind} {told(best['own'], best[kind]):.3f}" for kind in KINDS[1:])
        print(
            f"{name}, {'between' if is_between else 'within'}: results {told(said[about], said[~about]):.3f}, {apart}"
        )
        lines = [relevance.line(v, m.texts) for v, (m, _) in zip(values, some, strict=True)]
        kept = [v >= line for v, line in zip(values, lines, strict=True)]
        answers = [one.answers for _, one in some]
        stays = sum((k & a).sum() for k, a in zip(kept, answers, strict=True)) / about.sum()
        shown = {
            kind: np.mean([k.sum() for k, (_, o) in zip(kept, some, strict=True) if o.kind == kind]) for kind in KINDS
        }
        found = {
            kind: np.mean([k.any() for k, (_, o) in zip(kept, some, strict=True) if o.kind == kind]) for kind in KINDS
        }
        print(f"  answers that stay {stays:.3f}; lines", {k: round(float(v), 2) for k, v in shown.items()})
        print("  anything found", {k: round(float(v), 3) for k, v in found.items()})
        fifths = np.minimum((5 * said).astype(int), 4)
        for fifth in np.unique(fifths).tolist():
            rows = fifths == fifth
            print(f"  from {fifth / 5}: {rows.sum()} results, {about[rows].mean():.2f} about the question")


def main() -> None:
    """Fit and write the relevance, and print its quality on users who were left out, and on those only judged."""
    found = asked()
    to_fit, to_judge = ([one for one in found if (one.part == NOT_FITTED) == judged] for judged in (False, True))
    by_directions, directions = crossed(to_fit), directions_of(to_fit)
    values = body(model(by_directions), directions)
    version = hashlib.blake2b(json.dumps(values).encode(), digest_size=4).hexdigest()
    FILE.write_text(json.dumps({"version": version} | values) + "\n", "utf-8")
    relevance = Relevance(FILE.read_bytes())
    # of users who were left out: only the directions are fitted without them, and the few weights are not
    show("fitted, by others' directions", by_directions, relevance)
    show("judged", [(one.asked_by(directions), one) for one in to_judge], relevance)
    show("judged, plain", [(one.measured, one) for one in to_judge], relevance)


if __name__ == "__main__":
    main()
