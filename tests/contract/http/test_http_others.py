"""Keys about others over HTTP without a model: what changes for somebody takes the place of what was, with history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def tell(door: FrontDoor, user_id: str, *said: str) -> None:
    """Have the user say each of the texts a week after the one before, in a session of its own."""
    for number, text in enumerate(said, 1):
        days = {
            "user_id": user_id,
            "session_id": f"{user_id}-{number}",
            "occurred_at": f"2026-01-{7 * number:02}T09:00:00Z",
        }
        assert (await door.http.post("/v1/events?wait=60", json=turn(f"{user_id}-{number}", text, **days))).is_success


CHANGES = (
    ("my mother", "mother city", ("My mum lives in Leeds", "Leeds"), ("My mum moved to York", "York")),
    ("我的妈妈", "妈妈 city", ("我妈住在成都", "成都"), ("我妈妈搬到昆明了", "昆明")),
    ("the rent", "rent price", ("My rent is 800 a month.", "800"), ("My rent is 900 now.", "900")),
    ("和王总的会", "和王总的会 date", ("和王总的会定在1月20日", "2026-01-20"), ("和王总的会改到1月22日", "2026-01-22")),
)


@pytest.mark.parametrize(("asked", "key", "first", "then"), CHANGES)
async def test_a_newer_value_about_somebody_supersedes_the_older(
    door: FrontDoor, asked: str, key: str, first: tuple[str, str], then: tuple[str, str]
):
    user_id = f"o{len(first[0])}"
    await tell(door, user_id, first[0], "I work as a nurse.", then[0])
    of_them = {"user_id": user_id, "about": asked, "attribute": key.split(" ")[1]}
    [now] = (await door.get("/v1/memories", **of_them)).json()["items"]
    assert (now["content"][:6], f"{now['about']} {now['attribute']}", now["value"]) == (then[0][:6], key, then[1])
    [before] = (await door.get("/v1/memories", status="superseded", **of_them)).json()["items"]
    assert (before["content"][:6], before["value"]) == (first[0][:6], first[1])
    assert before["superseded_by"] == now["memory_id"]
    mine = (await door.get(f"/v1/users/{user_id}/profile")).json()
    assert (mine["city"], mine["occupation"], mine.get("other") or {}) == (None, "nurse", {})


async def test_what_somebody_likes_accumulates_and_each_key_of_a_sentence_is_kept(door: FrontDoor):
    await tell(door, "o5", "My sister loves chess and works as a nurse.", "My sister likes pottery.")
    items = (await door.get("/v1/memories", user_id="o5", about="my sister")).json()["items"]
    assert {(m["attribute"], m["value"]) for m in items} == {
        ("likes", "chess"),
        ("occupation", "nurse"),
        ("likes", "pottery"),
    }
