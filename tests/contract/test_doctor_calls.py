"""`mnemolog doctor` asks both models one question, and says what came of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from support.mannered_endpoint import mannered_endpoint

from mnemolog.diagnostics.calls import called_embedder, called_model
from mnemolog.diagnostics.checks import checked
from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.settings import Settings


def settings_of(url: str, folder: Path) -> Settings:
    both: dict[str, Any] = {"llm_base_url": url, "embedding_base_url": url, "embedding_model": "e", "llm_model": "m"}
    return from_environment({}, data_dir=folder, extractor="model", **both)


async def test_what_works_is_said_with_what_it_cost(tmp_path: Path):
    with mannered_endpoint() as endpoint:
        checks = {one.name: one for one in await checked(settings_of(endpoint.url, tmp_path), calls=True)}
        assert checks["model"].ok
        assert "one extraction gave 1 memory for 15 tokens" in checks["model"].detail
        assert checks["embedder"].ok
        assert "one embedding has 8 dimensions" in checks["embedder"].detail
        assert len(endpoint.requests) == 2


async def test_without_calls_nothing_is_asked(tmp_path: Path):
    with mannered_endpoint() as endpoint:
        await checked(settings_of(endpoint.url, tmp_path))
        assert not endpoint.requests


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"content": "I would rather talk of bees"}, "not JSON.*it answered: I would rather talk of bees"),
        ({"status": 404, "says": "try pulling it first"}, "answers 404; it answered: try pulling it first"),
        ({"body": "<html>Sign in</html>"}, "does not answer with JSON.*it answered: <html>Sign in"),
        ({"status": 400, "says": "I do not like bees"}, "refused: .* answers 400"),
    ],
)
async def test_what_a_model_answers_that_cannot_be_read_is_shown(tmp_path: Path, rule: dict[str, Any], expected: str):
    with mannered_endpoint() as endpoint:
        endpoint.behave([rule])
        check = await called_model(settings_of(endpoint.url, tmp_path))
    assert not check.ok
    assert re.search(expected, check.detail)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"body": {"data": [{"index": 0}]}}, "an item without one; it answered: {"),
        ({"status": 404, "says": "try pulling it first"}, "answers 404; it answered: try pulling it first"),
        ({"status": 400, "says": "I do not like bees"}, "answers 400; it answered: I do not like bees"),
    ],
)
async def test_what_an_embedder_answers_that_cannot_be_read_is_shown(
    tmp_path: Path, rule: dict[str, Any], expected: str
):
    with mannered_endpoint() as endpoint:
        endpoint.behave([rule])
        check = await called_embedder(settings_of(endpoint.url, tmp_path))
    assert not check.ok
    assert expected in check.detail
