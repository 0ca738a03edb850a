"""Before a worker is ready its encoder is loaded, where it computes on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from projections.embedding import encoder_process
from projections.embedding.builtin import BuiltinEmbedder
from projections.embedding.encoder_process import EncoderProcess, start_ahead
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


async def test_an_encoder_of_this_machine_is_loaded_once_and_no_endpoint_is_asked():
    process = Recording()
    endpoint = OpenAIEmbedder(base_url="http://127.0.0.1:9/v1", api_key="none", model="nobody answers")
    await load(ServingEmbedder(LocalEmbedder("local", process)))
    await load(ServingEmbedder(endpoint))
    assert len(process.asked) == 1
    await endpoint.close()


async def test_an_encoder_that_was_started_ahead_is_the_one_that_answers_and_the_next_embedder_gets_another():
    start_ahead()
    start_ahead()
    [ahead] = encoder_process._AHEAD.values()
    first, second = BuiltinEmbedder(), BuiltinEmbedder()
    await load(first)
    await load(second)
    assert first.process.pid == ahead.pid != second.process.pid
    await first.close()
    await second.close()


def test_an_encoder_that_was_started_ahead_and_that_nobody_needed_ends_without_a_word():
    program = "from projections.embedding.encoder_process import _AHEAD, start_ahead; start_ahead();"
    program += "[process] = _AHEAD.values(); print(process.pid)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)  # noqa: S603 - our own text
    assert done.stderr == b""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
