"""What one worker of a group is told by another."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import orjson
import pytest
from support.workbench import Workbench

from mnemolog.cluster.peers import Peers, PeerUnavailable
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
