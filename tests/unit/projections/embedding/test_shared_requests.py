"""Callers that come together share a request, and nothing else: neither a refusal nor an end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

from projections.embedding.embedder import EmbedderFailed, EmbedderRefused, EmbedderUnavailable
from projections.embedding.shared_requests import MOST_CALLERS, SharedRequests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors


class Endpoint:
    """Answers the length of each text; refuses a bad one, fails at a hostile one, and is down at times."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.is_down = False

    async def ask(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        await asyncio.sleep(0.01)
        if self.is_down:
            raise EmbedderUnavailable("down")
        if "bad" in texts:
            raise EmbedderRefused("refused")
        if "hostile" in texts:
            raise EmbedderFailed("500")
        return np.array([[len(text)] for text in texts], np.float32)


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def shared(endpoint: Endpoint) -> SharedRequests:
    return SharedRequests(endpoint.ask)


def lengths(vectors: Vectors) -> list[int]:
    return [int(row[0]) for row in vectors]


async def test_callers_of_one_moment_share_a_request_and_each_gets_its_own(endpoint: Endpoint, shared: SharedRequests):
    answers = await asyncio.gather(*(shared.ask(texts) for texts in (["a"], ["bb", "ccc"], ["dddd"])))
    assert [lengths(one) for one in answers] == [[1], [2, 3], [4]]
    assert endpoint.asked == [["a", "bb", "ccc", "dddd"]]


async def test_a_caller_who_comes_later_does_not_wait_for_the_answer_to_others(
    endpoint: Endpoint, shared: SharedRequests
):
    first = asyncio.ensure_future(shared.ask(["a"]))
    while not endpoint.asked:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    assert lengths(await shared.ask(["bb"])) == [2]
    await first
    assert endpoint.asked == [["a"], ["bb"]]


async def test_so_many_callers_share_a_request_that_it_does_not_become_too_large(
    endpoint: Endpoint, shared: SharedRequests
):
    await asyncio.gather(*(shared.ask([str(n)]) for n in range(2 * MOST_CALLERS + 1)))
    assert [len(texts) for texts in endpoint.asked] == [MOST_CALLERS, MOST_CALLERS, 1]


@pytest.mark.parametrize(("text", "kind"), [("bad", EmbedderRefused), ("hostile", EmbedderFailed)])
async def test_a_text_that_the_endpoint_refuses_or_fails_at_is_that_of_its_own_caller_only(
    shared: SharedRequests, text: str, kind: type[Exception]
):
    good, bad, also_good = await asyncio.gather(
        shared.ask(["a"]), shared.ask([text]), shared.ask(["bb"]), return_exceptions=True
    )
    assert isinstance(bad, kind)
    assert not isinstance(good, BaseException)
    assert not isinstance(also_good, BaseException)
    assert (lengths(good), lengths(also_good)) == ([1], [2])


async def test_each_caller_is_told_that_the_endpoint_is_down_by_an_error_of_its_own(
    endpoint: Endpoint, shared: SharedRequests
):
    endpoint.is_down = True
    errors = await asyncio.gather(*(shared.ask([str(n)]) for n in range(3)), return_exceptions=True)
    assert [type(error) for error in errors] == [EmbedderUnavailable] * 3
    assert len(set(map(id, errors))) == 3
    assert len(endpoint.asked) == 1


async def test_a_caller_who_gives_up_takes_nobody_along(endpoint: Endpoint, shared: SharedRequests):
    asked = [asyncio.ensure_future(shared.ask([word])) for word in ("a", "bb", "ccc")]
    await asyncio.sleep(0.001)
    asked[0].cancel()
    assert [lengths(await one) for one in asked[1:]] == [[2], [3]]
    assert len(endpoint.asked) == 1


async def test_who_gave_up_before_the_request_is_not_asked_for(endpoint: Endpoint, shared: SharedRequests):
    asked = [asyncio.ensure_future(shared.ask([word])) for word in ("a", "bb")]
    asyncio.get_running_loop().call_soon(asked[0].cancel)
    assert lengths(await asked[1]) == [2]
    assert endpoint.asked == [["bb"]]
