"""An operation over all partitions: the answers of all workers, complete and with the same settings, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from support.workbench import Workbench

from mnemolog.cluster.peers import Peers, PeerUnavailable, WorkerAnswer, WorkersDiffer
from mnemolog.cluster.scatter_gather import ScatterGather, check_settings, collect
from mnemolog.settings import from_environment
from schemas.log import RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

HERE = "http://here:8420"


class TwoPeers(Peers):
    """Peers that hold no partition: each request is kept, and answered by what `answers` has for the URL."""

    def __init__(self, bench: Workbench) -> None:
        self.shards = bench.shards
        super().__init__(self.shards, dict, lambda: ["http://a", "http://b"], HERE)
        self.answers: dict[str, Any] = {url: {"partitions": [], "body": {"from": url}} for url in self.others()}
        self.requests: list[tuple[str, str, object]] = []

    async def ask(self, url: str, target: str, body: object, seconds: float | None = None) -> dict[str, Any]:  # noqa: ARG002
        self.requests.append((url, target, body))
        answer = self.answers[url]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)


@pytest_asyncio.fixture
async def peers(tmp_path: Path) -> AsyncIterator[TwoPeers]:
    bench = Workbench(tmp_path)
    peers = TwoPeers(bench)
    yield peers
    await peers.aclose()
    bench.close()


@pytest.fixture
def cluster(peers: TwoPeers, tmp_path: Path) -> ScatterGather:
    return ScatterGather(peers.shards, peers, HERE, from_environment({}, data_dir=tmp_path))


async def here() -> dict[str, Any]:
    return {"from": "here"}


async def test_an_operation_is_done_here_and_asked_of_all_others(cluster: ScatterGather, peers: TwoPeers):
    bodies = await cluster.gather(here(), "digest", {"n": 1}, None)
    assert bodies == [{"from": "here"}, {"from": "http://a"}, {"from": "http://b"}]
    assert peers.requests == [(url, "/v1/internal/digest", {"n": 1}) for url in ("http://a", "http://b")]


async def test_one_worker_that_is_gone_fails_the_operation(cluster: ScatterGather, peers: TwoPeers):
    peers.answers["http://b"] = PeerUnavailable("gone")
    with pytest.raises(PeerUnavailable, match="gone"):
        await cluster.gather(here(), "digest", {}, None)


async def test_an_answer_is_refused_when_partitions_moved_while_it_was_made(cluster: ScatterGather, peers: TwoPeers):
    async def released() -> dict[str, Any]:
        peers.shards.assignment.release(0)
        return {}

    with pytest.raises(PeerUnavailable, match="partitions moved between workers meanwhile"):
        await cluster.local_answer(released())


async def test_a_notice_passes_over_workers_that_are_gone(cluster: ScatterGather, peers: TwoPeers):
    peers.answers["http://a"] = PeerUnavailable("gone")
    await cluster.notify_others("rebuild/drop", {"rebuild_id": "r"})
    assert [url for url, _, _ in peers.requests] == ["http://a", "http://b"]


async def test_a_notice_that_fails_otherwise_is_not_swallowed(cluster: ScatterGather, peers: TwoPeers):
    peers.answers["http://a"] = RecordTooLarge("too large")
    with pytest.raises(RecordTooLarge):
        await cluster.notify_others("rebuild/drop", {})


async def test_a_worker_with_another_index_is_found(cluster: ScatterGather, peers: TwoPeers):
    await cluster.check_settings()
    peers.answers["http://b"]["settings"] = {"index": "weaviate://w:1"}
    with pytest.raises(WorkersDiffer, match=r"embedded at http://here:8420, and weaviate://w:1 at http://b"):
        await cluster.check_settings()


def answer(url: str, *partitions: int, index: str = "embedded") -> WorkerAnswer:
    return WorkerAnswer(frozenset(partitions), {"from": url}, url, {"index": index, "embedding_model": "builtin"})


def test_workers_with_the_same_settings_pass():
    check_settings([answer("http://a", 0), answer("http://b", 1)])


def test_workers_that_differ_are_named_with_the_setting():
    with pytest.raises(WorkersDiffer, match=r"MNEMOLOG_INDEX is embedded at http://a, and weaviate://w:1 at http://b"):
        check_settings([answer("http://a", 0), answer("http://b", 1, index="weaviate://w:1")])


def test_answers_that_cover_each_partition_once_are_collected():
    assert collect([answer("http://b", 1), answer("http://a", 0, 2)], 3) == [{"from": "http://b"}, {"from": "http://a"}]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([answer("http://a", 0)], r"no worker holds \[1\]"),
        ([answer("http://a", 0, 1), answer("http://b", 1)], "held twice"),
    ],
)
def test_answers_about_partitions_that_move_are_refused(answers: list[WorkerAnswer], says: str):
    with pytest.raises(PeerUnavailable, match=says):
        collect(answers, 2)
