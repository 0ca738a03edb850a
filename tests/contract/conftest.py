"""A scripted model, an extractor that asks it, and patience with a machine that decides late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.scripted_model import ScriptedModel

from mnemolog.commands import commands
from streams.extraction.model.extractor import ModelExtractor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Wait long for a decision: on a busy machine a command would be answered with 202 before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "DECISION_SECONDS", 60.0)
        yield


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def outcomes() -> list[str]:
    return []


@pytest.fixture
async def extractor(model: ScriptedModel, outcomes: list[str]) -> AsyncIterator[ModelExtractor]:
    made = ModelExtractor(
        model.base_url,
        "key",
        "scripted",
        temperature=0.2,
        max_tokens=2048,
        timeout_seconds=5,
        observe=outcomes.append,
    )
    yield made
    await made.aclose()
