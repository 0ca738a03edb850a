"""What is known already, as a model is shown it: which memories, in which order, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, said
from support.tables import each
from support.windows import piece, window
from support.workbench import CharacterEmbedder, Workbench

from projections.embedding.embedder import EmbedderUnavailable
from projections.profile.visibility import Visibility
from projections.text.measure import rough_tokens
from schemas.topics import INBOX
from streams.extraction.known import KnownMemories, within
from streams.extraction.protocol import Known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from projections.embedding.embedder import Vectors
    from streams.extraction.protocol import Window


class Away(CharacterEmbedder):
    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        raise EmbedderUnavailable("no answer")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Workbench]:
    bench = Workbench(tmp_path)
    turns = [
        await bench.says(f"t-{n}", text) for n, text in enumerate(("用户住在北京", "用户喜欢喝茶", "用户养了两只猫"))
    ]
    await bench.observes(*turns, await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    yield bench
    bench.close()


def known_of(
    bench: Workbench,
    *,
    tokens: int = 400,
    sees: Visibility = Visibility.EVERYTHING,
    embedder: CharacterEmbedder | None = None,
) -> KnownMemories:
    return KnownMemories(bench.shards, bench.index_sync, embedder or CharacterEmbedder(), lambda *_: sees, tokens)


def says(bench: Workbench, text: str, at: datetime | None = None, agent_id: str = "luna") -> Window:
    at = at or max(memory.formed_at for memory in bench.state().memories.values())
    turn = piece(9, text, occurred_at=at)
    return window(turn, tenant=XIAOMING.tenant, user_id=XIAOMING.user_id, agent_id=agent_id)


@pytest.mark.parametrize("embedder", [CharacterEmbedder(), Away()])
async def test_the_nearest_to_what_the_user_says_come_first(bench: Workbench, embedder: CharacterEmbedder):
    found = await known_of(bench, embedder=embedder).of(says(bench, "我现在喜欢喝咖啡了"))
    assert found[0].text == "用户喜欢喝茶"
    assert found[0].memory_id in bench.state().memories


async def test_what_the_user_names_comes_before_what_is_nearer(bench: Workbench):
    await bench.decides(said("Drinks tea.", "t-8", attribute="likes", value="tea"))
    await bench.decides(said("Lives up north.", "t-9", attribute="city", value="Oslo"))
    tea = await known_of(bench).of(says(bench, "Lives up north, tea"))
    city = await known_of(bench).of(says(bench, "Drinks. Would like a city."))
    assert (tea[0].text, city[0].text) == ("Drinks tea.", "Lives up north.")


async def test_what_another_agent_knows_or_was_not_yet_or_may_not_be_seen_is_not_shown(bench: Workbench):
    early = min(memory.formed_at for memory in bench.state().memories.values()).replace(year=2000)
    assert await known_of(bench).of(says(bench, "喝茶", agent_id="nova")) == []
    assert await known_of(bench).of(says(bench, "喝茶", at=early)) == []
    assert await known_of(bench, sees=Visibility.NAME_ONLY).of(says(bench, "喝茶")) == []


async def test_only_so_many_tokens_are_shown(bench: Workbench):
    found = await known_of(bench).of(says(bench, "喝茶"))
    fewer = await known_of(bench, tokens=20).of(says(bench, "喝茶"))
    assert len(found) == 3
    assert fewer == found[: len(fewer)]
    assert len(fewer) == 1


@each(("text", "tokens"), [("", 0), ("tea", 1), ("I like tea", 3), ("喜欢茶", 3), ("喜欢 tea", 3), ("お茶 차", 4)])
def test_tokens_are_counted_roughly_by_script(text: str, tokens: int):
    assert rough_tokens(text) == tokens


def test_a_memory_that_is_too_long_takes_the_place_of_no_other():
    long, short = Known(memory_id="a", text="long " * 500), Known(memory_id="b", text="short")
    assert within([long, short], 400) == [short]
    assert within([short], 0) == []
