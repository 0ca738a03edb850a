"""Weaviate is away and comes back: only searches notice, and what was remembered meanwhile is found afterwards."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
from contract.front_door import FrontDoor, front_door
from contract.index_examples import COFFEE, query
from engines.weaviate_door import door_of, found
from support.free_ports import free_ports

from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.checks import checked
from mnemolog.settings import from_environment
from projections.index import durability
from projections.index.durability import LOOK_EVERY_SECONDS
from projections.index.protocol import IndexUnavailable
from projections.index.weaviate.address import WeaviateAddress
from projections.index.weaviate.index import WeaviateIndex

if TYPE_CHECKING:
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

    from projections.index.protocol import IndexEntry

SOON_S = 180.0
"""Only what hangs takes so long."""
SAFE_AFTER_S = 4.0
"""Instead of the half minute after which the index has surely kept what it was told."""
SOON_AFTER_S = 40.0
"""A search's answer after Weaviate is found to be back, however long it was away."""


@pytest.fixture
def soon_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was written be safe soon; that it is so only after half a minute is a unit test's."""
    monkeypatch.setattr(durability, "SAFE_AFTER_SECONDS", SAFE_AFTER_S)


def nobody(_tenant: str, _user_id: str) -> list[IndexEntry]:
    return []


async def finds_soon(door: FrontDoor, user_id: str, text: str, expected: list[str]) -> None:
    """Search again until the answer is as expected; the search must not fail once it has succeeded."""
    deadline = time.monotonic() + SOON_S
    while True:
        try:
            assert sorted(expected) == sorted(await found(door, user_id, text))
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.3)
        else:
            return


async def answers_or_waits(door: FrontDoor, user_id: str, text: str) -> list[str]:
    """Search until it does not answer 503; that is the answer."""
    deadline = time.monotonic() + SOON_S
    while True:
        answer = await door.post("/v1/search", {"user_id": user_id, "query": text, "recall": False})
        if answer.is_success:
            return [result["memory"] for result in answer.json()["results"]]
        assert (answer.status_code, time.monotonic() < deadline) == (HTTPStatus.SERVICE_UNAVAILABLE, True)
        await asyncio.sleep(0.2)


