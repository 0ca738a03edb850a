"""How long callers wait over HTTP, with an embedder and a model behind an endpoint in a process of their own.

    python bench/latency.py                           # this checkout
    python bench/latency.py OTHER_CHECKOUT ...        # and others (full paths), in turns, after `make install`

Every round measures each row once for each checkout. The rows compare

- to remember and wait, by one caller and by eight, with the least that could do it here for as many (`Floor`);
- inferred turns of eight users, with a model that answers at once (or after MODEL_SECONDS of the environment), with the
  endpoint's own rate for one text, with eight times one user's rate, and with the least that could do it here;
- verbatim turns in batches of 500 with the endpoint's own rate, by one httpx client and 64 texts a request;
- the time of a search in 1,000 memories, without that of the endpoint's answer, with the time of `GET /health/live`;
- in the same way, a route behind the same layers that embeds the question and has its answer ready (`bench/search.py`);
- `GET /health/live` with a bare Starlette route on uvicorn with uvloop and httptools.

The noise is the least and the greatest ratio of the rounds.

    python -m bench.latency --floor ENDPOINT FOLDER PORT    # serves the floor
"""

from __future__ import annotations

import asyncio
import binascii
import contextlib
import functools
import itertools
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from uuid import uuid4

import aiohttp
import httpx
import numpy as np
import orjson
import uvicorn
import uvloop
from fastapi import FastAPI, Response
from pydantic import BaseModel, Field

from bench.made_users import turn
from mnemolog.log.connection import close_log, create_topics, open_log
from mnemolog.log.sealing import seal_log
from mnemolog.operations.generations import active_folder
from mnemolog.publishing.publisher import record_of
from mnemolog.server import settle_memory, tune_process
from mnemolog.settings import from_environment
from mnemolog.worker import components
from mnemolog.worker.metrics import Metrics
from projections.embedding.serving import ServingEmbedder
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.shards import Shards
from schemas import codec
from schemas.inputs.input_events import new_event
from schemas.log import NewRecord
from schemas.topics import INBOX
from streams.agents.remember import decision_record, memories_made
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.delivery.fair_slots import FairSlots
from streams.extraction.assisted import AssistedModel
from streams.extraction.evidence.judge import Judge
from streams.extraction.model.examples import EXAMPLES
from streams.extraction.model.prompts import SCHEMA, SYSTEM
from streams.extraction.own_words.extractor import OwnWords
from streams.extraction.request import ExtractionService, answer_records
from streams.extraction.rules.process import RuleProcess
from streams.extraction.window import pieces_of, window_of
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from mnemolog.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("ROUNDS", "5"))
FIRST_PORT = int(os.environ.get("FIRST_PORT", "0"))
START_SECONDS = 60.0
ADDS, TURNS, SEARCHES, LIVES = 200, 160, 100, 400
BATCHED, BATCH, SEARCHED, CALLERS = 1_500, 500, 1_000, 8
TARGETS = {
    "remember, one caller": None,
    "remember, eight callers": None,
    "inferred turns, eight users": None,
    "inferred turns, eight users, against eight times one user": None,
    "inferred turns, eight users, against the least": None,
    "inferred turns, eight users, against the least with our promises": None,
    "verbatim turns in batches": 0.6,
    "search beyond the embedder": 2.0,
    "search with a ready answer": None,
    "health": 0.7,
}
FLOOR_TOPIC = "floor"
FILLING = "-" * 669
"""Gives the floor's answer the length of ours."""
OBSERVED = "2026-01-05 08:00"
SHOWN = [text for example in EXAMPLES["en"] for text in (("user", example.lines), ("assistant", example.answer))]
QUESTION = [{"role": role, "content": text} for role, text in (("system", SYSTEM), *SHOWN)]
ASKED = {
    "model": "echo",
    "temperature": 0,
    "max_completion_tokens": 4_096,
    "response_format": {"type": "json_schema", "json_schema": {"name": "memories", "schema": SCHEMA}},
}
"""The floor's request to a model, which equals ours."""
PORTS = itertools.count(FIRST_PORT)
NUMBERS = itertools.count()


