"""What the workers of a group answer together."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import orjson
import pytest
from support.workbench import Workbench

from mnemolog.cluster.peers import Part, Peers, PeerUnavailable, WorkersDiffer, alike, whole
from schemas.log import RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def answering(status: int, detail: str) -> Iterator[str]:
    """Answer every question of another worker with a problem, over HTTP; give the URL."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = orjson.dumps({"status": status, "detail": detail})
            self.send_response(status)
            self.send_header("content-type", "application/problem+json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


@pytest.mark.parametrize(("status", "raised"), [(413, RecordTooLarge), (503, PeerUnavailable), (500, PeerUnavailable)])
async def test_what_another_worker_will_never_take_is_not_to_be_asked_again(
    tmp_path: Path, status: int, raised: type[Exception]
):
    bench = Workbench(tmp_path)
    peers = Peers(bench.shards, dict, list, "http://127.0.0.1:9")
    try:
        with answering(status, "it would have 2000000 bytes") as url, pytest.raises(raised, match="2000000 bytes"):
            await peers.ask(url, "/v1/internal/events", {"messages": []})
    finally:
        await peers.aclose()
        bench.close()


def part(url: str, *partitions: int, index: str = "embedded") -> Part:
    return Part(frozenset(partitions), {"from": url}, url, {"index": index, "embedding_model": "builtin"})


def test_workers_with_the_same_settings_are_alike():
    alike([part("http://a", 0), part("http://b", 1)])


def test_workers_that_differ_are_named_with_the_setting():
    with pytest.raises(WorkersDiffer, match=r"MNEMOLOG_INDEX is embedded at http://a, and weaviate://w:1 at http://b"):
        alike([part("http://a", 0), part("http://b", 1, index="weaviate://w:1")])


def test_parts_that_cover_each_partition_once_are_whole():
    assert whole([part("http://b", 1), part("http://a", 0, 2)], 3) == [{"from": "http://b"}, {"from": "http://a"}]


@pytest.mark.parametrize(
    ("parts", "says"),
    [([part("http://a", 0)], r"nobody holds \[1\]"), ([part("http://a", 0, 1), part("http://b", 1)], "held twice")],
)
def test_parts_of_partitions_that_move_are_not(parts: list[Part], says: str):
    with pytest.raises(PeerUnavailable, match=says):
        whole(parts, 2)


async def test_a_partition_is_unowned_that_is_neither_held_nor_told_to_be_elsewhere(tmp_path: Path):
    bench = Workbench(tmp_path)
    held, own, other = set(bench.shards.held()), "http://127.0.0.1:9", "http://127.0.0.1:10"
    told: dict[int, str] = {}
    peers = Peers(bench.shards, lambda: told, list, own)
    try:
        assert peers.unowned() == []
        bench.shards.release(0)
        told |= dict.fromkeys(held, own)
        assert peers.unowned() == [0], "the group still says that this worker has it"
        told[0] = other
        assert peers.unowned() == []
    finally:
        await peers.aclose()
        bench.close()
