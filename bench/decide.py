"""The processor time of one decision, by the number of the user's memories and for four kinds of statement.

    python bench/decide.py                            # users with 100, 1,000 and 10,000 memories
    python bench/decide.py --profile 10000            # and how the time is spent

A statement is decided, and its decision folded into a copy of the state, as `remember` does before it appends; nothing
is stored and no embedder is called. The users take turns, so that the state of the machine affects all alike. The ratio
is that of the largest user's decision to the smallest user's. The first decision about a user, which reads all of the
user's texts, is measured separately.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import pstats
import random
import statistics
import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from bench.made_users import AGENT, MODEL, WORDS, formed, import_decisions
from projections.embedding.stored_vector import vector_bytes
from projections.state.evolve import events_of, evolve
from projections.state.memory import UserState
from schemas.identity import Owner, derived_id
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import Candidate, CandidatesExtracted, CoveredPiece
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemas.messages.events import MemoryFormed

SIZES, ROUNDS = (100, 1_000, 10_000), 40
START = datetime(2024, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 2, 1, tzinfo=UTC)
CHANCE = random.Random(16)  # noqa: S311 - the statements only differ
NUMBERS = itertools.count()
NO_LINK = b""
"""No link: nothing is appended, so that no decision needs the hash of the one before."""
VECTOR = vector_bytes(np.full(512, 512**-0.5, np.float32))


def some(count: int) -> str:
    """Return a text of `count` random words."""
    return " ".join(CHANCE.sample(WORDS, count))


def verbatim() -> dict[str, object]:
    """Return the fields of a turn that is kept word for word."""
    return {"content": f"{some(9)}, note {next(NUMBERS)}"}


def fact() -> dict[str, object]:
    """Return the fields of a fact that a later statement may deny, or repeat with another number."""
    return {"content": f"User {CHANCE.choice(('has', 'owns', 'does not own'))} {CHANCE.randint(2, 99)} {some(3)}"}


def taste() -> dict[str, object]:
    """Return the fields of a like."""
    thing = some(2)
    return {"content": f"User likes the {thing}", "attribute": "likes", "value": thing}


def event() -> dict[str, object]:
    """Return the fields of an episode."""
    return {"content": f"User lost the {some(4)}", "kind": "episodic", "event_type": "loss"}


KINDS: dict[str, tuple[Callable[[], dict[str, object]], float]] = {
    "a turn word for word": (verbatim, 0.6),
    "a fact of the user": (fact, 0.2),
    "something liked": (taste, 0.1),
    "an episode": (event, 0.1),
}


def user_with(size: int) -> UserState:
    """Return the state of a user with `size` memories, formed over two years."""
    owner = Owner("default", f"user-{size}")
    makers, shares = zip(*KINDS.values(), strict=True)
    memories = []
    for number in range(size):
        said, at = CHANCE.choices(makers, shares)[0](), START + number * (NOW - START) / size
        memories.append(_formed(owner, number, said, at))
    state = UserState(owner=owner)
    for decision in import_decisions(owner, memories, START):
        state = evolve(state, decision, events_of(decision), NO_LINK)
    return state


def _formed(owner: Owner, number: int, said: dict[str, object], at: datetime) -> MemoryFormed:
    turn, value = f"{owner.user_id}-t{number}", said.get("value")
    return replace(
        formed(owner, number, str(said["content"]), VECTOR, at),
        kind=str(said.get("kind", "semantic")),
        attribute=None if value is None else str(said["attribute"]),
        value=None if value is None else Sealed.clear(str(value)),
        event_type="loss" if said.get("kind") == "episodic" else None,
        source_ids=[turn],
        pieces=[f"{turn}#0"],
    )


def answer(owner: Owner, said: dict[str, object]) -> CandidatesExtracted:
    """Return an extractor's answer with one statement."""
    number, value = next(NUMBERS), said.get("value")
    fields = {"kind": "semantic", "category": "fact", "memory_type": "long_term", "importance": 0.8} | said
    fields |= {"content": Sealed.clear(str(said["content"])), "value": value and Sealed.clear(str(value))}
    piece = f"new-{number}#0"
    return CandidatesExtracted(
        envelope=Envelope(
            event_id=derived_id("extraction", piece),
            tenant=owner.tenant,
            user_id=owner.user_id,
            agent_id=AGENT,
            occurred_at=NOW,
        ),
        session_id="s",
        source_type="chat",
        source_ref="s",
        model="bench",
        prompt_hash="",
        embedding_model=MODEL,
        dropped=[],
        covered=[CoveredPiece(piece_id=piece, by_user=True, occurred_at=NOW, recorded_at=NOW)],
        candidates=[Candidate(vector=Sealed.clear(VECTOR), pieces=[piece], **fields)],  # type: ignore[arg-type]
    )


class User:
    """A user about whom statements are decided one after the other."""

    def __init__(self, size: int) -> None:
        """Take the number of memories."""
        self.state, self.offset = user_with(size), size

    def decided(self, said: dict[str, object]) -> float:
        """Decide on a statement and fold the decision; return the seconds of processor time."""
        item, self.offset = answer(self.state.owner, said), self.offset + 1
        began = time.process_time()
        decision = decide(self.state, item, ItemPosition(0, self.offset, NOW), {}, Parameters())
        self.state = evolve(self.state, decision, events_of(decision), NO_LINK)
        seconds = time.process_time() - began
        assert decision.outcomes[0].action != "nothing", decision.outcomes
        return seconds


def main() -> dict[str, object]:
    """Measure each kind of statement about each user."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", type=int, metavar="MEMORIES", help="print what decisions are spent on")
    asked = parser.parse_args()
    users = {size: User(size) for size in SIZES}
    first = {size: user.decided(fact()) for size, user in users.items()}
    times: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for kind, (make, _) in KINDS.items():
            said = make()
            for size, user in users.items():
                times[kind, size].append(user.decided(said))
    found: dict[str, object] = {"first_ms": {str(size): round(1000 * spent, 1) for size, spent in first.items()}}
    print("first decision: " + ", ".join(f"{size}: {1000 * spent:.0f} ms" for size, spent in first.items()))
    for kind in KINDS:
        medians = {size: statistics.median(times[kind, size]) for size in SIZES}
        ratio = medians[SIZES[-1]] / medians[SIZES[0]]
        shown = ", ".join(f"{size}: {1000 * spent:.3f} ms" for size, spent in medians.items())
        print(f"{kind}: {shown}; ratio {ratio:.2f}", flush=True)
        found[kind] = {"ratio": round(ratio, 2)} | {str(size): round(1000 * one, 4) for size, one in medians.items()}
    if asked.profile:
        profile = cProfile.Profile()
        user = User(asked.profile)
        user.decided(fact())
        with profile:
            for make, _ in KINDS.values():
                for _ in range(ROUNDS):
                    user.decided(make())
        pstats.Stats(profile).sort_stats("cumulative").print_stats(25)
    return found


if __name__ == "__main__":
    main()