async def test_what_is_remembered_while_it_is_down_is_found_when_it_is_back(node: WeaviateServer, tmp_path: Path):
    async with door_of(tmp_path, node) as door:
        forgotten = await door.remember("likes green tea")
        assert await found(door, "u1", "tea") == ["likes green tea"]
        node.kill()
        refused = await door.post("/v1/search", {"user_id": "u1", "query": "tea"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (HTTPStatus.SERVICE_UNAVAILABLE, "1")
        assert node.url in refused.json()["detail"]
        await door.remember("plays the cello")
        assert (await door.http.delete(f"/v1/memories/{forgotten['memory_id']}")).is_success
        listed = (await door.get("/v1/memories", user_id="u1")).json()["items"]
        assert [memory["content"] for memory in listed] == ["plays the cello"]
        assert (await door.get("/health/ready")).is_success
        node.start()
        await finds_soon(door, "u1", "cello tea", ["plays the cello"])


async def said_soon(caplog: pytest.LogCaptureFixture, count: int) -> list[tuple[str, str]]:
    """Return what was logged of the index: level and line, when there is as much as expected."""
    deadline = time.monotonic() + SOON_S
    while True:
        said = [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "mnemolog.index"]
        if len(said) >= count or time.monotonic() > deadline:
            return said
        await asyncio.sleep(0.2)


async def test_when_it_goes_away_and_is_back_one_line_says_so_and_nothing_is_printed(
    node: WeaviateServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    """Six partitions are asked for all the while, and the index is looked at every two seconds."""
    caplog.set_level(logging.INFO, "mnemolog.index")
    async with front_door(tmp_path / "worker", index=node.url, partitions=6) as door:
        for number in range(6):
            await door.remember("likes green tea", f"u{number}")
        node.kill()
        for _ in range(4):
            for number in range(6):
                refused = await door.post("/v1/search", {"user_id": f"u{number}", "query": "tea"})
                assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        (gone,) = await said_soon(caplog, 1)
        assert gone[0] == "WARNING"
        assert f"{node.url}: nobody listens at 127.0.0.1" in gone[1]
        assert "Searches answer 503" in gone[1]
        node.start()
        assert (await said_soon(caplog, 2))[1:] == [
            ("INFO", f"the index at {node.url} answers again, and is brought up to date")
        ]
        began = time.monotonic()
        assert await answers_or_waits(door, "u1", "tea") == ["likes green tea"]
        assert time.monotonic() - began < SOON_AFTER_S
        await asyncio.sleep(2 * LOOK_EVERY_SECONDS)
    assert not [one for one in caplog.records if one.name == "weaviate-client"]
    assert len(await said_soon(caplog, 2)) == 2
    assert tuple(capfd.readouterr()) == ("", "")


async def test_a_worker_that_was_started_without_it_says_so_once(
    node: WeaviateServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "mnemolog.index")
    node.kill()
    async with door_of(tmp_path, node):
        await said_soon(caplog, 1)
        await asyncio.sleep(2 * LOOK_EVERY_SECONDS)
        assert [level for level, _ in await said_soon(caplog, 1)] == ["WARNING"]
        node.start()
        assert [level for level, _ in await said_soon(caplog, 2)] == ["WARNING", "INFO"]


async def test_a_worker_that_was_started_without_it_brings_it_up_to_date(node: WeaviateServer, tmp_path: Path):
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea")
        node.kill()
        await door.remember("plays the cello")
    async with door_of(tmp_path, node) as door:
        assert (await door.get("/health/ready")).is_success
        await door.remember("owns a red bicycle")
        node.start()
        await finds_soon(door, "u1", "cello bicycle", ["owns a red bicycle", "plays the cello", "likes green tea"])


@pytest.mark.usefixtures("soon_safe")
async def test_an_index_that_lost_everything_is_filled_by_itself(node: WeaviateServer, tmp_path: Path):
    """Searches answer as before, or 503 while it is filled; never from what is there by then."""
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea")
        await door.remember("keeps bees", "u2")
        await asyncio.sleep(2 * SAFE_AFTER_S)  # until then it may have lost what it was told last
        index = WeaviateIndex(WeaviateAddress.parse(node.url), nobody, partitions=8)
        await index.collection.drop((await index.collection.generations())[0])
        assert await answers_or_waits(door, "u1", "tea") == ["likes green tea"]
        assert await answers_or_waits(door, "u2", "bees") == ["keeps bees"]
        await index.close()


@pytest.mark.usefixtures("soon_safe")
async def test_another_weaviate_at_the_same_place_is_filled_by_itself(node: WeaviateServer, tmp_path: Path):
    async with door_of(tmp_path, node) as door:
        await door.remember("likes green tea")
        await asyncio.sleep(2 * SAFE_AFTER_S)
        for _ in range(2):
            node.kill()
            shutil.rmtree(tmp_path / "weaviate" / "data")
            node.start()
            assert await answers_or_waits(door, "u1", "tea") == ["likes green tea"]
    node.kill()
    shutil.rmtree(tmp_path / "weaviate" / "data")
    node.start()
    async with door_of(tmp_path, node) as door:
        assert await answers_or_waits(door, "u1", "tea") == ["likes green tea"]


async def test_the_doctor_says_whether_it_answers_and_what_to_do(node: WeaviateServer, tmp_path: Path):
    async def index() -> Check:
        settings = from_environment({"MNEMOLOG_INDEX": node.url}, data_dir=tmp_path / "worker")
        return next(check for check in await checked(settings) if check.name == "index")

    answers = Check("index", ok=True, detail=f"Weaviate 1.35.2 at {node.url}, which answers")
    async with asyncio.timeout(SOON_S):
        while await index() != answers:  # noqa: ASYNC110 - on a busy machine it may take longer than a check waits
            await asyncio.sleep(0.2)
    os.kill(node.pid, signal.SIGSTOP)
    try:
        frozen = await asyncio.wait_for(index(), SOON_S)
    finally:
        os.kill(node.pid, signal.SIGCONT)
    assert not frozen.ok
    assert re.search(r"does not answer within [25] s", frozen.detail)  # one call, or all of the check
    node.kill()
    down = await index()
    assert not down.ok
    assert node.url in down.detail
    assert "start Weaviate, or correct MNEMOLOG_INDEX" in down.advice


async def test_where_nothing_listens_it_is_unavailable_and_says_where():
    http, grpc = free_ports(2)
    index = WeaviateIndex(WeaviateAddress.parse(f"weaviate://127.0.0.1:{http}?grpc={grpc}"), nobody, partitions=1)
    try:
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match=str(http)):
                await index.search(query("tea"))
            with pytest.raises(IndexUnavailable, match=str(http)):
                await index.put([COFFEE])
    finally:
        await index.close()
