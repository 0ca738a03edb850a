"""Questions in another language than the turns': what was said is found by its meaning, with the reply that it got."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn

from projections.embedding.embedder import EmbedderUnavailable
from projections.encrypted_files import open_database
from projections.queries.turns import making
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from projections.embedding.embedder import Vectors

WORDS = {"车站": "station", "小提琴": "violin", "猫": "cat", "名字": "name", "练": "practise"}
BOTH = ["memories", "turns"]


@asynccontextmanager
async def opened(folder: Path, **settings: object) -> AsyncIterator[FrontDoor]:
    """Start a worker whose embedder knows what a few Chinese words mean."""
    async with front_door(folder, **settings) as door:
        door.embedder.translations = WORDS
        yield door


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with opened(tmp_path) as door:
        yield door


async def say(door: FrontDoor, user_id: str, *said: tuple[str, str] | tuple[str, str, str]) -> None:
    """Publish turns of one session, each with its id and its words, and with its role unless it is the user's."""
    events = [turn(one[0], one[1], user_id=user_id, role=one[2] if len(one) == 3 else "user") for one in said]
    ended = {"type": "SessionEnded", "event_id": f"{said[-1][0]}-end", "user_id": user_id, "session_id": "s1"}
    assert (await door.post("/v1/events", [*events, ended])).status_code == 202
    assert (await door.post("/v1/admin/drain")).status_code == 200


async def talk(door: FrontDoor, user_id: str) -> None:
    """Say three things of which nothing is remembered, each with its reply."""
    await say(
        door,
        user_id,
        ("c-1", "那里怎么样？"),
        ("c-2", "那个车站很大。", "assistant"),
        ("c-3", "练什么好呢？"),
        ("c-4", "小提琴吧。", "assistant"),
        ("c-5", "猫呢？"),
        ("c-6", "很乖。", "assistant"),
    )


async def search(door: FrontDoor, user_id: str, query: str, **more: object) -> list[dict[str, Any]]:
    body = {"user_id": user_id, "query": query, "recall": False, "include": ["turns"]}
    answer = await door.post("/v1/search", body | more)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def ids(results: list[dict[str, Any]]) -> list[str]:
    return [result["turn_id"] for result in results]


async def first(door: FrontDoor, user_id: str, query: str, **more: object) -> str:
    [found, *_] = await search(door, user_id, query, **more)
    name: str = found.get("turn_id") or found["content"]
    return name


def vectors(folder: Path) -> list[tuple[str, str | None]]:
    """Return the turns that have a vector on disk, each with the reply that is in it."""
    found: list[tuple[str, str | None]] = []
    for path in folder.glob("shards/**/*.sqlite"):
        with closing(open_database(path, "ro")) as connection:
            found += connection.execute("select event_id, reply_id from turn_vectors order by event_id").fetchall()
    return found


async def test_vectors_of_turns_count_in_what_is_kept_of_a_user_once_they_are_there(door: FrontDoor):
    """They take ten times as much as the words; who asks once and never again would leave them uncounted."""
    await talk(door, "counted")
    await search(door, "counted", "station")
    kept = door.worker.queries.index_search.turn_index._users
    words = kept.peek(Owner("default", "counted"))
    assert words is not None
    assert words.meanings is not None
    assert (len(words.meanings), kept.nbytes) == (3, words.nbytes)


async def test_a_turn_is_found_by_its_own_meaning_and_by_that_of_its_reply(door: FrontDoor):
    await talk(door, "zh")
    assert await first(door, "zh", "a cat?") == "c-5"
    [found, *_] = await search(door, "zh", "station")
    assert (found["turn_id"], found["scores"]["keyword"]) == ("c-1", 0.0)
    assert found["scores"]["semantic"] == 1
    assert await first(door, "zh", "violin practise") == "c-3"


async def test_a_turn_in_the_language_of_the_question_is_not_found_by_its_meaning(door: FrontDoor, tmp_path: Path):
    await say(door, "en", ("e-1", "Is it far?"), ("e-2", "The station is near.", "assistant"))
    [found] = await search(door, "en", "station")
    assert found["scores"]["semantic"] == 0
    assert await search(door, "en", "violin") == []
    assert vectors(tmp_path) == [("e-1", "e-2")]


