"""What one worker of a group is told by another."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import httpx
import orjson
import pytest
from support.garbage import garbage
from support.workbench import Workbench

from mnemolog.access.caller import in_name_of
from mnemolog.access.principal import Principal, Role
from mnemolog.access.statement import read_statement
from mnemolog.cluster import peers as peers_module
from mnemolog.cluster.peer_hosts import PeerHosts
from mnemolog.cluster.peers import PartitionMoved, Peers, PeerUnavailable
from mnemolog.cluster.proof import PROOF, Covered, Proof, signed_headers
from mnemolog.cluster.trust import FORWARDED, STATED, PeerTrust
from schemas.log import RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = b"of the workers of these tests alone"


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
        serving = Thread(target=server.serve_forever, args=(0.02,))
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


async def test_answers_leave_nothing_to_the_collector_of_garbage(tmp_path: Path):
    """What is old is rarely collected in a worker (`COLLECT_AFTER`), and most answers of a group come this way."""
    bench = Workbench(tmp_path)
    peers = Peers(bench.shards, dict, list, "http://127.0.0.1:9")
    try:
        with keeping() as (url, _):
            await peers.ask(url, "/v1/internal/lag", {})
            with garbage() as found:
                for _ in range(5):
                    await peers.ask(url, "/v1/internal/lag", {})
        assert not [one for one in found if isinstance(one, httpx.Response)]
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
        bench.shards.assignment.release(0)
        told |= dict.fromkeys(held, own)
        assert peers.unowned() == [0], "the group still says that this worker has it"
        told[0] = other
        assert peers.unowned() == []
    finally:
        await peers.aclose()
        bench.close()


@contextmanager
def keeping() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Answer other workers with an empty object; give the URL, and the path and headers of what came."""
    came: list[tuple[str, dict[str, str]]] = []

    class Keeping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            came.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Keeping) as server:
        serving = Thread(target=server.serve_forever, args=(0.02,))
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", came
        finally:
            server.shutdown()
            serving.join()


async def test_a_request_is_proven_and_states_in_whose_name_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # where nobody listens
    bench, own, theirs = Workbench(tmp_path), "http://127.0.0.1:9", Proof([SECRET])
    caller = Principal("acme", frozenset({Role.READ}), "k1", ("u1",))
    peers = Peers(bench.shards, dict, list, own, PeerTrust(is_proven=True, proof=Proof([SECRET])))
    try:
        with keeping() as (url, came):
            await peers.ask(url, "/v1/internal/digest", {"n": 1})
            with in_name_of(caller):
                await peers.ask(url, "/v1/internal/wakes?a=1%20b", {"n": 1})
    finally:
        await peers.aclose()
        bench.close()
    (_, on_its_own), (target, in_its_name) = came
    assert STATED not in on_its_own
    assert read_statement(in_its_name[STATED], time.time()) == caller
    for path, headers in came:
        covered = Covered(
            "POST", path, url, headers[FORWARDED], headers.get(STATED, ""), signed_headers(httpx.Headers(headers).raw)
        )
        assert theirs.verify(covered, headers[PROOF]) == sha256(b'{"n":1}').hexdigest()
    assert (target, in_its_name[FORWARDED]) == ("/v1/internal/wakes?a=1%20b", own)


async def test_a_place_that_no_worker_may_have_is_not_asked(tmp_path: Path):
    bench = Workbench(tmp_path)
    with keeping() as (url, came):
        for trust, why in (
            (PeerTrust(PeerHosts.named(["worker-?"])), "MNEMOLOG_PEERS allows"),
            (PeerTrust(PeerHosts.beside(None, needs_tls=True)), "give it a certificate"),
            (PeerTrust(why_none="no proof"), "no proof"),
        ):
            peers = Peers(bench.shards, dict, list, "http://127.0.0.1:9", trust)
            with pytest.raises(PeerUnavailable, match=why):
                await peers.ask(url, "/v1/internal/digest", {})
            await peers.aclose()
    bench.close()
    assert came == []


async def test_one_s_own_place_is_that_of_no_other_worker(tmp_path: Path):
    bench, own, other = Workbench(tmp_path), "http://127.0.0.1:9", "http://127.0.0.1:10"
    peers = Peers(bench.shards, dict, lambda: [own + "/", other], own)
    assert [peers.knows(url) for url in (own, own + "/", other, other + "/", "http://127.0.0.1:11")] == [
        False, False, True, True, False,
    ]  # fmt: skip
    await peers.aclose()
    bench.close()


@pytest.mark.parametrize("lives", [True, False])
async def test_whoever_waits_for_a_worker_is_told_at_once_that_the_partition_has_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, lives: bool
):
    monkeypatch.setattr(peers_module, "PROBE_AFTER_SECONDS", 0.05)
    monkeypatch.setattr(peers_module, "LIVE_SECONDS", 60)  # a probe that nobody answers decides nothing here
    asked, standing = asyncio.Event(), set[asyncio.Task[None] | None]()

    async def stand_still(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        standing.add(asyncio.current_task())
        if (await reader.readline()).startswith(b"GET /health/live") and lives:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        asked.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(stand_still, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    bench, told = Workbench(tmp_path), {0: url + "/", 1: url}
    peers = Peers(bench.shards, lambda: told, list, "http://127.0.0.1:9")
    try:
        waiting = asyncio.create_task(peers.send(url, "POST", "/v1/search", body=b"{}", headers={}, partition=0))
        await asyncio.wait_for(asked.wait(), 120)
        told[1] = "http://127.0.0.1:10"
        assert not (await asyncio.wait({waiting}, timeout=0.5))[0], "another partition has moved"
        told[0] = "http://127.0.0.1:10"
        with pytest.raises(PartitionMoved, match="partition 0 has left"):
            await asyncio.wait_for(waiting, 120)
    finally:
        await peers.aclose()
        server.close()
        await asyncio.gather(*filter(None, standing))
        bench.close()