class Caller:
    """A connection that uses little processor time, unlike an HTTP library's."""

    def __init__(self, url: str) -> None:
        """Take the server's URL; `async with` connects."""
        self._host, self._port = urlsplit(url).hostname, urlsplit(url).port

    async def __aenter__(self) -> Self:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection."""
        self._writer.close()

    async def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request, and return the answer's body."""
        content = b"" if body is None else orjson.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        self._writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        answered = await self._reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answered.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        answer = await self._reader.readexactly(int(length.partition(b":")[2]))
        assert answered[9:10] == b"2", answered + answer
        return answer


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", next(PORTS) if FIRST_PORT else 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def process(command: list[str], folder: Path, path: str, **environment: str) -> Iterator[str]:
    """Run a server while the block lasts; yield its URL when it answers at the path."""
    url = f"http://127.0.0.1:{command[-1]}"
    own = {key: value for key, value in os.environ.items() if not key.startswith("MNEMOLOG_")} | environment
    running = subprocess.Popen(command, cwd=folder, env=own)  # noqa: S603 - our own command
    try:
        until = time.monotonic() + START_SECONDS
        while not _answers(url + path):
            assert running.poll() is None, "the server has ended"
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.1)
        yield url
    finally:
        running.terminate()
        running.wait(40)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


def settings_of(endpoint: str) -> dict[str, str]:
    """Return the environment of a worker with an endpoint as its embedder and model."""
    names = ("EMBEDDING", "LLM")
    settings = {f"MNEMOLOG_{name}_BASE_URL": f"{endpoint}/v1" for name in names}
    settings |= {f"MNEMOLOG_{name}_API_KEY": "x" for name in names}
    return settings | {"MNEMOLOG_EMBEDDING_MODEL": "hash", "MNEMOLOG_LLM_MODEL": "echo", "MNEMOLOG_LOG_LEVEL": "error"}


@contextlib.contextmanager
def worker(checkout: Path, endpoint: str, program: tuple[str, ...] = ("mnemolog", "up")) -> Iterator[str]:
    """Run a checkout's worker with an endpoint as its embedder and model."""
    with tempfile.TemporaryDirectory() as data:
        command = [str(checkout / ".venv/bin/python"), "-m", *program, "--data", data, "--port"]
        with process([*command, str(free_port())], checkout, "/health/ready", **settings_of(endpoint)) as url:
            yield url


def text() -> str:
    """Return a text that was not used before."""
    return turn(next(NUMBERS))