async def test_a_memory_is_found_by_what_was_replied_to_it(door: FrontDoor):
    await say(
        door,
        "zh",
        ("m-1", "我叫小雨。"),
        ("m-2", "好听的名字。", "assistant"),
        ("m-3", "我住在杭州。"),
        ("m-4", "离车站近吗？", "assistant"),
        ("m-5", "我喜欢喝茶。"),
        ("m-6", "好。", "assistant"),
    )
    assert "杭州" in await first(door, "zh", "near the station", include=["memories"])
    assert "小雨" in await first(door, "zh", "name", include=["memories"])


async def test_a_turn_comes_once_behind_the_memory_that_says_as_much(door: FrontDoor):
    await say(door, "zh", ("o-1", "我有一只猫。"), ("o-2", "真好。", "assistant"), ("o-3", "那里怎么样？"))
    found = await search(door, "zh", "cat", include=BOTH)
    assert [one["kind"] == "turn" for one in found if "猫" in one["content"]] == [False]


async def test_a_turn_is_not_hidden_by_a_memory_of_it_that_means_something_else(door: FrontDoor):
    await say(door, "zh", ("h-1", "我叫小雨。那个新的车站大吗？"), ("h-2", "那里怎么样？"))
    found = await search(door, "zh", "station", include=BOTH)
    assert "h-1" in [one.get("turn_id") for one in found]


async def test_vectors_are_kept_and_not_made_again_after_a_restart(tmp_path: Path):
    async with opened(tmp_path) as door:
        await talk(door, "zh")
        assert await first(door, "zh", "a cat?") == "c-5"
    assert vectors(tmp_path) == [("c-1", "c-2"), ("c-3", "c-4"), ("c-5", "c-6")]
    async with opened(tmp_path) as door:
        assert await first(door, "zh", "station") == "c-1"
        assert door.embedder.embedded == []


async def test_a_turn_delivered_twice_has_one_vector_and_the_same_answer(door: FrontDoor, tmp_path: Path):
    await talk(door, "zh")
    before = ids(await search(door, "zh", "station"))
    made = list(door.embedder.embedded)
    await talk(door, "zh")
    assert ids(await search(door, "zh", "station")) == before  # vectors are made again
    assert door.embedder.embedded == made
    assert vectors(tmp_path) == [("c-1", "c-2"), ("c-3", "c-4"), ("c-5", "c-6")]


async def test_a_reply_that_comes_later_is_in_the_vector_then(door: FrontDoor, tmp_path: Path):
    await say(door, "zh", ("c-1", "那里怎么样？"), ("c-3", "练什么好呢？"))
    await search(door, "zh", "violin")
    assert vectors(tmp_path) == [("c-1", None), ("c-3", None)]
    await say(door, "zh", ("c-4", "小提琴吧。", "assistant"))
    assert await first(door, "zh", "violin") == "c-3"
    assert vectors(tmp_path) == [("c-1", None), ("c-3", "c-4")]


