"""Importing memories: what is new is embedded, appended and waited for; what came before changes nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from mnemolog.imports.results import BEFORE, WAITING, WAITING_REASON, outcome_of, result
from projections.embedding.stored_vector import vector_bytes
from projections.partitions.assignment import NotHeld
from projections.state.evolve import is_decided
from projections.state.memory import ACTIVE
from schemas import codec
from schemas.log import Position
from schemas.messages.inbox import ImportMemory
from schemas.text import digest
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mnemolog.commands.commands import Commands
    from mnemolog.imports.results import Result
    from mnemolog.imports.snapshot import Importable
    from projections.embedding.embedder import Embedder
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.instant import Clock
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import UserItem

    Source: TypeAlias = tuple[Owner, str, str, str | None]
    """What names a memory in the system that it comes from, and whose it becomes here."""

EMBEDDED_AT_ONCE: Final = 64
OTHER_CONTENT: Final = (
    "imported before with other content, which stays: for another memory give another source_system or memory_id"
)


class MemoryImporter:
    """Imports memories of users of this worker."""

    def __init__(self, shards: Shards, commands: Commands, embedder: Embedder, clock: Clock) -> None:
        self._shards = shards
        self._commands = commands
        self._embedder = embedder
        self._clock = clock

    async def import_all(self, lines: Sequence[Importable], until: float) -> list[Result]:
        """Import memories and wait for the decisions, at most until a moment of the monotonic clock.

        Returns what each line led to, in their order. Raises NotHeld, LogUnavailable, EmbedderUnavailable: some may
        have been imported then.
        """
        new = self._select_new(lines)
        successors = {_source_of(line, line.snapshot.memory_id): line.memory_id for line in lines}
        last_ids: dict[str, str] = {}
        first_lines = list(new.values())
        for begin in range(0, len(first_lines), EMBEDDED_AT_ONCE):
            last_ids |= await self._append(first_lines[begin : begin + EMBEDDED_AT_ONCE], successors)
        await self._commands.wait_until_decided([(new[i].owner, last_id) for i, last_id in last_ids.items()], until)
        await self._share_existing(lines, until)
        return [await self._result(line, new.get(line.command_id)) for line in lines]

    def _select_new(self, lines: Sequence[Importable]) -> dict[str, Importable]:
        """Return the lines that were not imported before, by their command ids; of several with one id the first."""
        states = {line.owner: self._shards.state(line.owner) for line in lines}
        new: dict[str, Importable] = {}
        for line in lines:
            if not is_decided(states[line.owner], line.command_id):
                new.setdefault(line.command_id, line)
        return new

    async def _append(self, lines: Sequence[Importable], successors: Mapping[Source, str]) -> dict[str, str]:
        """Embed and append a batch; return for each line's command id that of its command which is decided last.

        Where a line was shared with agents, commands that share the imported memory follow its import.
        """
        vectors = await self._embedder.embed([line.snapshot.content for line in lines])
        now = self._clock.now()
        items: list[UserItem] = []
        last_ids: dict[str, str] = {}
        for line, vector in zip(lines, vectors, strict=True):
            self._shards.require(line.owner)
            successor = successors.get(_source_of(line, line.snapshot.superseded_by))
            items.append(line.item(now, vector_bytes(vector), self._embedder.model, successor))
            items.extend(line.shares(now, line.memory_id))
            last_ids[line.command_id] = items[-1].envelope.event_id
        await self._commands.append(items)
        return last_ids

    async def _share_existing(self, lines: Sequence[Importable], until: float) -> None:
        """Share memories that were here already, and that lines with the same text therefore were not formed beside.

        The commands that follow an import (`_append`) name the memory that it would have formed.
        """
        items: list[UserItem] = []
        now = self._clock.now()
        for line in lines:
            if not line.snapshot.shared_with:
                continue
            with suppress(NotHeld):  # the next import of the line asks the worker that has the user then
                outcome = outcome_of(self._decisions(line))
                memory = self._shards.state(line.owner).memories.get(outcome.memory_id or "") if outcome else None
                if memory is None or memory.memory_id == line.memory_id or memory.status_at(now) != ACTIVE:
                    continue
                if _differ(memory.content, line.snapshot.content):  # it is not what the agents were to know
                    continue
                shares = line.shares(now, memory.memory_id)
                items.extend(share for share in shares if not memory.known_to(share.envelope.agent_id))
        if items:
            await self._commands.append(items)
            commands = [(item.envelope.owner, item.envelope.event_id) for item in items]
            await self._commands.wait_until_decided(commands, until)

    async def _result(self, line: Importable, first: Importable | None) -> Result:
        """Return what a line led to.

        `first` is the line of this request whose command was appended for its id: this one, or one before it; None when
        the command was decided before the request.
        """
        try:
            decisions = self._decisions(line)
            outcome = outcome_of(decisions)
            is_other = outcome is not None and await self._has_other_content(line, decisions[0], outcome.memory_id)
        except NotHeld:  # it is in the log: the worker that has the partition now decides it
            outcome, is_other = None, False
        memory_id = outcome.memory_id if outcome else line.memory_id
        if is_other or (first is not None and _differ(first.snapshot.content, line.snapshot.content)):
            return result(memory_id, "nothing", OTHER_CONTENT)
        if outcome is None:
            return result(memory_id, WAITING, WAITING_REASON)
        if first is not line:
            return result(memory_id, "nothing", BEFORE)
        return result(memory_id, outcome.action, outcome.reason)

    async def _has_other_content(self, line: Importable, decision: Decision, memory_id: str | None) -> bool:
        """Return whether the line's command was imported before with another text. Raises NotHeld."""
        memory = self._shards.state(line.owner).memories.get(memory_id or "")
        if memory is not None and not _differ(memory.content, line.snapshot.content):
            return False
        # The memory may have been revised since. What was imported is in the inbox, unless retention has removed it.
        record = await self._shards.record(Position(INBOX.name, decision.item_partition, decision.item_offset))
        item = None if record is None else codec.decode(record.value)
        return isinstance(item, ImportMemory) and _differ(item.content.text, line.snapshot.content)

    def _decisions(self, line: Importable) -> list[Decision]:
        return self._shards.of(line.owner).ledger.decided(line.owner, line.command_id)


def _differ(text: str, other: str) -> bool:
    """Return whether two texts are different memories; texts with one digest are the same."""
    return text != other and digest(text) != digest(other)


def _source_of(line: Importable, memory_id: str | None) -> Source:
    """Return the source of a memory that the line's system has under an id."""
    return line.owner, line.snapshot.source_system, line.snapshot.user_id, memory_id
