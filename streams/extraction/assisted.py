"""A model that the rules assist: they fill the slots that it left empty.

Small models say who somebody is and forget to fill the slot: of 47 slots in the labelled windows of `bench/real_model`,
a model of 1.5 billion parameters filled 26 alone, and 34 with the rules. The rules add nothing that the model did not
find worth remembering.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas.text import plain_words, stands_in
from streams.extraction.protocol import ExtractorError

if TYPE_CHECKING:
    from streams.extraction.protocol import Extraction, Extractor, Proposal, Window

HASH_DIGITS: Final = 16


class AssistedModel:
    """Asks a model, and fills the slots of what the model found with the help of the rules."""

    def __init__(self, model: Extractor, rules: Extractor) -> None:
        """Take both; the caller closes them."""
        self._model = model
        self._rules = rules
        hashes = f"{model.prompt_hash}\n{rules.prompt_hash}"
        self._prompt_hash = hashlib.sha256(hashes.encode()).hexdigest()[:HASH_DIGITS]

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model.model

    @property
    def prompt_hash(self) -> str:
        """A hash of the model's prompt and of the rules' version."""
        return self._prompt_hash

    async def extract(self, window: Window) -> Extraction:
        """Return the model's proposals with the rules' slots. Raises what the model raises."""
        if window.source_type != "chat":
            return await self._model.extract(window)
        reading = asyncio.create_task(self._read(window))  # while the model thinks
        try:
            extraction = await self._model.extract(window)
            if not extraction.proposals:
                return extraction
            read = await reading
        finally:
            reading.cancel()
        proposals = with_slots(extraction.proposals, read)
        return extraction if proposals == extraction.proposals else replace(extraction, proposals=proposals)

    async def _read(self, window: Window) -> tuple[Proposal, ...]:
        """Return what the rules find about the user; nothing if they fail, because the model's answer counts alone."""
        try:
            read = (await self._rules.extract(window)).proposals
            return tuple(one for one in read if one.speaker is None and one.about is None)
        except ExtractorError:
            return ()


def with_slots(proposals: tuple[Proposal, ...], read: tuple[Proposal, ...]) -> tuple[Proposal, ...]:
    """Return a model's proposals with the slots that the rules filled and the model did not.

    A slot goes to the first proposal without a slot that says its value. Where every proposal that says it fills
    another slot already, the rules' own proposal is added: one memory fills one slot.
    """
    found = list(proposals)
    mine = {i for i, proposal in enumerate(proposals) if proposal.about is None and proposal.speaker is None}
    filled = {proposals[i].attribute or proposals[i].becomes for i in mine}
    for slot in read:
        fills = slot.attribute or slot.becomes
        if fills is None or not slot.value or fills in filled:
            continue
        value = plain_words(slot.value)
        saying = [i for i, proposal in enumerate(found) if stands_in(value, plain_words(proposal.content))]
        free = next((i for i in saying if i in mine and (found[i].attribute or found[i].becomes) is None), None)
        if free is not None:
            sources = tuple(dict.fromkeys((*found[free].sources, *slot.sources)))
            found[free] = replace(
                found[free],
                attribute=slot.attribute,
                becomes=slot.becomes,
                value=slot.value,
                sources=sources,
                occurred_on=found[free].occurred_on or (slot.occurred_on if slot.becomes else None),
            )
        elif saying:
            found.append(slot)
    return tuple(found)
