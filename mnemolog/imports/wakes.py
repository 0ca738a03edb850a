"""Importing reminders and periodic wakes: each is given as a command once, whatever became of it since."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mnemolog.commands.batch import WAITING, inbox_record, wait_for
from projections.partitions.assignment import NotHeld
from projections.state.evolve import is_decided
from schemas.messages.envelope import Sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.imports.wake_lines import ImportableWake
    from mnemolog.worker.worker import Worker
    from schemas.identity import Owner

_EMBEDDED_AT_ONCE: Final = 64


async def import_wakes(worker: Worker, some: Sequence[ImportableWake], until: float) -> list[dict[str, Any]]:
    """Import what users of this worker are to be woken for; return what became of each, in their order.

    Raises NotHeld, LogUnavailable, EmbedderUnavailable, and then some may have been imported: sent again, each is once.
    """
    new: dict[tuple[Owner, str], ImportableWake] = {}
    unwanted: dict[tuple[Owner, str], tuple[str, str]] = {}
    given: Counter[tuple[Owner, str]] = Counter()
    for one in some:
        state = worker.shards.state(one.owner)
        if is_decided(state, one.command_id) or one.key in new:
            continue
        if (why_not := one.why_not(state, given[one.owner, one.line.type])) is not None:
            unwanted[one.key] = why_not
        else:
            new[one.key] = one
            given[one.owner, one.line.type] += 1
    all_ = list(new.values())
    for begin in range(0, len(all_), _EMBEDDED_AT_ONCE):
        await _give(worker, all_[begin : begin + _EMBEDDED_AT_ONCE])
    await wait_for(worker, [(one.owner, one.command_id) for one in all_], until)
    return [_became(worker, one, unwanted.get(one.key), is_first=new.get(one.key) is one) for one in some]


async def _give(worker: Worker, some: Sequence[ImportableWake]) -> None:
    now, commands = worker.clock.now(), worker.wakes.commands
    items = [one.item(now, commands) for one in some]
    asked = [text for item in items if (text := commands.looks_for(item)) is not None]
    vectors = iter(await worker.embedder.embed(asked) if asked else ())
    records = []
    for item in items:
        worker.shards.require(item.envelope.owner)
        if commands.looks_for(item) is None:
            records.append(inbox_record(worker, item))
        else:
            vector = Sealed.clear(np.asarray(next(vectors), "<f4").tobytes())
            records.append(inbox_record(worker, commands.looking(item, vector)))
    await worker.log.append(records)


def _became(worker: Worker, one: ImportableWake, unwanted: tuple[str, str] | None, *, is_first: bool) -> dict[str, Any]:
    try:
        decisions = worker.shards.of(one.owner).ledger.decided(one.owner, one.command_id)
    except NotHeld:  # it is in the log: whoever has the partition now decides it
        decisions = []
    outcome = next((o for d in decisions for o in d.outcomes), None)
    if unwanted is not None:
        action, reason = unwanted
    elif outcome is None:
        action, reason = WAITING, "the log has it; it will be decided"
    elif is_first:
        action, reason = outcome.action, outcome.reason
    elif outcome.action == "refused":
        action, reason = (
            "refused",
            f"{outcome.reason} (when it came before; to import it now, give the line another id)",
        )
    else:
        action, reason = "nothing", "imported before"
    return {"memory_id": None, "action": action, "reason": reason}
