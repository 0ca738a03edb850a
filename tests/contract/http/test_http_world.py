"""The manners of the world, tried on a worker: of models, embedding servers and clients. Each is a line of a table."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.front_door import FrontDoor, front_door
from support.mannered_endpoint import mannered_endpoint

from projections.embedding.openai import OpenAIEmbedder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    import pytest
    from support.mannered_endpoint import MannersEndpoint

WORLD = Path(__file__).parents[2] / "data" / "world"
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


async def told(endpoint: MannersEndpoint, door: FrontDoor, number: int, line: dict[str, Any]) -> Any:
    """Return what came of a conversation: its last step, and in which forms the endpoint was asked."""
    body = {"user_id": f"u{number}", "messages": [{"role": "user", "content": BEES}]} | line.get("request", {})
    answer: dict[str, Any] = {}
    for rules in line.get("then", [line["server"]]):
        endpoint.behave(rules)
        response = await door.post(f"/v1/conversations?wait={line.get('wait', 20)}", body)
        answer = response.json()["accepted"][0]
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


async def embedded(endpoint: MannersEndpoint, door: FrontDoor, number: int, line: dict[str, Any]) -> Any:
    """Return what came of a conversation of five facts, or so many, and of a search in other words."""
    serving = door.worker.embedder
    serving.current = OpenAIEmbedder(base_url=endpoint.url, api_key="k", model="e", timeout_seconds=5)
    facts = line.get("facts", FACTS)
    user_id = f"e{number}"
    accepted: list[dict[str, Any]] = []
    for rules in line.get("then", [line["server"]]):
        endpoint.behave(rules)
        user_id += "-next"
        body = {"user_id": user_id, "messages": [{"role": "user", "content": text} for text in facts]}
        response = await door.post(f"/v1/conversations?wait={line.get('wait', 20)}", body)
        accepted = response.json()["accepted"][: len(facts)]  # what follows is the end of the session
    search = await door.post("/v1/search", {"user_id": user_id, "query": "honey"})
    await serving.current.close()
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
        await tried("embedders", made, partial(embedded, endpoint), tmp_path, subtests)
