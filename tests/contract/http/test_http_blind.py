"""What users ask of the memory, take back and say again, by authors who had not seen the rules: floors.

A floor is what was measured when the test was written. No rule is to be tuned to a single line of these.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest_asyncio
from contract.front_door import FrontDoor, front_door
from support.tables import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wrong(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[str, list[str]]]:
    """Return the ids of the talks of each table after which not what should be is remembered."""
    async with front_door(tmp_path_factory.mktemp("worker")) as door:
        yield {name: [row["id"] for row in rows(name) if not await is_right(door, row)] for name, _, _ in FLOORS}


FLOORS = (("wishes_blind", 57, 60), ("repairs_blind", 39, 50), ("again_blind", 16, 20))
"""Each table with how many of its talks are right, and how many there are."""


@each(("table", "least", "of"), FLOORS)
def test_so_many_talks_are_remembered_as_they_should_be(
    wrong: Mapping[str, list[str]], table: str, least: int, of: int
):
    assert (len(rows(table)), of - len(wrong[table]) >= least) == (of, True), f"wrong: {', '.join(wrong[table])}"


def rows(table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{table}.jsonl").read_text("utf-8").splitlines()]


async def is_right(door: FrontDoor, row: Mapping[str, Any]) -> bool:
    """Take a talk's steps, and return whether all that should be active is, and nothing else that was said."""
    user = row["id"]
    for step in row.get("steps") or ({"say": text} for text in row["turns"]):
        session = {"session_id": step["session"]} if "session" in step else {}
        if "say" in step:
            message = {"role": "user", "content": step["say"]}
            message |= {"occurred_at": step["time"]} if "time" in step else {}
            talk = {"user_id": user, "messages": [message]} | session
            assert (await door.http.post("/v1/conversations?wait=10", json=talk)).status_code == 200
        else:
            meant = {"filters": json.dumps({"content": {"icontains": step["forget"]}})}
            await door.http.delete("/v1/memories", params={"user_id": user} | session | meant)
    session = {} if row.get("session", "default") == "default" else {"session_id": row["session"]}
    text = "\n".join(memory["content"] for memory in await active(door, user, **session)).casefold()
    kept, gone = (row.get(a) or row.get(b) or row.get(c, []) for a, b, c in (KEPT, GONE))
    return all(one.casefold() in text for one in kept) and not any(one.casefold() in text for one in gone)


KEPT, GONE = ("keep", "right", "active"), ("not_keep", "wrong", "gone")


async def active(door: FrontDoor, user: str, **session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await door.get("/v1/memories", user_id=user, page_size=200, **session)).json()[
        "items"
    ]
    return found
