"""The simulation can fail: a worker with one mistake is caught, and the message says how to see it again."""

from __future__ import annotations

from simulation.mutants import MUTANTS
from simulation.run import SeedFailed, check_seed
from support.tables import each

WITHIN_SEEDS = 200
FOUND_BY = {
    "observe acknowledges what it has not extracted": 2,
    "work goes on after its partition was taken away": 9,
    "a shard is kept after its partition was taken away": 7,
    "a shard is decided upon before it is folded": 12,
    "the transport commits for a former owner": 187,
    "what outlives an erasure is left": 210,
    "the erasure of a memory loses what stays": 1,
    "an erasure does not wait for what is on its way": 58,
    "remember acknowledges what it has not decided": 3,
    "remember updates state before the acknowledgement": 1,
    "a wake is raised before its time": 3,
    "a worker believes any clock": 6,
    "the transport commits past records in work": 2,
    "a shard moves its offset before it folds": 46,
    "the fold counts void decisions": 2,
    "a shard loses what a failed commit took back": 44,
    "a command is decided before what came before it": 2,
    "a command is decided without what is not folded yet": 94,
    "a command that the log refused is answered as decided": 10,
}
"""Seeds that noticed a mistake before, soon: they are played first, and the others only where one does not any more.

Where a mistake has a seed run until its last step, which is ten seconds, it is one that fails sooner.
"""


def failure(seed: int, name: str) -> str | None:
    """Return how a seed fails with a mutant, if it does."""
    try:
        check_seed(seed, MUTANTS[name])
    except SeedFailed as caught:
        return str(caught)
    return None


@each("name", MUTANTS)
def test_a_mistake_is_caught_and_can_be_seen_again(name: str):
    """Each mutant fails one of the seeds, and the same seed fails with the same words when it is played again."""
    seeds = [FOUND_BY.get(name, 0), *range(WITHIN_SEEDS)]
    caught = next((seed for seed in seeds if failure(seed, name)), None)
    assert caught is not None, f"nobody noticed within {WITHIN_SEEDS} seeds"
    said = failure(caught, name)
    assert said is not None
    assert f"--from {caught} --seeds 1" in said
