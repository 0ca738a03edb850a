"""The manners of the world, tried on a worker: of models, embedding servers and clients. Each is a line of a table."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx
from contract.front_door import FrontDoor, front_door
from support.mannered_endpoint import mannered_endpoint

from mnemolog.client.client import Client
from mnemolog.client.errors import MnemologError
from projections.embedding.openai import OpenAIEmbedder
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    import pytest
    from support.mannered_endpoint import MannersEndpoint

WORLD = Path(__file__).parents[2] / "data" / "world"
LEAST = 150
BEES = "By the way, I keep bees in Oslo."


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (WORLD / f"{name}.jsonl").read_text("utf-8").splitlines()]


def differs(found: Any, wanted: Any, at: str = "$") -> str | None:
    """Return where what came is not what was to come: objects have at least what is wanted, texts match a pattern."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return f"{at}: {found!r} is no object"
        return next(filter(None, (differs(found.get(n), one, f"{at}.{n}") for n, one in wanted.items())), None)
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return f"{at}: {found!r} is not as long as {wanted!r}"
        pairs = enumerate(zip(found, wanted, strict=True))
        return next(filter(None, (differs(one, want, f"{at}[{n}]") for n, (one, want) in pairs)), None)
    if isinstance(wanted, str) and isinstance(found, str):
        return None if re.search(wanted, found) else f"{at}: {found!r} is not like {wanted!r}"
    return None if found == wanted else f"{at}: {found!r} is not {wanted!r}"


async def tried(
    table: str,
    made: Callable[[Path], AbstractAsyncContextManager[FrontDoor]],
    come: Callable[[FrontDoor, int, dict[str, Any]], Awaitable[Any]],
    folder: Path,
    subtests: pytest.Subtests,
) -> None:
    """Try each line of a table: `fresh` ones on a worker of their own, since they leave something behind."""
    async with made(folder / "shared") as shared:
        for number, line in enumerate(lines(table)):
            with subtests.test(line["manner"]):
                if line.get("fresh"):
                    async with made(folder / str(number)) as door:
                        found = await come(door, number, line)
                else:
                    found = await come(shared, number, line)
                assert differs(found, line["comes"]) is None


