"""Another encoder, beside the one that serves: forecast, built, compared, switched to and back."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import HashEmbedder, front_door
from support.failing_disk import failing_disk
from support.tiny_encoder import write_encoder

from mnemolog.operations.reembedding import FILL_EVERY_SECONDS, Reembedder
from projections.embedding.embedder import EmbedderUnavailable
from projections.embedding.serving import ServingEmbedder
from projections.encrypted_files import open_database
from projections.queries.search import Question
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contract.front_door import FrontDoor

    from projections.embedding.embedder import Vectors

FACTS = ["likes coffee", "works in Berlin", "我喜欢喝咖啡", "plays the violin", "has a dog called Rex"]


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return f"onnx:{write_encoder(tmp_path / 'tiny')}"


async def cosines(door: FrontDoor, query: str = "likes coffee") -> dict[str, float]:
    found = (await door.post("/v1/search", {"user_id": "u1", "query": query, "recall": False, "limit": 20})).json()[
        "results"
    ]
    return {hit["content"]: hit["scores"]["semantic"] for hit in found}


async def reembed(door: FrontDoor, status: int = 200, **body: object) -> dict[str, Any]:
    answer = await door.post("/v1/admin/reembed", body)
    assert answer.status_code == status, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def serving(door: FrontDoor) -> dict[str, Any]:
    body: dict[str, Any] = (await door.get("/v1/admin/reembed")).json()
    return body


async def test_an_encoder_is_built_beside_the_serving_one_and_switched_to_and_back(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        for fact in FACTS:
            await door.remember(fact)
        before, digest = await cosines(door), (await door.get("/v1/admin/digest")).json()
        forecast = await reembed(door, encoder=tiny, what="forecast")
        assert forecast["memories"] == len(FACTS)
        assert forecast["characters"] == sum(map(len, FACTS))
        assert forecast["tokens"] > len(FACTS) * 2
        assert not list((tmp_path / "data" / "encodings").glob("*.sqlite3"))
        built = await reembed(door, encoder=tiny)
        assert (built["memories"], built["model"][:10]) == (len(FACTS), "onnx:tiny#")
        assert (await reembed(door, encoder=tiny))["memories"] == 0
        assert await cosines(door) == before
        await reembed(door, encoder=tiny, what="activate")
        after = await cosines(door)
        assert after.keys() == before.keys()
        assert after != before
        assert (await serving(door))["active"] == tiny
        assert (await door.get("/v1/admin/digest")).json() == digest
        await reembed(door, encoder="builtin", what="activate")
        assert await cosines(door) == before
        assert (await door.get("/v1/admin/digest")).json() == digest


async def test_a_search_during_which_another_encoder_begins_to_serve_finds_by_that_one(
    tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
):
    async with front_door(tmp_path / "data") as door:
        for fact in FACTS:
            await door.remember(fact)
        sync = door.worker.index_sync
        search = sync.search

        async def after_the_switch(*asked: Any) -> Any:
            monkeypatch.setattr(sync, "search", search)
            await reembed(door, encoder=tiny, what="activate")
            return await search(*asked)

        monkeypatch.setattr(sync, "search", after_the_switch)
        found = await cosines(door)
        assert (await serving(door))["active"] == tiny
        assert found == await cosines(door)
        assert found["likes coffee"] > 0.99


async def test_what_is_formed_after_the_switch_is_found_by_both(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        await door.remember("likes coffee")
        await reembed(door, encoder=tiny, what="activate")
        await door.remember("likes cold coffee")
        assert set(await cosines(door, "qqq coffee")) == {"likes coffee", "likes cold coffee"}
        assert (await reembed(door, encoder="builtin", what="activate"))["memories"] == 1
        both = await cosines(door)
        assert both["likes coffee"] == 1
        assert "likes cold coffee" in both


async def test_what_comes_without_a_vector_of_the_active_encoder_gets_one_in_time(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        await door.remember("likes coffee")
        await reembed(door, encoder=tiny, what="activate")
        serving_now, door.worker.embedder.current = door.worker.embedder.current, door.embedder
        await door.remember("likes cold coffee")  # embedded as before the switch
        door.worker.embedder.current = serving_now
        async with asyncio.timeout(120):
            while not await is_made(door, tiny):  # noqa: ASYNC110 - it is made in the background, which tells nobody
                await asyncio.sleep(0.1)
        assert (await cosines(door, "likes cold coffee"))["likes cold coffee"] == 1


async def is_made(door: FrontDoor, encoder: str) -> bool:
    return bool((await reembed(door, encoder=encoder, what="forecast"))["memories"] == 0)


async def test_what_was_active_serves_after_a_restart_until_the_setting_changes(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        for fact in FACTS:
            await door.remember(fact)
        before = await cosines(door)
        await reembed(door, encoder=tiny, what="activate")
        after = await cosines(door)
    async with front_door(tmp_path / "data") as door:
        assert (await serving(door))["active"] == tiny
        assert await cosines(door) == after != before
    async with front_door(tmp_path / "data", embedding_model=f"{tiny}?query=q") as door:
        assert (await serving(door))["active"] == f"{tiny}?query=q"
        assert (await serving(door))["is_encoding"] is False


class FailingEmbedder(HashEmbedder):
    """Answers so many calls, and then is down until it is told that it is up."""

    model = "failing"

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        self.calls -= 1
        self.is_down = self.calls < 0
        return await super().embed(texts, urgent=urgent)

    async def close(self) -> None:
        """Hold nothing."""


async def test_a_build_that_ends_early_goes_on_where_it_ended(tmp_path: Path):
    failing = FailingEmbedder(2)
    async with front_door(tmp_path / "data") as door:
        for user in ("u1", "u2", "u3", "u4"):
            await door.remember("likes coffee", user)
        made = Reembedder(
            folder=tmp_path / "encodings",
            configured="builtin",
            make=lambda _: failing,
            serving=ServingEmbedder(door.embedder),
            shards=door.worker.shards,
            index_sync=door.worker.index_sync,
        )
        with pytest.raises(EmbedderUnavailable):
            await made.builder.build("other")
        assert made.report()["running"] is None
        failing.calls = 100
        # Whoever asks for the same meanwhile waits, and finds it made.
        both = await asyncio.gather(made.builder.build("other"), made.builder.build("other"))
        assert [one["memories"] for one in both] == [2, 0]
        await door.remember("sings")
        assert (await made.builder.build("other"))["memories"] == 1
        await made.close()


def rows_of(folder: Path) -> set[tuple[str, str]]:
    """Return the user and the memory of each vector in the encodings of a folder."""
    rows = set()
    for path in folder.glob("*.sqlite3"):
        with closing(open_database(path, "ro")) as connection:
            rows |= set(connection.execute("select user_id, memory_id from vectors"))
    return rows


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_what_is_erased_leaves_the_vectors_of_other_encoders_too(tmp_path: Path, tiny: str, encryption: str):
    folder = tmp_path / "data" / "encodings"
    async with front_door(tmp_path / "data", encryption=encryption) as door:
        first, second = [(await door.remember(fact))["memory_id"] for fact in FACTS[:2]]
        other = (await door.remember("likes coffee", "u2"))["memory_id"]
        await reembed(door, encoder=tiny)
        assert rows_of(folder) == {("u1", first), ("u1", second), ("u2", other)}
        gone = await door.http.delete(f"/v1/memories/{first}", params={"forever": "true"})
        assert gone.status_code == 200
        assert rows_of(folder) == {("u1", second), ("u2", other)}
        await door.worker.user_erasures.erase(Owner("default", "u1"), "once")
        assert rows_of(folder) == {("u2", other)}


class HeldEmbedder(FailingEmbedder):
    """Answers when it may."""

    def __init__(self) -> None:
        super().__init__(100)
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        self.asked.set()
        await self.may_answer.wait()
        return await super().embed(texts, urgent=urgent)


async def test_a_build_says_how_far_it_is_and_keeps_nothing_of_who_is_erased_meanwhile(tmp_path: Path):
    held = HeldEmbedder()
    async with front_door(tmp_path / "data") as door:
        ids = {user: (await door.remember("likes coffee", user))["memory_id"] for user in ("u1", "u2")}
        made = Reembedder(
            folder=tmp_path / "data" / "encodings",
            configured="builtin",
            make=lambda _: held,
            serving=ServingEmbedder(door.embedder),
            shards=door.worker.shards,
            index_sync=door.worker.index_sync,
        )
        build = asyncio.create_task(made.builder.build("other"))
        await held.asked.wait()
        running = made.report()["running"]
        assert running == {"encoder": "other", "done": 0, "total": 2, "remaining_seconds": None}
        await door.worker.user_erasures.erase(Owner("default", "u1"), "once")
        await door.worker.user_erasures.erase(Owner("default", "u2"), "once")
        again = (await door.remember("plays the violin", "u2"))["memory_id"]
        held.may_answer.set()
        assert (await build)["memories"] == 1
        assert made.report()["running"] is None
        assert rows_of(tmp_path / "data" / "encodings") == {("u2", again)}
        assert again != ids["u2"]
        await made.close()


async def test_on_a_disk_that_takes_nothing_each_step_says_what_to_do_and_what_served_goes_on_serving(
    tmp_path: Path, tiny: str
):
    async with front_door(tmp_path / "data") as door:
        for fact in FACTS:
            await door.remember(fact)
        before, digest = await cosines(door), (await door.get("/v1/admin/digest")).json()  # and all is committed
        with failing_disk():
            assert "and do it again" in (await reembed(door, 503, encoder=tiny))["detail"]
        assert (await reembed(door, encoder=tiny))["memories"] == len(FACTS)
        in_the_way = tmp_path / "data" / "encodings" / "active.new"
        in_the_way.mkdir()
        said = await reembed(door, 503, encoder=tiny, what="activate")
        assert "look at its disk, and do it again" in said["detail"]
        assert ((await serving(door))["active"], await cosines(door)) == ("builtin", before)
        in_the_way.rmdir()
        await reembed(door, encoder=tiny, what="activate")
        assert await cosines(door) != before
        assert (await door.get("/v1/admin/digest")).json() == digest
    async with front_door(tmp_path / "data") as door:
        assert (await serving(door))["active"] == tiny


async def test_what_lacks_a_vector_waits_while_the_disk_takes_nothing(tmp_path: Path, tiny: str):
    """The worker goes on."""
    async with front_door(tmp_path / "data") as door:
        await door.remember("likes coffee")
        await reembed(door, encoder=tiny, what="activate")
        serving_now, door.worker.embedder.current = door.worker.embedder.current, door.embedder
        await door.remember("likes cold coffee")
        door.worker.embedder.current = serving_now
        await door.get("/v1/admin/digest")
        with failing_disk():
            await asyncio.sleep(2 * FILL_EVERY_SECONDS)
        assert door.worker.failure is not None
        assert not door.worker.failure.done()
        async with asyncio.timeout(120):
            while not await is_made(door, tiny):  # noqa: ASYNC110 - it is made in the background, which tells nobody
                await asyncio.sleep(0.1)


async def test_a_file_of_vectors_that_cannot_be_opened_keeps_no_worker_from_starting(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        await door.remember("likes coffee")
        before = await cosines(door)
        await reembed(door, encoder=tiny, what="activate")
    [file] = (tmp_path / "data" / "encodings").glob("*.sqlite3")
    file.rename(tmp_path / "aside")
    file.mkdir()
    async with front_door(tmp_path / "data") as door:
        assert ((await serving(door))["active"], await cosines(door)) == ("builtin", before)
    file.rmdir()
    (tmp_path / "aside").rename(file)
    async with front_door(tmp_path / "data") as door:
        assert (await serving(door))["active"] == tiny


async def test_two_encoders_are_compared_by_questions(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        ids = [(await door.remember(fact))["memory_id"] for fact in FACTS]
        asked = [{"user_id": "u1", "query": fact, "expected": [i]} for fact, i in zip(FACTS, ids, strict=True)]
        body = {"encoder": tiny, "questions": [*asked, {"user_id": "u1", "query": "x", "expected": ["unknown"]}]}
        found = (await door.post("/v1/admin/reembed/compare", body)).json()
        assert found["questions"] == len(FACTS) + 1
        for one in (found["active"], found["other"]):
            assert one["recall_at_5"] == one["recall_at_10"] == pytest.approx(5 / 6)
        assert (found["active"]["encoder"], found["other"]["encoder"]) == ("builtin", tiny)
        assert found["differing"] == []
        assert (await serving(door))["active"] == "builtin"


async def test_an_encoder_that_cannot_be_used_changes_nothing(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        await door.remember("likes coffee")
        for encoder, fault in (
            ("onnx:/nowhere", "is no folder"),
            ("model-x", "EMBEDDING_BASE_URL"),
            ("en=builtin", "one encoder serves all"),
        ):
            refused = await door.post("/v1/admin/reembed", {"encoder": encoder, "what": "activate"})
            assert (refused.status_code, fault in refused.json()["detail"]) == (422, True)
        assert (await serving(door))["active"] == "builtin"
        os.truncate(tiny.removeprefix("onnx:") + "/model.onnx", 40)
        await reembed(door, 503, encoder=tiny, what="activate")
        assert (await serving(door))["active"] == "builtin"
        assert (await cosines(door))["likes coffee"] == 1


async def test_a_second_hop_goes_by_the_vectors_that_serve(tmp_path: Path, tiny: str):
    async with front_door(tmp_path / "data") as door:
        await door.remember("likes coffee")
        await reembed(door, encoder=tiny, what="activate")
        await door.remember("plays the violin")
        search, owner = door.worker.queries.index_search, Owner("default", "u1")
        [view] = await search.views("likes coffee")
        pool = await search.pool(
            door.worker.shards.resolve(owner), Question(text="likes coffee"), [view], now=door.clock.now()
        )
        best = pool.best(2)
        found = search.vectors.comparable(view, owner, [one.memory for one in best])
        assert len(found) == len(best) == 2
        assert view.model == door.worker.embedder.model
        [coffee] = [one.memory.memory_id for one in best if one.memory.content == "likes coffee"]
        assert float(found[coffee] @ view.vector) == pytest.approx(1, abs=1e-5)
        asked = {"user_id": "u1", "query": "likes coffee", "recall": False, "hops": 2}
        assert (await door.post("/v1/search", asked)).json()["results"][0]["content"] == "likes coffee"
