"""What happens to the index: Weaviate killed or slow."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx
from faults.cluster.numbered_facts import event_id, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults.cluster.cluster import Cluster
    from support.weaviate_server import WeaviateServer

STANDING_SECONDS, GOING_SECONDS = 0.4, 0.1
FOUND_SECONDS = 300.0
PAUSE_SECONDS = 0.1
SEARCHED_USERS = 25
"""Users of whom every fact is searched for."""


async def kill_weaviate(cluster: Cluster) -> None:
    """Kill Weaviate, and start it again after a minute (ten seconds in the short form); then everything is found."""
    assert cluster.weaviate is not None
    await asyncio.sleep(3)
    await asyncio.to_thread(cluster.weaviate.kill)
    await asyncio.sleep(10 if cluster.workload.is_short else 60)
    await cluster.remembered()  # deciding does not wait for it
    assert await _search_once(cluster) == HTTPStatus.SERVICE_UNAVAILABLE, "a search was answered without Weaviate"
    began = time.monotonic()
    await asyncio.to_thread(cluster.weaviate.start)
    await _recovered(cluster, began)


async def slow_weaviate(cluster: Cluster) -> None:
    """Let Weaviate stand still for four fifths of the time."""
    assert cluster.weaviate is not None
    await asyncio.sleep(2)
    with _standing_still(cluster.weaviate):
        asked = asyncio.create_task(_search_once(cluster))
        await asyncio.sleep(STANDING_SECONDS)
        assert not asked.done(), "a search was answered while Weaviate stood still"
    assert await asked in {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}, asked.result()
    for _ in range(40 if cluster.workload.is_short else 120):
        with _standing_still(cluster.weaviate):
            await asyncio.sleep(STANDING_SECONDS)
        began = time.monotonic()
        await asyncio.sleep(GOING_SECONDS)
    await _recovered(cluster, began)


@contextmanager
def _standing_still(weaviate: WeaviateServer) -> Iterator[None]:
    os.kill(weaviate.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(weaviate.pid, signal.SIGCONT)


async def _search_once(cluster: Cluster) -> int | None:
    """Search for what the first user said first, which only the index knows; return the status."""
    body = {"user_id": cluster.workload.user(0), "query": text(0, 0), "limit": 1, "recall": False}
    return await cluster.try_once("POST", "/v1/search", body)


async def _recovered(cluster: Cluster, began: float) -> None:
    """Wait until all that was acknowledged until now is remembered and found; note the seconds since `began`."""
    turns = set(cluster.turns_acknowledged())
    await cluster.remembered()
    async with httpx.AsyncClient(timeout=FOUND_SECONDS) as http:
        await asyncio.gather(*(_user_found(cluster, http, number, turns) for number in range(cluster.workload.users)))
    cluster.recoveries.append(time.monotonic() - began)
    await all_found(cluster)


async def _user_found(cluster: Cluster, http: httpx.AsyncClient, number: int, turns: set[str]) -> None:
    """Search until one answer has all that a user has said."""
    said = cluster.workload.said(number, turns)
    body = {"user_id": cluster.workload.user(number), "query": min(said, default=""), "limit": 100, "recall": False}
    deadline = time.monotonic() + FOUND_SECONDS
    while said:
        answer = await http.post(f"{cluster.pick.choice(cluster.alive())}/v1/search", json=body)
        assert answer.status_code in (200, 503), answer.text
        if answer.is_success:
            said -= {one["memory"] for one in answer.json()["results"]}
        assert time.monotonic() < deadline, f"not found: {said}"
        await asyncio.sleep(PAUSE_SECONDS)


async def all_found(cluster: Cluster) -> None:
    """Search for every fact that was acknowledged of some users; each must be the first answer, soon."""
    turns = set(cluster.turns_acknowledged())
    deadline = time.monotonic() + FOUND_SECONDS
    for number in range(SEARCHED_USERS):
        for fact in range(cluster.workload.facts):
            if event_id(number, fact) not in turns:
                continue
            body = {"user_id": cluster.workload.user(number), "query": text(number, fact), "limit": 1, "recall": False}
            while True:
                found = await cluster.ask("POST", "/v1/search", body)
                if [one["memory"] for one in found["results"]] == [text(number, fact)]:
                    break
                assert time.monotonic() < deadline, f"not found: {body}, but {found['results']}"
                await asyncio.sleep(0.5)
