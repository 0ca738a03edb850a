"""What a fact that is remembered as it is says of the user: its key, its day and what it ends, without a model.

It is read as a sentence of the user's, in the first person or about "the user". Its words stay as they are.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.embedding.embedder import EmbedderRefused
from projections.text.first_person import first_person
from projections.text.wishes import wishes_of
from schemas.text import has_many_marks
from streams.extraction.own_words.extractor import FactRead
from streams.extraction.protocol import ExtractorError, Piece, Window
from streams.extraction.request import BUGS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime, tzinfo

    from schemas.identity import Owner
    from schemas.policy import Policy
    from streams.extraction.own_words.extractor import OwnWords
    from streams.extraction.protocol import Known

log = logging.getLogger("mnemolog")
LONGEST: Final = 2_000
"""Characters of a text that is read: a longer one is a document, and no statement."""
READ_SECONDS: Final = 10.0
"""How long a command waits for the rules, whose process may have to be started first: a warm one takes milliseconds."""
FACT: Final = "fact"
"""Names the one piece of a fact; nothing that is recorded has its id."""
NOTHING: Final = FactRead()


def _without_policy(_tenant: str, _agent_id: str | None) -> None:
    """Return the default policy."""


class FactReader:
    """Reads facts by the rules in their process."""

    def __init__(
        self,
        own_words: OwnWords,
        known_of: Callable[[Window], Awaitable[Sequence[Known]]],
        zone_of: Callable[[Owner], tzinfo],
        policy_of: Callable[[str, str | None], Policy | None] = _without_policy,
        seconds: float = READ_SECONDS,
    ) -> None:
        """`known_of` returns what is known of a fact, `zone_of` by which clock its user lives."""
        self._own_words = own_words.knowing(lambda window: _in_first_person(known_of, window))
        self._zone_of = zone_of
        self._policy_of = policy_of
        self._seconds = seconds

    async def read(
        self, owner: Owner, content: str, at: datetime, agent_id: str | None, *, is_of_user: bool = True
    ) -> FactRead:
        """Return what a fact says at an instant; of what is not about the user the day alone. Raises NotHeld.

        Nothing where the rules or the encoder are away, take too long or fail: it is remembered without it.
        """
        text = first_person(content.strip())
        wishes = wishes_of(text)
        if len(content) > LONGEST or has_many_marks(content) or wishes.to_forget or wishes.kept != text:
            return NOTHING
        piece = Piece(
            piece_id=f"{FACT}#0",
            event_id=FACT,
            speaker="user",
            text=text,
            occurred_at=at,
            recorded_at=at,
            zone=self._zone_of(owner),
        )
        window = _window(owner, agent_id, piece, self._policy_of(owner.tenant, agent_id))
        try:
            async with asyncio.timeout(self._seconds):
                found = await self._own_words.fact_of(window)
        except (ExtractorError, EmbedderRefused, TimeoutError) as error:
            log.warning("a fact of %d characters is remembered without its key: %s", len(content), error or "no answer")
            return NOTHING
        except BUGS:
            log.exception("a fact of %d characters is remembered without its key", len(content))
            return NOTHING
        return found if is_of_user else FactRead(occurred_on=found.occurred_on)


async def _in_first_person(known_of: Callable[[Window], Awaitable[Sequence[Known]]], window: Window) -> list[Known]:
    """Return what is known in the first person, as the fact is: "User" is no word that two of them share."""
    return [replace(one, text=first_person(one.text)) for one in await known_of(window)]


def _window(owner: Owner, agent_id: str | None, piece: Piece, policy: Policy | None) -> Window:
    """Return a fact as a window of one turn."""
    return Window(
        tenant=owner.tenant,
        user_id=owner.user_id,
        agent_id=agent_id,
        session_id=None,
        source_type="chat",
        source_ref=FACT,
        pieces=(piece,),
        policy=policy,
    )