async def rate(callers: int, count: int, url: str, one: Callable[[Caller, int, int], Awaitable[object]]) -> float:
    """Return how many calls are answered per second, if each of `callers` callers waits for each answer."""

    async def call(caller: Caller, who: int) -> None:
        for n in range(count // callers):
            await one(caller, who, n)

    async with contextlib.AsyncExitStack() as connected:
        each = [await connected.enter_async_context(Caller(url)) for _ in range(callers)]
        began = time.perf_counter()
        await asyncio.gather(*(call(caller, who) for who, caller in enumerate(each)))
        return count // callers * callers / (time.perf_counter() - began)


async def embedded(caller: Caller, _who: int, _n: int) -> None:
    """Ask the endpoint for one vector."""
    await caller.ask("POST", "/v1/embeddings", {"model": "hash", "input": [text()], "encoding_format": "base64"})


async def remembered(callers: int, url: str, count: int = ADDS) -> float:
    """Return how many memories per second are remembered for `callers` callers of one new user."""
    tag = f"user-{next(NUMBERS)}"

    async def add(caller: Caller, _who: int, _n: int) -> None:
        await caller.ask("POST", "/v1/memories", {"user_id": tag, "content": text()})

    return await rate(callers, count, url, add)


class Fact(BaseModel, extra="forbid"):
    """A request to the floor to remember a fact."""

    user_id: str = Field(min_length=1, max_length=200)
    content: str = Field(min_length=1, max_length=8_000)


class Said(BaseModel, extra="forbid"):
    """A message of a turn in a request to the floor."""

    role: str = Field(min_length=1, max_length=20)
    content: str = Field(min_length=1, max_length=8_000)


class Talk(BaseModel, extra="forbid"):
    """A request to the floor to extract the facts of a turn by a model."""

    user_id: str = Field(min_length=1, max_length=200)
    session_id: str = Field(min_length=1, max_length=200)
    messages: list[Said] = Field(min_length=1, max_length=1)


class Floor:
    """The least that could remember a memory in this stack: nothing is decided, and nothing could be found.

    FastAPI reads and checks the body, aiohttp requests one vector, a record with the words and the vector is appended
    to the embedded log, and an answer as long as ours is sent once it is synced. Records that callers append at the
    same moment share an fsync. Nobody is authorized, no header is checked, and nothing is counted or encrypted.

    For a turn the model is asked first, with our question, and one record is appended for all of it, so that a crash
    before the model's answer loses the turn.
    """

    def __init__(self, endpoint: str, log: SqliteLog) -> None:
        """Take the endpoint's URL and an open log."""
        self._url = f"{endpoint}/v1"
        self._log = log

    @functools.cached_property
    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(headers={"Content-Type": "application/json"})

    async def remember(self, fact: Fact) -> Response:
        """Append the words with their vector."""
        [small] = await self._vectors([fact.content])
        at = await self._append(fact.user_id, fact.content.encode() + small)
        shown = {"memory_id": str(uuid4()), "at": at.isoformat(), **fact.model_dump()}
        return Response(orjson.dumps(shown | {"more": FILLING}), 201, media_type="application/json")

    async def converse(self, talk: Talk) -> Response:
        """Ask a model for the facts of a turn, and append the turn, the model's answer and the facts' vectors."""
        [said] = talk.messages
        question = [*QUESTION, {"role": "user", "content": f"[1] {OBSERVED} {said.role}: {said.content}"}]
        answer = await self._ask("chat/completions", ASKED | {"messages": question})
        found: str = answer["choices"][0]["message"]["content"]
        facts = [memory["content"] for memory in orjson.loads(found)["memories"]]
        vectors = await self._vectors(facts)
        at = await self._append(talk.user_id, b"".join((orjson.dumps(talk.model_dump()), found.encode(), *vectors)))
        state = {"event_id": str(uuid4()), "at": at.isoformat(), "memory_ids": [str(uuid4()) for _ in facts]}
        return Response(orjson.dumps({"accepted": [state]}), 202, media_type="application/json")

    async def _ask(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON
        async with self._session.post(f"{self._url}/{path}", data=orjson.dumps(body)) as answer:
            return orjson.loads(await answer.read())

    async def _vectors(self, texts: list[str]) -> list[bytes]:
        asked = {"model": "hash", "input": texts, "encoding_format": "base64"}
        encoded = [one["embedding"] for one in (await self._ask("embeddings", asked))["data"]]
        vectors = [np.frombuffer(binascii.a2b_base64(one), "<f4") for one in encoded]
        return [(vector * (127 / np.abs(vector).max())).astype(np.int8).tobytes() for vector in vectors]

    async def _append(self, user: str, value: bytes) -> datetime:
        record = NewRecord(topic=FLOOR_TOPIC, partition=0, key=user.encode(), value=value)
        [appended] = await self._log.append([record])
        return appended.recorded_at


class Promised:
    """The least that keeps a worker's promises about an inferred turn: its own functions, called one after the other.

    FastAPI reads and checks the body, as for the floor. The turn and the end of its session are appended with an fsync
    before the model is asked. Extractor, rules, embedder, sealing, decision and shards are the worker's, and set up as
    in a worker. The answer and the decision on it are one transaction; what eight callers append at the same moment
    shares an fsync, and small folds share a commit. Left out are Faust, the agents with their pools, windows and
    retries, states, metrics, access, limits, and the order of one user's turns: of two decisions that are made at the
    same time, one may have assumed the position that the other gets.
    """

    def __init__(self, settings: Settings) -> None:
        """Take settings of an embedded worker; `open` opens its files."""
        self._settings = settings
        self._metrics = Metrics()
        self._rules = RuleProcess()
        self._model = components.make_model(settings, self._metrics)
        self._embedder = components.make_embedder(settings)
        serving = ServingEmbedder(self._embedder)
        self._judge = Judge(serving)
        own_words = OwnWords(self._rules, self._judge.embed, self._judge.heads)
        self._extractor = AssistedModel(self._model, own_words)
        self._service = ExtractionService(serving, FairSlots(settings.llm_concurrency), rules=own_words)
        self._parameters = components.make_parameters(settings)

    async def open(self) -> None:
        """Open the log and the shards."""
        self._inner = await open_log(self._settings)
        await create_topics(self._inner, self._settings)
        self._log = (await seal_log(self._settings, self._inner, self._metrics.unopened)).log
        partitions = self._settings.partitions
        self._shards = Shards(active_folder(self._settings.data_dir), self._log, partitions)
        self._index_sync = IndexSync(components.index_maker(self._settings), ShardIndexSource(self._shards))
        self._shards.subscribe(self._index_sync)
        self._shards.takeover.assign(range(partitions))
        for partition in range(partitions):
            await self._shards.takeover.hold(partition)

    async def close(self) -> None:
        """Close the log, the shards and the connections."""
        await self._index_sync.close()
        self._shards.close()
        await close_log(self._inner)
        await self._embedder.close()
        await self._model.aclose()
        await self._rules.aclose()
        await self._judge.aclose()

    async def converse(self, talk: Talk) -> Response:
        """Append a turn, extract and decide its facts, and fold all of it."""
        [said] = talk.messages
        whose = {"user_id": talk.user_id, "session_id": talk.session_id}
        turn, end = (
            new_event(whose | raw, tenant="default", accepted_at=datetime.now(UTC), event_id=str(uuid4()))
            for raw in ({"type": "TurnRecorded", **said.model_dump()}, {"type": "SessionEnded"})
        )
        owner = turn.envelope.owner
        partition = self._shards.partition(owner)
        spoken, ended = await self._log.append([record_of(turn, partition), record_of(end, partition)])
        pieces = tuple(pieces_of(turn, spoken.recorded_at, spoken.position))
        answer = await self._service.extract(window_of(turn, pieces), self._extractor)
        foreseen = self._log.next_place(INBOX.name, partition)
        place = ItemPosition(partition, foreseen.position.offset, foreseen.recorded_at)
        vectors = self._shards.of(owner).ledger.vectors(owner)
        decision = decide(self._shards.state(owner), answer, place, vectors, self._parameters)
        [inbox] = answer_records(partition, [answer])
        value = codec.encode_cached(decision)
        ledger = decision_record(self._shards.resolve(owner), decision, value, None)
        for one in (ended, *await self._log.append([inbox, ledger])):
            await self._shards.up_to(one.position.topic, one.position.partition, one.position.offset + 1)
        await self._index_sync.try_flush()
        state = {"event_id": turn.envelope.event_id, "state": "remembered", "memory_ids": memories_made(decision)}
        return Response(orjson.dumps({"accepted": [state]}), 200, media_type="application/json")


async def serve_floor(endpoint: str, folder: Path, port: int) -> None:
    """Serve the floor until a signal ends it, in a process that is set up like a worker's."""
    tune_process()
    log = SqliteLog.open(folder / "floor")
    await log.create_topic(FLOOR_TOPIC, 1)
    app = FastAPI()
    floor = Floor(endpoint, log)
    promised = Promised(from_environment(settings_of(endpoint), data_dir=folder / "promised"))
    await promised.open()
    app.post("/v1/memories")(floor.remember)
    app.post("/v1/conversations")(floor.converse)
    app.post("/v1/promised")(promised.converse)
    app.get("/ready")(lambda: "ready")
    settle_memory()
    await uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, access_log=False, http="httptools")).serve()
    await promised.close()
    log.close()


