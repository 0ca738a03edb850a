"""The manners of the world, tried on a worker: of models, embedding servers and clients. Each is a line of a table."""

from __future__ import annotations

import json
import re
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.front_door import FrontDoor, front_door
from support.mannered_endpoint import mannered_endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


@asynccontextmanager
async def asking(folder: Path, endpoint: MannersEndpoint) -> AsyncIterator[FrontDoor]:
    settings = {"extractor": "model", "llm_base_url": endpoint.url, "llm_api_key": "k", "llm_model": "m"}
    async with front_door(folder, **settings) as door:
        yield door


async def told(door: FrontDoor, number: int, line: dict[str, Any], endpoint: MannersEndpoint) -> Any:
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
        async with AsyncExitStack() as stack:
            shared = await stack.enter_async_context(asking(tmp_path / "shared", endpoint))
            for number, line in enumerate(lines("models")):
                with subtests.test(line["manner"]):
                    if line.get("fresh"):
                        async with asking(tmp_path / str(number), endpoint) as door:
                            found = await told(door, number, line, endpoint)
                    else:
                        found = await told(shared, number, line, endpoint)
                    assert differs(found, line["comes"]) is None
