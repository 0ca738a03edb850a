"""The import of reminders and periodic wakes: each becomes a command once, even if it was raised or cancelled since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mnemolog.imports.results import BEFORE, WAITING, WAITING_REASON, outcome_of, result
from projections.embedding.stored_vector import vector_bytes
from projections.partitions.assignment import NotHeld
from projections.state.evolve import is_decided
from schemas.messages.envelope import Sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.commands.commands import Commands
    from mnemolog.commands.wakes import WakeCommands
    from mnemolog.imports.results import Result
    from mnemolog.imports.wake_lines import ImportableWake
    from projections.embedding.embedder import Embedder
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.instant import Clock
    from schemas.messages.inbox import UserItem

EMBEDDED_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class _Selection:
    """The lines that become commands, and the reasons why others do not; both by owner and command id."""

    new: dict[tuple[Owner, str], ImportableWake]
    unwanted: dict[tuple[Owner, str], tuple[str, str]]
    """The action and the reason of each skipped line."""


class WakeImporter:
    """Imports reminders and periodic wakes of users of this worker."""

    def __init__(
        self, shards: Shards, commands: Commands, wake_commands: WakeCommands, embedder: Embedder, clock: Clock
    ) -> None:
        self._shards = shards
        self._commands = commands
        self._wake_commands = wake_commands
        self._embedder = embedder
        self._clock = clock

    async def import_all(self, lines: Sequence[ImportableWake], until: float) -> list[Result]:
        """Import lines and wait for the decisions, at most until a time of the monotonic clock.

        Returns the results in the order of the lines. Raises NotHeld, LogUnavailable, EmbedderUnavailable; some lines
        may have been imported then.
        """
        selection = self._select(lines)
        new = list(selection.new.values())
        for begin in range(0, len(new), EMBEDDED_AT_ONCE):
            await self._append(new[begin : begin + EMBEDDED_AT_ONCE])
        await self._commands.wait_until_decided(list(selection.new), until)
        return [self._result(line, selection) for line in lines]

    def _select(self, lines: Sequence[ImportableWake]) -> _Selection:
        """Select the lines that become commands: neither decided before, nor repeats in the request, nor skipped."""
        selection = _Selection({}, {})
        chosen: Counter[tuple[Owner, str]] = Counter()
        for line in lines:
            state = self._shards.state(line.owner)
            if is_decided(state, line.command_id) or line.key in selection.new:
                continue
            kind = line.owner, line.line.type
            if (reason := line.reason_to_skip(state, chosen[kind])) is not None:
                selection.unwanted[line.key] = reason
            else:
                selection.new[line.key] = line
                chosen[kind] += 1
        return selection

    async def _append(self, lines: Sequence[ImportableWake]) -> None:
        """Append the commands of the lines, with vectors for the queries that search memories."""
        now = self._clock.now()
        commands = [line.item(now, self._wake_commands) for line in lines]
        queries = [query for item in commands if (query := self._wake_commands.query_of(item)) is not None]
        vectors = iter(await self._embedder.embed(queries, urgent=True) if queries else ())
        items: list[UserItem] = []
        for item in commands:
            self._shards.require(item.envelope.owner)
            if self._wake_commands.query_of(item) is None:
                items.append(item)
            else:
                vector = Sealed.clear(vector_bytes(next(vectors)))
                items.append(self._wake_commands.with_vector(item, vector))
        await self._commands.append(items)

    def _result(self, line: ImportableWake, selection: _Selection) -> Result:
        """Return the result of a line."""
        try:
            outcome = outcome_of(self._shards.of(line.owner).ledger.decided(line.owner, line.command_id))
        except NotHeld:  # it is in the log, and the worker that now holds the partition decides it
            outcome = None
        if (unwanted := selection.unwanted.get(line.key)) is not None:
            return result(None, *unwanted)
        if outcome is None:
            return result(None, WAITING, WAITING_REASON)
        if selection.new.get(line.key) is line:
            return result(None, outcome.action, outcome.reason)
        if outcome.action == "refused":
            reason = f"{outcome.reason} (when it came before; to import it now, give the line another id)"
            return result(None, "refused", reason)
        return result(None, "nothing", BEFORE)