@contextlib.contextmanager
def floor(endpoint: str) -> Iterator[str]:
    """Run the floor in a process of its own while the block lasts; yield its URL."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.latency", "--floor", endpoint, folder, str(free_port())]
        with process(command, ROOT, "/ready") as url:
            yield url


class Measured:
    """The rows of one worker; each returns its own measurement, and that of what it is compared with."""

    ready: str
    """The URL of a worker with the route `POST /v1/floor`, whose answer is ready."""

    def __init__(self, url: str, endpoint: str, floor: str, tag: str) -> None:
        """Take the URLs of the worker, the endpoint and the floor, and a prefix for the users."""
        self.url, self.endpoint, self.floor, self.tag = url, endpoint, floor, tag

    async def prepare(self) -> None:
        """Fill the user that is searched, and use every route once."""
        async with Caller(self.url) as caller:
            await self.publish(caller, f"{self.tag}-searched", SEARCHED)
        await self.rows()

    async def publish(self, caller: Caller, user: str, count: int) -> float:
        """Publish verbatim turns and drain; return how many per second became searchable."""
        said = [[{"role": "user", "content": text()} for _ in range(BATCH)] for _ in range(count // BATCH)]
        began = time.perf_counter()
        for n, messages in enumerate(said):
            body = {"user_id": user, "session_id": f"{user}-{n}", "infer": False, "messages": messages}
            await caller.ask("POST", "/v1/conversations", body)
        await caller.ask("POST", "/v1/admin/drain", {"timeout": 300})
        return count / (time.perf_counter() - began)

    async def remember(self, callers: int) -> tuple[float, float]:
        """Remember and wait, against the floor."""
        return await remembered(callers, self.url), await remembered(callers, self.floor)

    async def inferred(self, turns: int = TURNS) -> tuple[float, float]:
        """Publish one turn and wait for its memories, against one vector."""
        done = await self._inferred(CALLERS, turns)
        return done, await rate(CALLERS, TURNS, self.endpoint, embedded)

    async def apart(self) -> tuple[float, float]:
        """Publish one turn and wait for its memories, against as many times the rate of one user alone.

        With a model that takes MODEL_SECONDS, this is the limit that a worker could reach with turns that cost as much.
        """
        return await self._inferred(CALLERS, TURNS), CALLERS * await self._inferred(1, TURNS // CALLERS)

    async def least(self) -> tuple[float, float]:
        """Publish one turn and wait for its memories, against the floor."""
        return await self._inferred(CALLERS, TURNS), await self._inferred(CALLERS, TURNS, self.floor)

    async def promised(self) -> tuple[float, float]:
        """Publish one turn and wait for its memories, against the least that keeps our promises."""
        done = await self._inferred(CALLERS, TURNS)
        return done, await self._inferred(CALLERS, TURNS, self.floor, "/v1/promised")

    async def _inferred(
        self, callers: int, turns: int, url: str = "", path: str = "/v1/conversations?wait=60"
    ) -> float:
        tag = f"{self.tag}-{next(NUMBERS)}"

        async def infer(caller: Caller, who: int, n: int) -> None:
            body = {"user_id": f"{tag}-{who}", "session_id": f"s{n}", "messages": [{"role": "user", "content": text()}]}
            answer = orjson.loads(await caller.ask("POST", path, body))
            assert answer["accepted"][0]["memory_ids"], answer

        return await rate(callers, turns, url or self.url, infer)

    async def batches(self) -> tuple[float, float]:
        """Publish many turns and drain, against the endpoint's own rate."""
        async with Caller(self.url) as caller:
            done = await self.publish(caller, f"{self.tag}-{next(NUMBERS)}", BATCHED)
        said = [text() for _ in range(BATCHED)]
        began = time.perf_counter()
        async with httpx.AsyncClient(base_url=self.endpoint) as client:
            for start in range(0, BATCHED, 64):
                asked = {"model": "hash", "input": said[start : start + 64], "encoding_format": "base64"}
                (await client.post("/v1/embeddings", json=asked)).json()
        return done, BATCHED / (time.perf_counter() - began)

    async def search(self, url: str = "", path: str = "/v1/search") -> tuple[float, float]:
        """Return the milliseconds of a search beyond the endpoint's answer, and those of the health route."""

        async def find(caller: Caller, _who: int, _n: int) -> None:
            await caller.ask("POST", path, {"user_id": f"{self.tag}-searched", "query": text(), "limit": 10})

        searches = await rate(1, SEARCHES, url or self.url, find)
        vectors = await rate(1, SEARCHES, self.endpoint, embedded)
        return 1000 / searches - 1000 / vectors, 1000 / await rate(1, LIVES, self.url, live)

    async def health(self) -> tuple[float, float]:
        """Ask the health route, against a bare route."""
        return await rate(1, LIVES, self.url, live), await rate(1, LIVES, self.endpoint, bare)

    async def rows(self) -> dict[str, tuple[float, float]]:
        """Measure each row once."""
        return {
            "remember, one caller": await self.remember(1),
            "remember, eight callers": await self.remember(CALLERS),
            "inferred turns, eight users": await self.inferred(),
            "inferred turns, eight users, against eight times one user": await self.apart(),
            "inferred turns, eight users, against the least": await self.least(),
            "inferred turns, eight users, against the least with our promises": await self.promised(),
            "verbatim turns in batches": await self.batches(),
            "search beyond the embedder": await self.search(),
            "search with a ready answer": await self.search(self.ready, "/v1/floor"),
            "health": await self.health(),
        }


