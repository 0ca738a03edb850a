"""Which decisions of a log count: a second implementation, independent of the fold that it checks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from projections.state.evolve import ERASE
from schemas import codec
from schemas.identity import Owner, partition_owner
from schemas.messages.decision import Decision
from schemas.topics import GLOBALS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schemas.log import NewRecord, Record


def counted(records: Mapping[tuple[str, int], Sequence[Record]]) -> dict[Owner, list[Decision]]:
    """Return each user's counted decisions, from the records of each topic's partitions.

    Those of an erased user begin with the erasure, because decisions before it can no longer be read.
    """
    chains: dict[Owner, list[Decision]] = {}
    for (topic, partition), ledger in records.items():
        if topic not in (LEDGER.name, GLOBALS.name):
            continue
        closed: set[str] = set()
        for decision in decisions(ledger):
            owner = decision.envelope.owner
            chain = chains.setdefault(owner, [])
            if not _is_next(chain, decision) or decision.item_id in closed:
                continue
            if decision.item_type == ERASE:
                chain.clear()
            chain.append(decision)
            if owner == partition_owner(partition):
                closed.add(decision.item_id)
    return chains


def decisions(ledger: Sequence[Record | NewRecord]) -> Iterator[Decision]:
    """Yield the decisions in a ledger's records; records that are no decision are skipped, as void."""
    for record in ledger:
        with suppress(codec.Undecodable):
            yield codec.decode_as(record.value, Decision)


def _is_next(chain: list[Decision], decision: Decision) -> bool:
    if decision.item_type == ERASE:
        return not chain or (decision.version > chain[-1].version and decision.item_offset > chain[-1].item_offset)
    if decision.version != (chain[-1].version if chain else 0) + 1:
        return False
    if chain and not chain[-1].last_part and chain[-1].item_id == decision.item_id:
        return decision.part == chain[-1].part + 1
    known = any(decision.item_id == before.item_id for before in chain)
    return not known and decision.part == 1 and (not chain or decision.item_offset > chain[-1].item_offset)
