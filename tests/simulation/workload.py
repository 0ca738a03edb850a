"""What happens in a run: who says what when, what is asked for, and what must be remembered in the end."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Final

from simulation.erasures import phases_without, plan_erasure
from simulation.imports import add_imports
from simulation.memory_erasures import plan_memory_erasures
from simulation.reminders import add_reminders
from simulation.scripted_extractor import FACT, MODEL, POISON, PROMPT_HASH, fact, vector
from simulation.steps import Phase, Step

from schemas import codec
from schemas.identity import Owner, commanded_memory_id, derived_id, extracted_memory_id, piece_id
from schemas.inputs.pieces import piece_texts
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import ForgetMemory, RecordRecall, RememberFact, RestoreMemory, ReviseMemory
from schemas.messages.observations import ScreenshotAnalysed, SessionEnded, TurnRecorded
from schemas.topics import CONVERSATIONS, INBOX, SCREENSHOTS, partition_of
from streams.extraction.verbatim import VerbatimExtractor

if TYPE_CHECKING:
    from simulation.erasures import PlannedErasure
    from simulation.memory_erasures import PlannedMemoryErasure

    from schemas.messages.inbox import UserItem
    from schemas.messages.observations import Observation

FIRST_DAY: Final = datetime(2026, 3, 1, 8, tzinfo=UTC)
PARTITIONS: Final = 2
USERS: Final = tuple(Owner("default", name) for name in ("小明", "ann", "bob"))
EVERYONE: Final = Owner("default", "*")
AGENT: Final = "luna"
ALONE: Final = 4
"""One seed in so many has a worker that is alone."""
FULL: Final = 5
"""One seed in so many has disks that are full at times."""


@dataclass(slots=True)
class Workload:
    """Generated from its seed alone.

    A comparable one leads to the same digest in every run: each user has one session at a time, no
    fact is said twice, only screenshots are rejected, and commands wait for what went before. A wild one does all else.
    """

    seed: int
    comparable: bool = True
    workers: int = 2
    phases: list[Phase] = field(default_factory=list)
    pieces: dict[Owner, set[str]] = field(default_factory=dict)
    """Everything that must be covered."""
    memories: dict[Owner, list[str]] = field(default_factory=dict)
    """Everything that must have been formed, when the workload is comparable."""
    is_alone: bool = False
    """Whether the worker is the only one who appends, so that it decides commands before they are appended."""
    disk_fills: bool = False
    """Whether commits of shards fail now and then."""
    reminders: dict[str, datetime] = field(default_factory=dict)
    """When each is due; those that were cancelled never are."""
    garbage: int = 0
    erasure: PlannedErasure | None = None
    memory_erasures: list[PlannedMemoryErasure] = field(default_factory=list)
    without: Owner | None = None
    """Who is left out up to a day, because another world has the user erased on it."""
    _chance: Random = field(default_factory=Random)  # noqa: S311 - chance that is repeated from a seed
    _counts: Counter[str] = field(default_factory=Counter)
    _unsettled: set[str] = field(default_factory=set)
    """Memories whose command goes astray: whether the next command comes before it differs from run to run."""
    _said: list[str] = field(default_factory=list)

    @classmethod
    def of_seed(cls, seed: int) -> Workload:
        """Return the seed's workload."""
        chance = Random(f"workload {seed}")  # noqa: S311 - chance that can be repeated is the point
        made = cls(seed, comparable=chance.random() < 0.75, workers=chance.choice((1, 2, 2)), _chance=chance)
        made.is_alone, made.disk_fills = seed % ALONE == 2, seed % FULL == 4
        made.workers = 1 if made.is_alone else made.workers
        at = FIRST_DAY
        for number in range(chance.choice((1, 2, 2, 3))):
            made.phases.append(made._phase(number, at))
            at += timedelta(days=chance.choice((1, 2, 3, 9)))
        for owner, ids in add_imports(
            seed, made.phases, PARTITIONS, USERS, made.memories, wild=not made.comparable
        ).items():
            made._formed(owner).extend(ids)
        made.reminders = add_reminders(seed, made.phases, PARTITIONS, USERS, wild=not made.comparable)
        made.erasure = plan_erasure(seed, len(made.phases), USERS)
        erased = None if made.erasure is None else made.erasure.owner
        made.memory_erasures = plan_memory_erasures(seed, len(made.phases), USERS, erased)
        return made

    def world_without(self) -> Workload:
        """Return the world in which a user who is erased comes only on the day after it, and nobody is erased."""
        if self.erasure is None:
            return self
        left = copy(self)
        left.phases, left.erasure = phases_without(self.phases, self.erasure), None
        left.without = self.erasure.owner
        return left

    @property
    def apart(self) -> set[Owner]:
        """Who need not be the same in every run: something was erased while more was on its way."""
        amid = {one.owner for one in self.memory_erasures if one.stage != "after"}
        return amid | ({self.erasure.owner} if self.erasure is not None and self.erasure.stage != "after" else set())

    def _phase(self, number: int, at: datetime) -> Phase:
        chance, phase = self._chance, Phase(at)
        for owner in USERS:
            for _ in range(1 if self.comparable else chance.randrange(3)):
                phase.said.append(self._session(owner, at))
            if chance.random() < 0.5:
                phase.said.append([self._screenshot(owner, at) for _ in range(chance.randrange(1, 3))])
        for owner in USERS:
            commands = chance.randrange(4, 10) if self.is_alone else chance.randrange(4)
            phase.asked.append([self._command(owner, at) for _ in range(commands)])
        if self.is_alone and not self.comparable:  # several callers ask for the same user at the same time
            phase.asked += [[self._command(owner, at) for _ in range(6)] for owner in USERS for _ in range(2)]
        if chance.random() < 0.3:
            phase.asked.append([self._remember(EVERYONE, at)])
        if chance.random() < 0.2:
            self.garbage += 1
            record = NewRecord(topic=CONVERSATIONS.name, partition=0, key=b"default/ann", value=b"{not json")
            phase.said.append([Step(chance.random(), record)])
        if chance.random() < (0.4 if self.comparable else 0.9):
            phase.tick = at - timedelta(minutes=30 + number)
        return phase

    # -- what is said

    def _session(self, owner: Owner, at: datetime) -> list[Step]:
        chance = self._chance
        session_id, steps = self._name("s"), []
        turns = chance.randrange(1, 8)
        for place in range(turns):
            envelope = self._envelope(owner, at, "t")
            role = "assistant" if place % 2 and chance.random() < 0.7 else "user"
            infer = chance.random() > 0.1
            content = self._words(role, cities=infer)
            if not self.comparable and chance.random() < 0.05:
                content += f" {POISON}"
            turn = TurnRecorded(envelope=envelope, session_id=session_id, role=role, content=content, infer=infer)
            self._expect(owner, turn, by_rules=infer, heard=role == "user")
            pause = chance.choice((0.0, 0.0, 0.5, 3.0, 45.0)) * chance.random()
            steps.append(self._step(turn, CONVERSATIONS.name, pause))
            if chance.random() < 0.1 or (place == turns - 1 and chance.random() < 0.6):
                end = SessionEnded(envelope=self._envelope(owner, at, "e"), session_id=session_id)
                steps.append(self._step(end, CONVERSATIONS.name, chance.random()))
        return steps

    def _screenshot(self, owner: Owner, at: datetime) -> Step:
        chance = self._chance
        text = POISON if chance.random() < 0.2 else self._words("user", cities=not self.comparable)
        seen = ScreenshotAnalysed(
            envelope=self._envelope(owner, at, "p"), screenshot_id=self._name("i"), text=text, app="Calendar"
        )
        self._expect(owner, seen, by_rules=True, heard=text != POISON)
        step = self._step(seen, SCREENSHOTS.name, chance.random() * 5)
        return self._astray(step) if chance.random() < 0.15 else step

    def _words(self, role: str, *, cities: bool) -> str:
        chance, words = self._chance, []
        for _ in range(chance.randrange(1, 3) if role == "user" else 1):
            if not self.comparable and self._said and chance.random() < 0.3:
                words.append(chance.choice(self._said))
                continue
            self._counts["fact"] += 1
            kind = chance.choice(("trait", "brief", "event", "city", "city") if cities else ("trait", "brief", "event"))
            words.append(fact(kind, self._counts["fact"]))
        self._said += words
        if chance.random() < 0.03:
            words.insert(1, ". " * 3_100)  # so long that it has two pieces
        return " ".join(words)

    def _expect(self, owner: Owner, message: Observation, *, by_rules: bool, heard: bool) -> None:
        """Note which pieces must be covered and which memories formed, as observe and the script have it."""
        if isinstance(message, TurnRecorded) and not message.infer and message.role != "user":
            return
        verbatim = VerbatimExtractor()
        for number, text in enumerate(piece_texts(message)):
            piece = piece_id(message.envelope.event_id, number)
            self.pieces.setdefault(owner, set()).add(piece)
            model, prompt = (MODEL, PROMPT_HASH) if by_rules else (verbatim.model, verbatim.prompt_hash)
            count = len(FACT.findall(text)) if by_rules else int(bool(text.strip()))
            for ordinal in range(count if heard else 0):
                self._formed(owner).append(extracted_memory_id(owner, piece, ordinal, model, prompt))

    # -- what is asked for

    def _command(self, owner: Owner, at: datetime) -> Step:
        chance, known = self._chance, [m for m in self._formed(owner) if m not in self._unsettled]
        kind = chance.choice(("remember", "forget", "restore", "revise", "recall")) if known else "remember"
        if kind == "remember":
            return self._remember(owner, at)
        envelope, target = self._envelope(owner, at, "c"), chance.choice(known)
        item: UserItem
        if kind == "forget":
            item = ForgetMemory(envelope=envelope, memory_id=target)
        elif kind == "restore":
            item = RestoreMemory(envelope=envelope, memory_id=target)
        elif kind == "recall":
            item = RecordRecall(envelope=envelope, memory_ids=[target, chance.choice(known)])
        else:
            self._counts["fact"] += 1
            word = fact("trait", self._counts["fact"])
            item = ReviseMemory(
                envelope=envelope,
                memory_id=target,
                expected_version=chance.choice((None, None, 1)),
                content=Sealed.clear(word),
                vector=Sealed.clear(vector(word).astype("<f4").tobytes()),
                embedding_model="hash",
                importance=chance.choice((None, 0.9)),
            )
        return self._inbox(item)

    def _remember(self, owner: Owner, at: datetime) -> Step:
        self._counts["fact"] += 1
        kind = self._chance.choice(("trait", "city"))
        word, envelope = fact(kind, self._counts["fact"]), self._envelope(owner, at, "c")
        item = RememberFact(
            envelope=envelope,
            content=Sealed.clear(word),
            vector=Sealed.clear(vector(word).astype("<f4").tobytes()),
            embedding_model="hash",
            scope="global" if owner.is_global else "personal",
            attribute="city" if kind == "city" else None,
            value=Sealed.clear(f"town {word}") if kind == "city" else None,
        )
        self._formed(owner).append(commanded_memory_id(owner, envelope.event_id))
        step = self._inbox(item)
        if kind == "trait" and self._chance.random() < 0.1:
            self._unsettled.add(self._formed(owner)[-1])
            return self._astray(step)
        return step

    # -- records

    def _formed(self, owner: Owner) -> list[str]:
        return self.memories.setdefault(owner, [])

    def _name(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}{self._counts[kind]}"

    def _envelope(self, owner: Owner, at: datetime, kind: str) -> Envelope:
        """Return an envelope of the hour before `at`; no two of a user share their effective time."""
        self._counts["seconds"] += self._chance.choice((1, 2, 5, 40))
        return Envelope(
            event_id=derived_id("simulated", kind, self._name(kind)),
            tenant=owner.tenant,
            user_id=owner.user_id,
            agent_id=None if owner.is_global else AGENT,
            occurred_at=at - timedelta(hours=1) + timedelta(seconds=self._counts["seconds"] % 3_600),
        )

    def _step(self, message: Observation, topic: str, pause: float) -> Step:
        owner, again = message.envelope.owner, self._chance.random() < 0.15
        record = NewRecord(
            topic=topic, partition=partition_of(owner.key, PARTITIONS), key=owner.key, value=codec.encode(message)
        )
        return Step(pause, record, again)

    def _inbox(self, item: UserItem) -> Step:
        owner, again = item.envelope.owner, self._chance.random() < 0.15
        record = NewRecord(
            topic=INBOX.name, partition=partition_of(owner.key, PARTITIONS), key=owner.key, value=codec.encode(item)
        )
        return Step(self._chance.random(), record, again)

    def _astray(self, step: Step) -> Step:
        """Let a foreign partitioner choose the partition."""
        record = step.record
        wrong = NewRecord(
            topic=record.topic, partition=(record.partition + 1) % PARTITIONS, key=record.key, value=record.value
        )
        return Step(step.pause, wrong, step.again)
