"""From which cosine on an episode is relevant, by the encoder that serves."""

from __future__ import annotations

import pytest

from mnemolog.settings import from_environment
from mnemolog.worker.components import episode_threshold
from projections.embedding.builtin import RELEVANT, BuiltinEmbedder
from projections.embedding.openai import OpenAIEmbedder

LUNAS = 0.7


async def test_the_built_in_encoder_has_its_own():
    other = OpenAIEmbedder(base_url="http://127.0.0.1:9", api_key="k", model="text-embedding-3-small")
    settings = from_environment({})
    assert episode_threshold(settings, BuiltinEmbedder().model) == RELEVANT
    assert episode_threshold(settings, other.model) == LUNAS


@pytest.mark.parametrize("model", ["builtin", "text-embedding-3-small"])
def test_a_threshold_that_is_set_holds_with_every_encoder(model: str):
    settings = from_environment({"MNEMOLOG_SIMILARITY_THRESHOLD": "0.7"})
    assert episode_threshold(settings, model) == LUNAS
