"""The simulation's seeds, ten a test; `make simulate SEEDS=5000` plays more."""

from __future__ import annotations

import pytest
from simulation.run import check_seed
from simulation.seeds import chunks, name


@pytest.mark.parametrize("seeds", chunks(), ids=name)
def test_nothing_is_lost_and_nothing_is_counted_twice(seeds: range):
    """Whatever crashes, freezes, moves or comes twice, the folds end up the same."""
    for seed in seeds:
        check_seed(seed)
