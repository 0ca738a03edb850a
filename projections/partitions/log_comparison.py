"""The comparison of a shard with the log: whether it is a fold of this log, and whether its ledger is intact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.shard.log_position import are_of
from projections.shard.rows.damage import PARTITION, Damage

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.shard.shard import Shard


class LogComparison:
    """Compares what shards have folded with the log, and with the heads of the log that are known from elsewhere."""

    def __init__(self) -> None:
        self.kept_head: Callable[[str, int], tuple[int, bytes, int]] | None = None
        """Returns up to where the log's own head of a partition of the ledger goes, the head, and the partition's end.

        None where the log keeps no heads.
        """
        self.kept_elsewhere: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
        """How far the furthest head that was kept elsewhere reaches, and the head, by topic and partition.

        There are several where different heads were kept at one offset.
        """

    async def follows_log(self, shard: Shard) -> bool:
        """Return whether the records folded are those of this log, and not of another one or of an older copy.

        This is checked each time that the partition arrives: a log can be restored under running workers.
        """
        return await are_of(shard.log, shard.partition, shard.positions(shard.topics))

    async def lost_head(self, shard: Shard) -> Damage | None:
        """Return the damage if the log ends before the head that was folded, or has another record there."""
        topic, reached = shard.ledger_topic, shard.offset(shard.ledger_topic)
        if not reached:
            return None
        if await are_of(shard.log, shard.partition, shard.positions([topic])):
            return None
        end = await shard.log.end(topic, shard.partition)
        lacks = f"the log ends at {end}" if end < reached else f"the record at {reached - 1} is another one by now"
        what = (
            f"it was folded up to offset {reached}, and {lacks} (to go on with the log as it is, and without what it "
            f"lacks, remove {shard.path})"
        )
        return Damage(PARTITION, topic, shard.partition, min(end, reached - 1), what)

    async def damage(self, shard: Shard) -> Damage | None:
        """Return the damage to the ledger of a shard's partition; None if it is what was appended."""
        damage, place = shard.ledger.damages.of_all(), (shard.ledger_topic, shard.partition)
        if damage is None and self.kept_head is not None:
            damage = _head_damage(shard, *self.kept_head(*place))
        return damage or await self.damage_since_kept(shard)

    async def damage_since_kept(self, shard: Shard) -> Damage | None:
        """Return the damage if a head that was kept elsewhere contradicts the log; None if none does."""
        for kept in self.kept_elsewhere.get((shard.ledger_topic, shard.partition), ()):
            if (damage := await _damage_since(shard, *kept)) is not None:
                return damage
        return None


def _head_damage(shard: Shard, reached: int, head: bytes, end: int) -> Damage | None:
    """Return what is wrong where the records folded do not lead to the head that the log keeps; None where they do.

    The head reaches to the log's end. Where more was appended meanwhile, that is folded by and by.
    """
    if reached > end:
        what = f"its head reaches to offset {reached}, and the log ends at {end}"
    elif reached < end:
        what = f"the records from offset {reached} to {end - 1} were not appended by mnemolog: its head ends before"
    elif reached == shard.offset(shard.ledger_topic) and head != shard.head:
        what = f"the records before offset {end} are not those that were appended: their head is another one"
    else:
        return None
    return Damage(PARTITION, shard.ledger_topic, shard.partition, min(reached, end), what)


async def _damage_since(shard: Shard, kept: int, head: bytes) -> Damage | None:
    """Return what is wrong where the log is not what it was when a head of it was kept elsewhere; None else.

    Where more was folded since, the head of then is not known here any more: `mnemolog verify` computes it.
    """
    topic, reached = shard.ledger_topic, shard.offset(shard.ledger_topic)
    aside = "(to go on with the log as it is, let MNEMOLOG_HEADS_TO name a new folder)"
    if reached == kept and head != shard.head:
        what = f"the records before offset {kept} are not those of the head that was kept elsewhere {aside}"
        return Damage(PARTITION, topic, shard.partition, kept, what)
    if reached >= kept or (end := await shard.log.end(topic, shard.partition)) >= kept:
        return None
    what = f"a head was kept elsewhere at offset {kept}, and the log ends at {end}: it is an older copy {aside}"
    return Damage(PARTITION, topic, shard.partition, end, what)