def urgent_only(door: FrontDoor) -> Callable[..., Awaitable[Vectors]]:
    """Return an encoder that knows questions, and is away for all else."""
    embed = door.embedder.embed

    async def embeds(texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        if not urgent:
            raise EmbedderUnavailable("away")
        return await embed(texts, urgent=True)

    return embeds


async def test_without_an_encoder_turns_are_found_by_words_and_get_their_vectors_when_it_is_back(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    embed = door.embedder.embed
    monkeypatch.setattr(door.embedder, "embed", urgent_only(door))
    await talk(door, "zh")
    assert await search(door, "zh", "station") == []
    assert "c-4" in [one["turn_id"] for one in await search(door, "zh", "小提琴")]
    monkeypatch.setattr(door.embedder, "embed", embed)
    assert await first(door, "zh", "station") == "c-1"
    assert len(vectors(tmp_path)) == 3


async def test_an_encoder_that_goes_away_within_a_search_leaves_it_to_the_words_and_it_says_so(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    await talk(door, "zh")
    assert await first(door, "zh", "station") == "c-1"
    asked = {"user_id": "zh", "query": "station", "include": BOTH, "recall": False}

    async def outdated(*_: object) -> None:
        raise EmbedderUnavailable("away")

    monkeypatch.setattr(door.worker.queries.index_search._turn_meaning, "near", outdated)
    answer = (await door.post("/v1/search", asked)).json()
    assert (answer["results"], answer["evidence"], answer["degraded"]) == ([], "none", ["semantic"])


async def test_while_many_turns_have_no_vector_a_search_goes_without_and_says_so(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(making, "MOST_AWAITED", 2)
    embed = door.embedder.embed
    with monkeypatch.context() as away:
        away.setattr(door.embedder, "embed", urgent_only(door))
        await talk(door, "zh")
    assert door.embedder.embed == embed
    answer = (await door.post("/v1/search", {"user_id": "zh", "query": "station", "recall": False})).json()
    assert (answer["results"], answer["degraded"]) == ([], ["turns"])
    await say(door, "zh", ("c-7", "还有呢？"))
    assert len(vectors(tmp_path)) == 4
    answer = (await door.post("/v1/search", {"user_id": "zh", "query": "station", "recall": False})).json()
    assert (answer["results"][0]["turn_id"], "degraded" in answer) == ("c-1", False)


async def test_what_an_agent_does_not_know_is_not_found_by_its_meaning_either(door: FrontDoor):
    said = turn("a-1", "那个车站怎么样？", user_id="zh", agent_id="luna")
    await door.post("/v1/events", said)
    await door.post("/v1/admin/drain")
    assert await search(door, "zh", "station", agent_id="other") == []
    assert await first(door, "zh", "station", agent_id="luna") == "a-1"


async def test_turning_them_off_leaves_words_alone(tmp_path: Path):
    async with opened(tmp_path, turn_vectors=False) as door:
        await talk(door, "zh")
        assert await search(door, "zh", "station") == []
    assert vectors(tmp_path) == []


async def test_an_erased_user_leaves_no_vector_and_another_user_keeps_theirs(door: FrontDoor, tmp_path: Path):
    for user in ("zh", "other"):
        await talk(door, user)
        assert await first(door, user, "station") == "c-1"
    assert (await door.http.delete("/v1/users/zh")).status_code == 200
    await door.post("/v1/admin/drain")
    assert vectors(tmp_path) == [("c-1", "c-2"), ("c-3", "c-4"), ("c-5", "c-6")]
    assert await search(door, "zh", "station") == []
    assert await first(door, "other", "station") == "c-1"


async def test_an_erased_memory_takes_the_vectors_that_its_words_are_in(door: FrontDoor, tmp_path: Path):
    await say(
        door,
        "zh",
        ("c-1", "那里怎么样？"),
        ("c-2", "你住哪里？", "assistant"),
        ("c-3", "我住在杭州。"),
        ("c-4", "好。", "assistant"),
    )
    await search(door, "zh", "station")
    assert vectors(tmp_path) == [("c-1", "c-2"), ("c-3", "c-4")]
    [memory] = (await door.get("/v1/memories", user_id="zh")).json()["items"]
    answer = await door.http.delete(f"/v1/memories/{memory['memory_id']}", params={"forever": "true"})
    assert answer.status_code == 200, answer.text
    assert vectors(tmp_path) == [("c-1", "c-2")]
    assert "c-3" not in [one["turn_id"] for one in await search(door, "zh", "station")]


async def test_a_rebuild_has_the_same_digest_and_finds_the_same(door: FrontDoor):
    await talk(door, "zh")
    before, digest = ids(await search(door, "zh", "station")), (await door.get("/v1/admin/digest")).json()
    assert (await door.post("/v1/admin/rebuild", {})).status_code == 200
    assert (await door.get("/v1/admin/digest")).json() == digest
    assert ids(await search(door, "zh", "station")) == before  # vectors are made again