async def settled(door: FrontDoor, user_id: str, accepted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what came of a conversation's turns, as soon as each is more than accepted: the machine may be busy."""
    ids = [one["event_id"] for one in accepted]
    async with asyncio.timeout(60):
        while True:
            states = await door.worker.event_states.of(Owner("default", user_id), ids)
            if all(state["state"] != "accepted" for state in states.values()):
                return [one | states[one["event_id"]] for one in accepted]
            await asyncio.sleep(0.05)


async def told(endpoint: MannersEndpoint, door: FrontDoor, number: int, line: dict[str, Any]) -> Any:
    """Return what came of a conversation: its last step, and in which forms the endpoint was asked."""
    body = {"user_id": f"u{number}", "messages": [{"role": "user", "content": BEES}]} | line.get("request", {})
    answer: dict[str, Any] = {}
    for rules in line.get("then", [line["server"]]):
        endpoint.behave(rules)
        response = await door.post(f"/v1/conversations?wait={line.get('wait', 20)}", body)
        [answer] = await settled(door, body["user_id"], response.json()["accepted"][:1])
        body["user_id"] += "-next"
    forms = [asked.get("response_format", {}).get("type", "none") for _, asked in endpoint.requests]
    return {**answer, "memories": len(answer.get("memory_ids") or ()), "forms": forms}


async def test_every_manner_of_a_model_comes_to_what_its_line_says(tmp_path: Path, subtests: pytest.Subtests):
    with mannered_endpoint() as endpoint:
        settings: dict[str, Any] = {
            "extractor": "model",
            "llm_base_url": endpoint.url,
            "llm_api_key": "k",
            "llm_model": "m",
        }
        await tried("models", partial(front_door, **settings), partial(told, endpoint), tmp_path, subtests)


FACTS = ("I keep bees in Oslo", "My sister is Ann", "I play the cello", "I live by the sea", "I work at Globex")


async def embedded(
    endpoint: MannersEndpoint, opened: list[OpenAIEmbedder], door: FrontDoor, number: int, line: dict[str, Any]
) -> Any:
    """Return what came of a conversation of five facts, or so many, and of a search in other words.

    Its embedder is added to those `opened`, and stays open: the worker may still be asking it for a line before.
    """
    serving = door.worker.embedder
    serving.current = OpenAIEmbedder(base_url=endpoint.url, api_key="k", model="e", timeout_seconds=5)
    opened.append(serving.current)
    facts = line.get("facts", FACTS)
    user_id = f"e{number}"
    accepted: list[dict[str, Any]] = []
    for turn, rules in enumerate(line.get("then", [line["server"]])):
        endpoint.behave(rules)
        user_id += "" if line.get("same_user") else "-next"
        texts = [f"{text}, {turn}" if turn else text for text in facts]
        body = {"user_id": user_id, "messages": [{"role": "user", "content": text} for text in texts]}
        response = await door.post(f"/v1/conversations?wait={line.get('wait', 20)}", body)
        # What follows the facts is the end of the session.
        accepted = await settled(door, user_id, response.json()["accepted"][: len(facts)])
    wanted = line["comes"].get("degraded")
    for _ in range(200):  # the vectors of turns are made soon, and on a busy machine a server answers late
        search = await door.post("/v1/search", {"user_id": user_id, "query": "honey"})
        if wanted is None or ("degraded" in search.json()) == wanted:
            break
        await asyncio.sleep(0.1)
    return {
        "states": sorted({one["state"] for one in accepted}),
        "memories": len({i for one in accepted for i in one.get("memory_ids") or ()}),
        "reasons": "; ".join(filter(None, (one.get("reason") for one in accepted))),
        "degraded": "degraded" in search.json(),
        "most": max((len(asked["input"]) for _, asked in endpoint.requests), default=0),
        "status": search.status_code,
    }


async def test_every_manner_of_an_embedding_server_comes_to_what_its_line_says(
    tmp_path: Path, subtests: pytest.Subtests
):
    with mannered_endpoint() as endpoint:
        made = partial(front_door, extractor="verbatim")
        opened: list[OpenAIEmbedder] = []
        await tried("embedders", made, partial(embedded, endpoint, opened), tmp_path, subtests)
        for embedder in opened:
            await embedder.close()


async def asked(door: FrontDoor, number: int, line: dict[str, Any]) -> Any:
    """Return what a request is answered: of what a client sends, byte by byte."""
    given = line["request"]
    user_id = f"c{number}"
    headers = {name: str(value) for name, value in given.get("headers", {}).items()}
    content: bytes | None = None
    if "json" in given:
        headers = {"Content-Type": "application/json"} | headers
        content = json.dumps(given["json"]).encode()
    elif "text" in given:
        headers = {"Content-Type": "application/json"} | headers
        content = given["text"].encode("utf-8", "surrogatepass")
    elif "hex" in given:
        content = bytes.fromhex(given["hex"])
    if content is not None:
        content = content.replace(b"USER", user_id.encode())
        content = gzip.compress(content) if given.get("packed") == "gzip" else content
        content = zlib.compress(content) if given.get("packed") == "deflate" else content
    path = given["path"].replace("USER", user_id)
    response = await door.http.request(given["method"], path, content=content, headers=headers)
    try:
        body = response.json()
    except ValueError:
        body = None
    found = {"status": response.status_code, "body": body, "text": response.text, "headers": dict(response.headers)}
    for _ in range(100 if "then" in line else 0):  # what was accepted is read soon
        found["then"] = (await door.http.get(line["then"].replace("USER", user_id))).json()
        if differs(found, line["comes"]) is None:
            break
        await asyncio.sleep(0.05)
    return found


async def test_every_manner_of_a_client_comes_to_what_its_line_says(tmp_path: Path, subtests: pytest.Subtests):
    await tried("clients", front_door, asked, tmp_path, subtests)


class Sent(httpx.BaseTransport):
    """Keeps what a client sends, and accepts it."""

    def __init__(self) -> None:
        self.sent: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        return httpx.Response(200, json={"accepted": [], "session_id": "s"})


NO_JSON: dict[str, Any] = {
    "NAN": float("nan"),
    "INFINITY": float("inf"),
    "UUID": UUID(int=1),
    "TIME": datetime(2026, 1, 5, tzinfo=UTC),
    "DECIMAL": Decimal(1),
    "BYTES": b"x",
    "SET": {1},
    "LONG": 2**64,
    "HALF": "cut \ud83d",
}


def valued(value: Any) -> Any:
    """Return a value of a line, with what JSON lacks in the place of its name."""
    if isinstance(value, dict):
        return {name: valued(one) for name, one in value.items()}
    return [valued(one) for one in value] if isinstance(value, list) else NO_JSON.get(value, value)


def test_every_call_of_the_python_client_comes_to_what_its_line_says(subtests: pytest.Subtests):
    for line in lines("calls"):
        with subtests.test(line["manner"]):
            transport = Sent()
            found: dict[str, Any] = {"raised": None}
            with Client("http://127.0.0.1:9", transport=transport) as client:
                try:
                    getattr(client, line["call"])(**valued(line["with"]))
                except MnemologError as error:
                    found["raised"] = f"{type(error).__name__}: {error}"
            found["sent"] = len(transport.sent)
            if transport.sent:
                request = transport.sent[-1]
                found |= {"path": request.url.raw_path.decode(), "body": json.loads(request.content or b"null")}
            assert differs(found, line["comes"]) is None


def test_the_tables_have_a_hundred_and_fifty_lines_and_each_says_something_of_its_own():
    manners = [(table.stem, line["manner"]) for table in WORLD.glob("*.jsonl") for line in lines(table.stem)]
    assert len(manners) >= LEAST
    assert len(set(manners)) == len(manners)
