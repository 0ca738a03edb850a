"""From which cosine on an episode is relevant, by the encoder that serves."""

from __future__ import annotations

import pytest

from mnemolog.settings import from_environment
from mnemolog.worker.components import episode_threshold
from projections.embedding.builtin import RELEVANT, BuiltinEmbedder
from projections.embedding.languages import LanguageEmbedder
from projections.embedding.openai import OpenAIEmbedder

LUNAS = 0.7


async def test_the_built_in_encoder_has_its_own_also_beside_those_of_a_language():
    builtin = BuiltinEmbedder()
    english = OpenAIEmbedder(base_url="http://127.0.0.1:9", api_key="k", model="text-embedding-3-small")
    both = LanguageEmbedder({"en": english}, builtin)
    settings = from_environment({})
    try:
        assert [episode_threshold(settings, one.model) for one in (builtin, both)] == [RELEVANT, RELEVANT]
        assert episode_threshold(settings, english.model) == LUNAS
    finally:
        await both.close()


@pytest.mark.parametrize("model", ["builtin", "en=onnx:a,builtin", "text-embedding-3-small"])
def test_a_threshold_that_is_set_holds_with_every_encoder(model: str):
    settings = from_environment({"MNEMOLOG_SIMILARITY_THRESHOLD": "0.7"})
    assert episode_threshold(settings, model) == LUNAS
