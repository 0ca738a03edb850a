"""The built-in encoder's own threshold: which episodes are near enough to a question, by 48 labelled pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import pytest_asyncio

from projections.embedding.builtin import RELEVANT, BuiltinEmbedder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PAIRS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "episodes.jsonl").read_text("utf-8").splitlines()
]
SMALL_TALK = {
    "zh": ["你好呀", "给我讲个笑话", "帮我翻译一下这句话", "我有点困了", "推荐一部电影", "现在几点", "怎么做红烧肉"],
    "en": ["hello", "what's the weather like", "tell me a joke", "translate this sentence for me", "I'm tired",
           "recommend me a film", "how do I cook rice"],
}  # fmt: skip
LUNAS = 0.7


async def cosines(embedder: BuiltinEmbedder, questions: list[str], episodes: list[str]) -> np.ndarray:
    """Return the cosine of each question (rows) and each episode (columns)."""
    return (await embedder.embed(questions)) @ (await embedder.embed(episodes)).T


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[BuiltinEmbedder]:
    made = BuiltinEmbedder()
    yield made
    await made.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("language", ["zh", "en"])
async def test_an_episode_is_near_its_question_and_others_are_not(embedder: BuiltinEmbedder, language: str):
    pairs = [pair for pair in PAIRS if pair["lang"] == language]
    episodes = [pair["episode"] for pair in pairs]
    near = await cosines(embedder, [pair["question"] for pair in pairs], episodes)
    idle = await cosines(embedder, SMALL_TALK[language], episodes)
    own, others = np.diag(near), near[~np.eye(len(pairs), dtype=bool)]
    assert len(pairs) == 24
    assert (own >= RELEVANT).sum() >= 22
    assert (others >= RELEVANT).mean() <= 0.02
    assert (idle >= RELEVANT).sum() == 0
    assert (own >= LUNAS).sum() <= 1, "with Luna's number for OpenAI's vectors next to nothing is found"
