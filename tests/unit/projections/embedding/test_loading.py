"""Before a worker is ready its encoder is loaded, where it computes on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projections.embedding.encoder_process import EncoderProcess
from projections.embedding.languages import LanguageEmbedder
from projections.embedding.local import LocalEmbedder
from projections.embedding.openai import OpenAIEmbedder
from projections.embedding.serving import ServingEmbedder, load

if TYPE_CHECKING:
    from projections.embedding.encoder_process import Request


class Recording(EncoderProcess):
    """A process that answers at once, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def ask(self, request: Request) -> None:
        """Answer with one dimension."""
        self.asked += request.texts
        request.vectors.set_result(np.ones((len(request.texts), 1), np.float32))


async def test_every_encoder_of_this_machine_is_loaded_once_and_no_endpoint_is_asked():
    english, shared = Recording(), Recording()
    endpoint = OpenAIEmbedder(base_url="http://127.0.0.1:9/v1", api_key="none", model="nobody answers")
    local = [LocalEmbedder(name, process) for name, process in (("en", english), ("shared", shared))]
    await load(ServingEmbedder(LanguageEmbedder({"en": local[0], "zh": endpoint}, local[1])))
    assert (len(english.asked), len(shared.asked)) == (1, 1)
    await endpoint.close()
