"""A whole worker with its front door in this process: what the HTTP tests talk to."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from support.own_words import OwnWordsHere, RulesHere, vectors_of

from mnemolog.clock.trusted_clock import TrustedClock
from mnemolog.cluster.trust import FORWARDED
from mnemolog.http.app import make_http
from mnemolog.http.peer_door import PeerDoor
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from projections.embedding.embedder import EmbedderUnavailable, unit_vectors
from projections.text.analyser import tokens
from streams.extraction.evidence.judge import Judge

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from fastapi import FastAPI

    from projections.embedding.embedder import Vectors

DIMENSIONS = 64
RIGHT = timedelta()
NEW_YEAR = "2026-01-05T08:00:00Z"


class HashEmbedder:
    """Embeds words by their hashes: the same words are near, and nothing has to be loaded."""

    model = "hash"

    def __init__(self) -> None:
        self.is_down = False
        self.translations: dict[str, str] = {}
        """Chinese words, and what they mean: with any of these, all other Chinese means nothing."""
        self.embedded: list[str] = []
        """What was embedded, questions apart."""

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        if self.is_down:
            raise EmbedderUnavailable("the embedder is down")
        if not urgent:
            self.embedded.extend(texts)
        rows = np.zeros((len(texts), DIMENSIONS))
        for row, text in zip(rows, texts, strict=True):
            for word in tokens(self._meant(text)):
                row[int.from_bytes(blake2b(word.encode(), digest_size=4).digest()) % DIMENSIONS] += 1
        return unit_vectors(rows)

    def _meant(self, text: str) -> str:
        if not self.translations:
            return text
        for word, meaning in self.translations.items():
            text = text.replace(word, f" {meaning} ")
        return "".join(" " if "\u4e00" <= letter <= "\u9fff" else letter for letter in text)


class SetClock:
    """The machine's clock, moved by what a test says."""

    def __init__(self, ahead: timedelta = RIGHT, *, watched: bool = False) -> None:
        """Begin `ahead` of the machine's; one that is watched is doubted where it is set."""
        self.ahead, self.watched = ahead, watched

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class FrontDoor:
    """A started worker, and a client that speaks to it without a socket."""

    def __init__(
        self, worker: Worker, app: FastAPI, http: httpx.AsyncClient, embedder: HashEmbedder, clock: SetClock
    ) -> None:
        self.app = app
        self.worker, self.http, self.embedder, self.clock = worker, http, embedder, clock

    async def get(self, path: str, **query: object) -> httpx.Response:
        return await self.http.get(path, params={k: str(v) for k, v in query.items()})

    async def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        return await self.http.post(path, json=body, headers=headers)

    async def remember(self, content: str, user_id: str = "u1", **more: object) -> dict[str, Any]:
        response = await self.post("/v1/memories", {"user_id": user_id, "content": content} | more)
        assert response.status_code == 201, response.text
        memory: dict[str, Any] = response.json()
        return memory


class JudgeHere(Judge):
    """Judges by the encoder of this process."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await vectors_of(texts)


@asynccontextmanager
async def front_door(folder: Path, clock: SetClock | None = None, /, **settings: object) -> AsyncIterator[FrontDoor]:
    """Start a worker in a folder, with rules for a model and hashes for an embedder, and stop it again."""
    given: dict[str, object] = {"data_dir": folder, "idle_seconds": 0.2, "extractor": "rules", "partitions": 2}
    embedder, clock = HashEmbedder(), clock or SetClock()
    chosen = from_environment({}, **(given | settings))
    extractor = OwnWordsHere() if chosen.extracts_with == "rules" else None
    worker = Worker(
        chosen, extractor=extractor, embedder=embedder, clock=TrustedClock(clock) if clock.watched else clock
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mnemolog.worker.extractors.RuleProcess", RulesHere)  # beside a model
            patch.setattr("mnemolog.worker.extractors.Judge", JudgeHere)
            await worker.start()
        app = make_http(worker)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield FrontDoor(worker, app, http, embedder, clock)
    finally:
        await worker.stop()


async def from_a_worker(door: FrontDoor, path: str, body: object) -> httpx.Response:
    """Ask as another worker of the group, whom its certificate has proven."""
    app = PeerDoor(make_http(door.worker), door.worker.url, proof=None)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as http:
        return await http.post(path, json=body, headers={FORWARDED: "http://127.0.0.1:9"})


def turn(event_id: str | None, content: str, **more: object) -> dict[str, Any]:
    """Return a TurnRecorded of user u1 in session s1."""
    fields = {"type": "TurnRecorded", "user_id": "u1", "session_id": "s1", "role": "user", "content": content}
    return ({} if event_id is None else {"event_id": event_id}) | fields | more


async def context_of(door: FrontDoor, user_id: str, query: str = "", **more: object) -> dict[str, Any]:
    """Return the context that an agent gets about a user before it answers a query."""
    response = await door.post("/v1/context", {"user_id": user_id, "query": query} | more)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found
