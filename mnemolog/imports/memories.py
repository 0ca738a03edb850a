"""The import of memories: embeds and appends new ones and awaits the decisions; known ones change nothing."""

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
    """The new owner of a memory, and its source system, source user and source id."""

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
        """Import memories and wait for the decisions, at most until a time of the monotonic clock.

        Returns the results in the order of the lines. Raises NotHeld, LogUnavailable, EmbedderUnavailable; some lines
        may have been imported then.
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
        """Return the lines that were not imported before, by command id; the first of several with the same id."""
        states = {line.owner: self._shards.state(line.owner) for line in lines}
        new: dict[str, Importable] = {}
        for line in lines:
            if not is_decided(states[line.owner], line.command_id):
                new.setdefault(line.command_id, line)
        return new

    async def _append(self, lines: Sequence[Importable], successors: Mapping[Source, str]) -> dict[str, str]:
        """Embed and append a batch; return the id of each line's last command, by the line's command id.

        If a line was shared with agents, its import is followed by commands that share the imported memory.
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
        """Share existing memories whose text a line repeats, because such a line forms no memory of its own.

        The sharing commands of `_append` name the memory that the line would have formed, and so do not apply.
        """
        items: list[UserItem] = []
        now = self._clock.now()
        for line in lines:
            if not line.snapshot.shared_with:
                continue
            with suppress(NotHeld):  # the next import of the line reaches the worker that holds the user then
                outcome = outcome_of(self._decisions(line))
                memory = self._shards.state(line.owner).memories.get(outcome.memory_id or "") if outcome else None
                if memory is None or memory.memory_id == line.memory_id or memory.status_at(now) != ACTIVE:
                    continue
                if _differ(memory.content, line.snapshot.content):  # the agents should not know this text
                    continue
                shares = line.shares(now, memory.memory_id)
                items.extend(share for share in shares if not memory.known_to(share.envelope.agent_id))
        if items:
            await self._commands.append(items)
            commands = [(item.envelope.owner, item.envelope.event_id) for item in items]
            await self._commands.wait_until_decided(commands, until)

    async def _result(self, line: Importable, first: Importable | None) -> Result:
        """Return the result of a line.

        `first` is the line of this request whose command was appended for the id: this line or an earlier one; None if
        the command was decided before the request.
        """
        try:
            decisions = self._decisions(line)
            outcome = outcome_of(decisions)
            is_other = outcome is not None and await self._has_other_content(line, decisions[0], outcome.memory_id)
        except NotHeld:  # it is in the log, and the worker that now holds the partition decides it
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
        """Return whether the line's command was decided with another text. Raises NotHeld."""
        memory = self._shards.state(line.owner).memories.get(memory_id or "")
        if memory is not None and not _differ(memory.content, line.snapshot.content):
            return False
        # The memory may have been revised since. The imported text is in the inbox, unless retention has removed it.
        record = await self._shards.record(Position(INBOX.name, decision.item_partition, decision.item_offset))
        item = None if record is None else codec.decode(record.value)
        return isinstance(item, ImportMemory) and _differ(item.content.text, line.snapshot.content)

    def _decisions(self, line: Importable) -> list[Decision]:
        return self._shards.of(line.owner).ledger.decided(line.owner, line.command_id)


def _differ(text: str, other: str) -> bool:
    """Return whether two texts differ in their digests, and so are different memories."""
    return text != other and digest(text) != digest(other)


def _source_of(line: Importable, memory_id: str | None) -> Source:
    """Return the source of the memory with this id in the line's source system."""
    return line.owner, line.snapshot.source_system, line.snapshot.user_id, memory_id
