"""What agents ask over HTTP: profile, episodes, counts, and working memory."""

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


async def test_a_profile_names_the_memory_of_each_value(door: FrontDoor):
    name = await door.remember("is called Li", "u/1", attribute="user_name", value="Li")
    tea = await door.remember("likes tea", "u/1", attribute="likes", value="tea")
    profile = (await door.http.get("/v1/users/u%2F1/profile")).json()
    assert (profile["user_name"], profile["likes"], profile["birthday"]) == ("Li", ["tea"], None)
    assert profile["sources"] == {"user_name": name["memory_id"], "likes": {"tea": tea["memory_id"]}}
    assert "Li" in profile["text"]


async def test_a_profile_is_that_of_an_agent_and_of_a_time(door: FrontDoor):
    await door.remember("likes tea", "seen", attribute="likes", value="tea", agent_id="luna")
    assert (await door.get("/v1/users/seen/profile", agent_id="luna")).json()["likes"] == ["tea"]
    assert (await door.get("/v1/users/seen/profile", agent_id="aria")).json()["likes"] == []
    assert (await door.get("/v1/users/seen/profile", as_of="2020-01-01T00:00:00Z")).json()["likes"] == []
    assert (await door.get("/v1/users/seen/profile", known_at="2020-01-01T00:00:00Z")).status_code == 422


async def test_a_profile_has_lunas_nine_fields_and_the_further_ones(door: FrontDoor):
    profile = (await door.get("/v1/users/nobody/profile")).json()
    single = "user_name birthday occupation age city employer relationship_status language communication_style"
    lists = (
        "likes dislikes personality_traits pet_names sensitive_topics "
        "interests skills allergies family friends accounts usage_patterns"
    )
    assert {name: profile[name] for name in single.split()} == dict.fromkeys(single.split())
    assert {tuple(profile[name]) for name in lists.split()} == {()}
    rest = {"important_dates": {}, "other": {}, "sources": {}, "text": ""}
    assert {name: profile[name] for name in profile if name not in f"{single} {lists}".split()} == rest


@pytest.mark.parametrize(("policy", "name", "status"), [("supersede", "Lin", 201), ("keep", "Li", 409)])
async def test_of_two_names_the_newest_is_shown_or_the_first(
    tmp_path_factory: pytest.TempPathFactory, policy: str, name: str, status: int
):
    async with front_door(tmp_path_factory.mktemp(policy), profile_conflict=policy) as opened:
        await opened.remember("is called Li", attribute="user_name", value="Li")
        newest = {"user_id": "u1", "content": "is called Lin", "attribute": "user_name", "value": "Lin"}
        assert (await opened.post("/v1/memories", newest)).status_code == status
        await opened.remember("likes tea", attribute="likes", value="tea")
        await opened.remember("likes Tea too", attribute="likes", value="Tea")
        await opened.remember("likes jam", attribute="likes", value="jam")
        await opened.remember("plays go", attribute="board_games", value="go")
        await opened.remember("plays chess", attribute="board_games", value="chess")
        profile = (await opened.get("/v1/users/u1/profile")).json()
    assert (profile["user_name"], profile["likes"]) == (name, ["tea", "jam"])
    assert profile["other"] == {"board_games": ["go", "chess"]}
    assert profile["text"] == f"- user_name: {name}\n- likes: tea, jam\n- board_games: go, chess"


async def test_forgetting_the_memory_empties_the_slot(door: FrontDoor):
    name = await door.remember("is called Li", "slot", attribute="user_name", value="Li")
    await door.http.delete(f"/v1/memories/{name['memory_id']}")
    assert (await door.get("/v1/users/slot/profile")).json()["user_name"] is None


async def test_profiles_can_be_switched_off(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("off"), user_profile=False) as door:
        await door.remember("is called Li", "u1", attribute="user_name", value="Li")
        profile = (await door.get("/v1/users/u1/profile")).json()
        assert (profile["user_name"], profile["text"], profile["sources"]) == (None, "", {})


