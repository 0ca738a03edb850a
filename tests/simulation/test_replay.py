"""A seed is a run: the same steps, the same records, the same end, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from simulation.run import play
from simulation.workload import Workload

TESTS = Path(__file__).resolve().parents[1]
SEED = 3


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
    first, second = play(Workload.of_seed(SEED)), play(Workload.of_seed(SEED))
    assert first == second


def test_another_seed_has_another_trace():
    assert play(Workload.of_seed(SEED)).trace != play(Workload.of_seed(SEED + 1)).trace


def test_a_trace_does_not_depend_on_the_order_of_hashes():
    first = trace("1")
    assert first.startswith("trace ")
    assert first == trace("2")


def test_faults_do_happen():
    """A run with faults is not a calm one with another name."""
    happened = sum(
        (play(Workload.of_seed(seed)).happened for seed in range(5)), start=play(Workload.of_seed(5)).happened
    )
    assert {"_crash", "_freeze", "_move", "_all", "_storm"} <= set(happened)
