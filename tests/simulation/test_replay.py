"""A seed is a run: the same steps, the same records, the same end, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

from simulation.run import Played, play
from simulation.workload import Workload

TESTS = Path(__file__).resolve().parents[1]
SEED = 3
ALONE_SEED = 2
"""Its worker is alone."""
FULL_SEED = 4
"""Its disks are full at times."""


@cache
def played(seed: int) -> Played:
    """Play a seed, once for all tests."""
    return play(Workload.of_seed(seed))


def trace(hash_seed: str) -> str:
    """Play two seeds in a process of their own; return the hash of all their steps and records."""
    played = subprocess.run(  # noqa: S603 - our own runner
        [sys.executable, "-m", "simulation.run", "--from", str(SEED), "--seeds", "2"],
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": hash_seed},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return played.stdout.splitlines()[0]


def test_a_seed_has_the_same_trace_twice():
    for seed in (SEED, ALONE_SEED, FULL_SEED):
        assert played(seed) == play(Workload.of_seed(seed))


def test_another_seed_has_another_trace():
    assert played(SEED).trace != played(SEED + 1).trace


def test_a_trace_does_not_depend_on_the_order_of_hashes():
    here = blake2b(digest_size=16)
    for seed in (SEED, SEED + 1):
        here.update(played(seed).trace.encode())
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    assert trace(other) == f"trace {here.hexdigest()}"


def test_faults_do_happen():
    """A run with faults is not a calm one with another name."""
    happened = {what for seed in range(6) for what in played(seed).happened}
    assert {"_crash", "_freeze", "_move", "_all", "_storm"} <= happened


def test_a_worker_that_is_alone_decides_some_commands_at_once_and_others_not():
    happened = played(ALONE_SEED).happened
    assert {"decided at once", "not decided at once", "answers decided at once"} <= set(happened)


def test_commits_fail_where_disks_are_full():
    assert played(FULL_SEED).happened["commits that failed"]