async def test_episodes_are_listed_newest_first(door: FrontDoor):
    await door.remember("had a fight", "episodes", kind="episodic")
    await door.remember("made up", "episodes", kind="episodic")
    await door.remember("likes tea", "episodes")
    page = (await door.get("/v1/users/episodes/episodes")).json()
    assert [item["content"] for item in page["items"]] == ["made up", "had a fight"]
    assert (await door.get("/v1/users/episodes/episodes", page_size=1, page=2)).json()["items"] == page["items"][1:]
    assert (await door.get("/v1/users/episodes/episodes", page_size=201)).status_code == 422


async def test_counts_are_by_type_and_by_category(door: FrontDoor):
    await door.remember("likes tea", "stats", category="preference")
    await door.remember("flies on Monday", "stats", category="schedule", memory_type="short_term")
    await door.remember("likes coffee", "stats", category="preference")
    assert (await door.get("/v1/users/stats/stats")).json() == {
        "total": 3,
        "by_type": {"long_term": 2, "short_term": 1},
        "by_category": {"preference": 2, "schedule": 1},
    }
    await door.remember("calls the user 小明", "stats", agent_id="luna", category="people")
    await door.remember("plays chess with the user", "stats", agent_id="aria")
    assert (await door.get("/v1/users/stats/stats", agent_id="luna")).json() == {
        "total": 4,
        "by_type": {"long_term": 3, "short_term": 1},
        "by_category": {"preference": 2, "schedule": 1, "people": 1},
    }
    assert (await door.get("/v1/users/nobody/stats")).json() == {"total": 0, "by_type": {}, "by_category": {}}


async def test_working_memory_is_the_most_recent_turns_as_published(door: FrontDoor):
    context = {"intimacy": 30, "mood": "happy", "gift": "围巾"}
    events = [turn(f"w-{n}", f"number {n}", user_id="turns", session_id="a/b") for n in range(4)]
    events.append(turn("w-4", "last", user_id="turns", session_id="a/b", context=context, metadata={"k": 1}))
    await door.post("/v1/events", events)
    items = (await door.http.get("/v1/sessions/a%2Fb/turns?user_id=turns&limit=3")).json()["items"]
    assert [item["content"] for item in items] == ["number 2", "number 3", "last"]
    assert items[-1]["context"] == {"intimacy": 30.0, "mood": "happy", "scene": None, "gift": "围巾"}
    assert items[-1]["metadata"] == {"k": 1}
    assert (await door.get("/v1/sessions/none/turns", user_id="turns")).json() == {"items": []}
    assert (await door.get("/v1/sessions/none/turns", user_id="turns", limit=201)).status_code == 422


@pytest.mark.parametrize("path", ["/v1/users/*/profile", "/v1/users/%0A/stats", "/v1/users/*/episodes"])
async def test_a_reserved_or_broken_user_is_refused(door: FrontDoor, path: str):
    assert (await door.http.get(path)).status_code == 422


async def test_a_route_that_is_not_there_is_not_found(door: FrontDoor):
    assert (await door.http.get("/v1/users/u1/keys")).status_code == 404


async def test_a_user_can_be_erased_and_not_read_as_a_whole(door: FrontDoor):
    answer = await door.http.get("/v1/users/u1")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE")


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        (
            "/v1/memories",
            {"user_id": "m", "content": "x", "attribute": "birthday"},
            "has an attribute without its value",
        ),
        ("/v1/memories/none/share", {}, "names nobody"),
        ("/v1/memories/none/share", {"agent_id": "nova", "scope": "global"}, "is for everyone and for somebody"),
    ],
)
async def test_what_is_wrong_with_the_body_as_a_whole_is_said(
    door: FrontDoor, path: str, body: dict[str, str], says: str
):
    refused = await door.post(path, body)
    assert refused.status_code == 422
    assert says in refused.json()["errors"][0]["message"]
