"""Erasures of users from everything that this installation holds."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from mnemolog.operations.erasing.erasure import ErasedBefore, NotErasedYet, NothingKnown
from mnemolog.operations.erasing.receipts import Erasure, receipt_id_of
from projections.state.evolve import events_of
from projections.state.memory import ACTIVE
from schemas.instant import instant
from schemas.log import Position
from schemas.messages.erasure import Cut, EraseUser, UserErased
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, KEYS, LEDGER
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import clear_stale_bytes, offsets_of, overwrite

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from mnemolog.operations.erasing.erasure import ErasureParts
    from schemas.identity import Owner

log = logging.getLogger("mnemolog")


class UserErasures:
    """Erases users of this worker's partitions, and previews their erasures."""

    def __init__(
        self, parts: ErasureParts, erase_beside: Sequence[Callable[[Owner, datetime], Awaitable[None]]] = ()
    ) -> None:
        """`erase_beside` remove what extensions hold of a user and have held before an instant."""
        self._parts = parts
        self._erase_beside = erase_beside

    async def preview(self, owner: Owner) -> dict[str, Any]:
        """Return what an erasure would remove, and what would remain readable. Raises NotHeld, LogUnavailable."""
        in_clear = await self._parts.remains.in_clear(owner)
        state = self._parts.shards.folded_state(owner)
        return {
            "user": owner.user_id,
            "events": self._parts.shards.of(owner).observations.count_of(owner),
            "memories": len(state.memories),
            "generations": len(self._parts.copies.generations.complete()),
            "index": sum(memory.status == ACTIVE for memory in state.memories.values()),
            "remains": self._parts.remains.listed(self._parts.clock.now(), in_clear),
        }

    async def erase(self, owner: Owner, command_id: str, *, force: bool = False) -> dict[str, Any]:
        """Erase a user, and return the signed receipt; with `force` also an unknown user.

        Raises NotHeld, NothingKnown, ErasureRunning, NotErasedYet, ErasedBefore, LogError.

        From the cut on, new records are sealed with another key. Events that are accepted while this runs belong to a
        new user with the same id, and survive the erasure.
        """
        with self._parts.asked_for(owner):
            return await self._erase(owner, command_id, force=force)

    async def _erase(self, owner: Owner, command_id: str, *, force: bool) -> dict[str, Any]:
        known = self._event(owner, command_id)  # a repeated request
        receipt_id = receipt_id_of(owner, command_id)
        if known is None:
            if any(one.receipt_id == receipt_id for one in self._parts.receipts.kept()):
                raise ErasedBefore(
                    f"this erasure is complete (receipt {receipt_id}), and the user was erased again since: "
                    "use a new Idempotency-Key"
                )
            if not force and not await self._is_known(owner):
                raise NothingKnown(
                    f"nothing is known of the user {owner.user_id!r}{self._since(owner)}, so nothing was erased "
                    "and there is no receipt: look at the spelling, or erase with force (`--force`) what may still be "
                    "on its way"
                )
            async with self._parts.lock_of(owner):
                await self._decide(owner, command_id)
            known = self._event(owner, command_id)
        if known is None:
            raise NotErasedYet("the erasure is accepted and not decided yet: ask again with the same Idempotency-Key")
        generations = await self._delete_beside(owner, known)
        await self._parts.index_sync.flush_user(owner)
        listed = self._parts.receipts.find(receipt_id)
        if listed is not None and listed.generations is not None:  # a repeated request gets the same receipt
            generations = listed.generations
        partition = self._parts.shards.partition(owner)
        receipt = {
            "user": owner.user_id,
            "events": known.observations,
            "memories": known.memories,
            "generations": generations,
            "index": known.active,
            "remains": self._parts.remains.listed(known.erased_at, await self._parts.remains.in_clear(owner)),
            "receipt_id": receipt_id,
            "erased_at": str(instant(known.erased_at)),
            "keys": [key_id.hex() for key_id in known.key_ids],
            "positions": [str(Position(cut.topic, partition, cut.before)) for cut in known.cut],
        }
        [signed] = self._parts.receipts.give(owner, [receipt])
        if listed is None:
            log.info("a user was erased: receipt %s", receipt_id)
        return signed

    def _since(self, owner: Owner) -> str:
        """Return the time since which nothing is known of a user, if the list has an erasure."""
        subject = self._parts.receipts.subject(owner)
        erased = max((one for one in self._parts.receipts.kept() if one.subject == subject), key=_moment, default=None)
        return "" if erased is None else f" since the erasure of {erased.erased_at} (receipt {erased.receipt_id})"

    async def _is_known(self, owner: Owner) -> bool:
        """Return whether there is any data of a user to erase; data that was erased earlier does not count.

        For a user who was never erased, a key or a record proves that an event was accepted, whatever its outcome.
        """
        await self._parts.shards.come_to_end(owner)
        partition = self._parts.shards.partition(owner)
        for topic in INPUTS:  # recently accepted events count
            await self._parts.shards.up_to(topic.name, partition, await self._parts.inner.end(topic.name, partition))
        shard, state = self._parts.shards.of(owner), self._parts.shards.folded_state(owner)
        if shard.observations.count_of(owner) or state.memories:
            return True
        items = [decision.item_type for _, decision in shard.ledger.decisions(owner)]
        if items:
            return any(one != EraseUser.__name__ for one in items)
        return self._parts.sealing.keys.ring.has_key(owner) or await self._has_records(owner)

    async def _has_records(self, owner: Owner) -> bool:
        """Return whether the log has unencrypted records of a user."""
        partition = self._parts.shards.partition(owner)
        if not isinstance(self._parts.inner, SqliteLog):
            return bool(await self._parts.remains.topics_in_clear(owner))
        for topic in (*INPUTS, DEAD_LETTERS):
            if await offsets_of(self._parts.inner, topic.name, partition, owner.key, ()):
                return True
        return False

    async def _decide(self, owner: Owner, command_id: str) -> None:
        async with self._parts.gate.erasing(owner):
            keys = self._parts.sealing.keys
            await keys.follow()  # another worker may have created the first
            key_ids = keys.ring.ids_of(owner)
            if self._parts.settings.encrypts and key_ids:
                key_ids = await keys.renew(owner)
                await asyncio.sleep(keys.arrival_seconds)  # until no more records under an old key can arrive
            await self._parts.sealing.log.settle(owner)
            item = EraseUser(
                envelope=await self._parts.commands.envelope(owner, command_id),
                cut=await self._cut(owner),
                key_ids=list(key_ids),
                observations=self._parts.shards.of(owner).observations.count_of(owner),
            )
            await self._parts.commands.submit(item)

    def _event(self, owner: Owner, command_id: str) -> UserErased | None:
        """Return the event of a command; None if it is not decided yet."""
        decisions = self._parts.shards.of(owner).ledger.decided(owner, command_id)
        events = (event for decision in decisions for event in events_of(decision))
        return next((event for event in events if isinstance(event, UserErased)), None)

    async def _cut(self, owner: Owner) -> list[Cut]:
        partition = self._parts.shards.partition(owner)
        topics = [*(topic.name for topic in INPUTS), DEAD_LETTERS.name]
        return [Cut(topic=topic, before=await self._parts.inner.end(topic, partition)) for topic in topics]

    async def _delete_beside(self, owner: Owner, event: UserErased) -> int:
        """Delete the copies outside the active shards; return how many generations no longer have the user."""
        generations = await self._parts.copies.delete(owner)
        for erase in self._erase_beside:
            await erase(owner, event.erased_at)
        if isinstance(self._parts.inner, SqliteLog):
            partition = self._parts.shards.partition(owner)
            # The item and the decision of the erasure itself stay, because every later fold of the log needs them.
            [(offset, decision)] = [
                one
                for one in self._parts.shards.of(owner).ledger.decisions(owner)
                if one[1].item_type == EraseUser.__name__
            ]
            own = [(INBOX.name, decision.item_offset), (LEDGER.name, offset)]
            for topic, before in [*((cut.topic, cut.before) for cut in event.cut), *own]:
                await overwrite(self._parts.inner, topic, partition, owner.key, before)
            await self._parts.inner.compact(KEYS.name)
            # A gap may hold a copy of the wrapped key, or of an unencrypted record.
            await clear_stale_bytes(self._parts.inner)
        if (replacements := self._parts.sealing.log.replacements) is not None:
            await replacements.trim(lambda *_: False)
        await self._parts.shards.of(owner).clear_deleted()
        return generations


def _moment(erasure: Erasure) -> datetime:
    return erasure.moment
