"""A third index, written by the recipe, passes both suites. Settings, doctor and worker know it by its entry alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door
from contract.index_store import IndexStore
from contract.index_suite import IndexSuite
from contract.index_with_shard import IndexWithShard
from contract.shared_index_suite import SharedIndexSuite
from support.notebook_index import NOTEBOOK, NOTEBOOKS

from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.checks import checked
from mnemolog.environment import SettingsError
from mnemolog.settings import from_environment
from projections.index.adapter import IndexConfig
from projections.index.registry import INDEXES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from contract.front_door import FrontDoor

    from projections.index.protocol import IndexEntry

CONFIG = IndexConfig(url="notebook://desk", secret=None, partitions=8)


class NotebookStore(IndexStore):
    """A notebook as the suite has it."""

    async def stop(self) -> None:
        NOTEBOOKS["desk"].is_away = True

    async def start(self) -> None:
        NOTEBOOKS["desk"].is_away = False

    async def wipe(self) -> None:
        NOTEBOOKS["desk"].wipe()

    async def spoil(self, entry: IndexEntry) -> None:
        for generation in NOTEBOOKS["desk"].generations.values():
            for object_id, held in generation.items():
                if held.memory_id == entry.memory_id:
                    generation[object_id] = replace(held, vector=held.vector[:0])


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    """Begin and end with no notebook."""
    NOTEBOOKS.clear()
    yield
    NOTEBOOKS.clear()


class TestNotebookIndex(IndexSuite):
    @pytest.fixture(params=[False, True], ids=["words loaded at the first search", "words kept up to date"])
    def index(self, request):
        return IndexWithShard(lambda load: NOTEBOOK.make(CONFIG, load), loaded_early=request.param)


class TestSharedNotebookIndex(SharedIndexSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[NotebookStore]:
        store = NotebookStore(NOTEBOOK, CONFIG)
        yield store
        await store.close()


# -- by its entry in the registry


@pytest.fixture
def _registered() -> Iterator[None]:
    with INDEXES.including(NOTEBOOK):
        yield


def test_without_its_entry_no_setting_names_it():
    with pytest.raises(SettingsError, match=r"MNEMOLOG_INDEX='notebook://desk' must be weaviate://.*, or embedded"):
        from_environment({"MNEMOLOG_INDEX": "notebook://desk"})


@pytest.mark.usefixtures("_registered")
def test_with_its_entry_settings_take_it_and_say_how_it_is_written():
    assert from_environment({"MNEMOLOG_INDEX": "notebook://desk"}).index == "notebook://desk"
    with pytest.raises(SettingsError, match=r"MNEMOLOG_INDEX='notebook://' must be notebook://NAME, or embedded"):
        from_environment({"MNEMOLOG_INDEX": "notebook://"})
    with pytest.raises(SettingsError, match=r"must be weaviate://.*, or notebook://NAME, or embedded"):
        from_environment({"MNEMOLOG_INDEX": "book://desk"})


@pytest.mark.usefixtures("_registered")
async def test_the_doctor_probes_it_and_says_what_to_do(tmp_path: Path):
    async def index() -> Check:
        settings = from_environment({"MNEMOLOG_INDEX": "notebook://desk"}, data_dir=tmp_path)
        return next(check for check in await checked(settings) if check.name == "index")

    assert await index() == Check("index", ok=True, detail="Notebook 1 at notebook://desk, which answers")
    NOTEBOOKS["desk"].is_away = True
    advice = "start Notebook, or correct MNEMOLOG_INDEX; until then searches answer 503, and nothing is lost"
    assert await index() == Check("index", ok=False, detail="notebook://desk: the notebook is shut", advice=advice)


async def search(door: FrontDoor, text: str) -> list[str] | int:
    """Return the memories that a search finds, or the status of one that is not answered."""
    response = await door.post("/v1/search", {"user_id": "u1", "query": text, "recall": False})
    return sorted(one["memory"] for one in response.json()["results"]) if response.is_success else response.status_code


async def found_soon(door: FrontDoor, text: str) -> list[str] | int:
    """Search until it is answered."""
    async with asyncio.timeout(120):
        while (answer := await search(door, text)) == HTTPStatus.SERVICE_UNAVAILABLE:  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.1)
    return answer


@pytest.mark.usefixtures("_registered")
async def test_a_worker_keeps_it_through_an_outage_a_loss_and_a_rebuild(tmp_path: Path):
    async with front_door(tmp_path, index="notebook://desk") as door:
        await door.remember("likes green tea")
        assert await search(door, "tea") == ["likes green tea"]
        NOTEBOOKS["desk"].is_away = True
        assert await search(door, "tea") == HTTPStatus.SERVICE_UNAVAILABLE
        await door.remember("plays the cello")
        NOTEBOOKS["desk"].is_away = False
        assert await found_soon(door, "tea cello") == ["likes green tea", "plays the cello"]
        NOTEBOOKS["desk"].wipe()
        assert await found_soon(door, "tea cello") == ["likes green tea", "plays the cello"]
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]
        assert (NOTEBOOKS["desk"].searched, sorted(NOTEBOOKS["desk"].generations)) == (2, [1, 2])
        assert await search(door, "tea cello") == ["likes green tea", "plays the cello"]
