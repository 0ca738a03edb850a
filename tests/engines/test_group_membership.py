"""A worker's place in the group on a real Kafka: taken again at once after a kill, and refused to a second one."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from engines.several import Several
from faults.cluster.worker_process import FORKED_UP, START_SECONDS, WorkerProcess
from support import forked_program
from support.free_ports import free_ports
from support.master_key import MASTER_KEY

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

SESSION_SECONDS = 80.0
"""Longer than a worker takes to be there again, on a busy machine too; nobody waits for it to end."""
SHORT_SECONDS = 6.0
"""The shortest session that a broker allows."""


def run_command(broker: str, folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command that is given a broker and no URL, as somebody does who knows of no worker.

    Return its exit code, and what it said on standard output and error.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MNEMOLOG_", "OPENAI_"))}
    own = {
        "MNEMOLOG_MASTER_KEY": MASTER_KEY,
        "MNEMOLOG_BROKER": f"kafka://{broker}",
        "MNEMOLOG_EXTRACTOR": "verbatim",
        "MNEMOLOG_DATA_DIR": str(folder),
    }
    done = forked_program.mnemolog(*arguments, environment=kept | own)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


async def test_a_command_without_a_url_asks_a_worker_of_the_group_and_is_one_itself_only_where_there_is_none(
    own_kafka: str, tmp_path: Path
):
    def command(*arguments: str) -> Awaitable[tuple[int, str, str]]:
        return asyncio.to_thread(run_command, own_kafka, tmp_path / "command", *arguments)

    _, _, alone = await command("remember", "likes tea", "--user", "asks")
    assert "none is in the group: this command runs its engine" in alone
    [port] = free_ports(1)
    settings = {
        "MASTER_KEY": MASTER_KEY,
        "BROKER": f"kafka://{own_kafka}",
        "EXTRACTOR": "verbatim",
        "SESSION_SECONDS": str(SHORT_SECONDS),
    }
    settings |= {"ADVERTISED_URL": f"http://127.0.0.1:{port}"}
    worker = WorkerProcess(tmp_path / "worker", port, settings, FORKED_UP)
    try:
        worker.start()
        await worker.ready()
        code, found, said = await command("memories", "--user", "asks")
        assert (code, "likes tea" in found) == (0, True)
        assert f"asking {worker.url}, a worker of the group" in said
        await worker.terminate()
    finally:
        worker.kill()


async def test_a_killed_worker_comes_back_before_its_session_ends_and_a_second_one_at_its_url_is_refused(
    own_kafka: str, tmp_path: Path
):
    settings = {
        "MASTER_KEY": MASTER_KEY,
        "BROKER": f"kafka://{own_kafka}",
        "EXTRACTOR": "verbatim",
        "SESSION_SECONDS": str(SESSION_SECONDS),
    }
    first, second, third = free_ports(3)
    workers = [
        WorkerProcess(tmp_path / str(port), port, settings | {"ADVERTISED_URL": f"http://127.0.0.1:{port}"}, FORKED_UP)
        for port in (first, second)
    ]
    impostor = {"ADVERTISED_URL": f"http://127.0.0.1:{first}/", "SESSION_SECONDS": str(SHORT_SECONDS)}
    same = WorkerProcess(tmp_path / "same", third, settings | impostor, FORKED_UP)
    two = Several(workers)
    try:
        for worker in workers:
            worker.start()
            await worker.ready()
        workers[1].kill()
        workers[1].start()
        await workers[1].ready()
        said = [worker.said_in_this_life() for worker in workers]
        assert any("has forgotten it" in each for each in said)  # of the dead one, whoever was the first to say so

        same.start()
        async with asyncio.timeout(START_SECONDS):
            while same.exit_code is None:  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.2)
        assert same.exit_code == 1
        assert (
            f"{impostor['ADVERTISED_URL']} is also that of another worker of the group, at 127.0.0.1"
            in same.said_in_this_life()
        )
        for number in (0, 1):
            assert (await two.json(number, "GET", "/v1/admin/digest"))["total"]
    finally:
        await two.http.aclose()
        for worker in (*workers, same):
            worker.kill()