async def live(caller: Caller, _who: int, _n: int) -> None:
    """Ask the health route."""
    await caller.ask("GET", "/health/live")


async def bare(caller: Caller, _who: int, _n: int) -> None:
    """Ask the bare route."""
    await caller.ask("GET", "/bare")


@contextlib.asynccontextmanager
async def prepared(checkouts: list[Path]) -> AsyncIterator[dict[str, Measured]]:
    """Run the endpoint, the floor and each checkout's worker; yield the measurements by the checkout's name."""
    with contextlib.ExitStack() as running:
        command = [sys.executable, "-m", "bench.embedding_stub", str(free_port())]
        endpoint = running.enter_context(process(command, ROOT, "/bare"))
        least = running.enter_context(floor(endpoint))
        ready = running.enter_context(worker(ROOT, endpoint, ("bench.search", "--floor")))
        found = {}
        for checkout in checkouts:
            url = running.enter_context(worker(checkout, endpoint))
            found[checkout.name] = Measured(url, endpoint, least, "user")
            found[checkout.name].ready = ready
            await found[checkout.name].prepare()
        yield found


async def main() -> dict[str, object]:
    """Measure this checkout, and those that the command line names."""
    checkouts = [ROOT, *map(Path, sys.argv[1:])]
    rounds: dict[str, list[dict[str, tuple[float, float]]]] = {checkout.name: [] for checkout in checkouts}
    async with prepared(checkouts) as measured:
        for _ in range(ROUNDS):
            for name, one in measured.items():
                rounds[name].append(await one.rows())
    result: dict[str, object] = {}
    for row, target in TARGETS.items():
        for name, each in rounds.items():
            pairs = [found[row] for found in each]
            ratios = sorted(left / right for left, right in pairs)
            ratio, left, right = (statistics.median(v) for v in (ratios, *zip(*pairs, strict=True)))
            unit = "ms" if row.startswith("search") else "a second"
            shown = f"{row} ({name})" if len(rounds) > 1 else row
            wanted = "none" if target is None else target
            print(
                f"  {shown}: {left:,.1f} against {right:,.1f} {unit}: ratio {ratio:.3f} "
                f"({ratios[0]:.3f} to {ratios[-1]:.3f}, target {wanted})",
                flush=True,
            )
            result[shown] = {"ratio": round(ratio, 4), "target": target, "ratios": [round(r, 4) for r in ratios]}
    return result


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        asked_endpoint, asked_folder, asked_port = sys.argv[2:]
        uvloop.run(serve_floor(asked_endpoint, Path(asked_folder), int(asked_port)))
    else:
        asyncio.run(main())
