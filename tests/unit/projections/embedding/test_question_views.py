"""While the embedder is away questions are asked by their words; one at a time finds out whether it is back."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import numpy as np
import pytest

from projections.embedding.embedder import EmbedderFailed, EmbedderRefused, EmbedderUnavailable
from projections.embedding.question_views import QuestionViews
from projections.log_limit import LOG_EVERY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors


class Endpoint:
    """Answers, raises what it is told to, or keeps a question until it is let go."""

    model = "made-up"

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.asked: list[str] = []
        self.keeps = asyncio.Event()
        self.keeps.set()
        self.has_one = asyncio.Event()

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        assert urgent
        self.asked += texts
        self.has_one.set()
        await self.keeps.wait()
        if self.error is not None:
            raise self.error
        return np.ones((len(texts), 1), np.float32)


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


async def test_a_question_has_no_views_while_the_embedder_is_away_and_has_them_when_it_is_back(endpoint: Endpoint):
    views = QuestionViews(endpoint)
    assert len(await views.of("tea")) == 1
    endpoint.error = EmbedderUnavailable("away")
    assert [list(await views.of("tea")), list(await views.of("tea"))] == [[], []]
    endpoint.error = None
    assert len(await views.of("tea")) == 1


async def test_with_an_endpoint_that_never_answers_one_question_waits_and_the_others_do_not(endpoint: Endpoint):
    views = QuestionViews(endpoint)
    endpoint.error = EmbedderUnavailable("no answer in time")
    assert not await views.of("the first")
    endpoint.keeps.clear()
    endpoint.has_one.clear()
    waiting = asyncio.create_task(views.of("the one that waits"))
    await endpoint.has_one.wait()
    assert [list(await views.of(f"other {number}")) for number in range(3)] == [[], [], []]
    assert endpoint.asked == ["the first", "the one that waits"]
    endpoint.error = None
    endpoint.keeps.set()
    assert len(await waiting) == 1
    assert len(await views.of("the next")) == 1


async def test_a_caller_who_gives_up_leaves_the_asking_to_the_next_one(endpoint: Endpoint):
    views = QuestionViews(endpoint)
    endpoint.error = EmbedderUnavailable("away")
    assert not await views.of("the first")
    endpoint.keeps.clear()
    endpoint.has_one.clear()
    waiting = asyncio.create_task(views.of("given up"))
    await endpoint.has_one.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    endpoint.error = None
    endpoint.keeps.set()
    assert len(await views.of("the next")) == 1


async def test_a_text_at_which_the_endpoint_fails_keeps_no_other_question_from_being_asked(endpoint: Endpoint):
    views = QuestionViews(endpoint)
    endpoint.error = EmbedderFailed("500")
    assert not await views.of("hostile")
    endpoint.keeps.clear()
    both = [asyncio.create_task(views.of(text)) for text in ("one", "two")]
    await asyncio.sleep(0)
    assert endpoint.asked == ["hostile", "one", "two"]
    endpoint.error = None
    endpoint.keeps.set()
    assert [len(found) for found in await asyncio.gather(*both)] == [1, 1]


async def test_a_text_that_is_refused_is_refused_and_shows_that_the_embedder_is_there(endpoint: Endpoint):
    views = QuestionViews(endpoint)
    endpoint.error = EmbedderUnavailable("away")
    await views.of("tea")
    endpoint.error = EmbedderRefused("no")
    with pytest.raises(EmbedderRefused):
        await views.of("bad")
    endpoint.keeps.clear()
    both = [asyncio.create_task(views.of(text)) for text in ("one", "two")]
    await asyncio.sleep(0)
    assert endpoint.asked == ["tea", "bad", "one", "two"]
    endpoint.error = None
    endpoint.keeps.set()
    await asyncio.gather(*both)


async def test_it_is_logged_once_a_minute_how_many_questions_had_to_do_without(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
):
    now = [1_000.0]
    views = QuestionViews(endpoint, clock=lambda: now[0])
    endpoint.error = EmbedderUnavailable("the endpoint is away")
    with caplog.at_level(logging.WARNING, "mnemolog"):
        for _ in range(3):
            await views.of("a secret question")
        now[0] += LOG_EVERY_SECONDS
        await views.of("a secret question")
    assert caplog.messages == [
        "a question was answered by words alone: the endpoint is away",
        "a question was answered by words alone: the endpoint is away; so were 2 since this was last said",
    ]
