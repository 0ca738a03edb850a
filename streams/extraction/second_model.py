"""A second model for what the first one refuses: a cheaper or a larger one, or one with other limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from schemas.messages.inbox import ModelTokens
from streams.extraction.protocol import Outage, Rejected

if TYPE_CHECKING:
    from streams.extraction.protocol import Extraction, Extractor, Window


class SecondModel:
    """Asks a model, and then a second one about windows to which the first gives no usable answer."""

    def __init__(self, first: Extractor, second: Extractor) -> None:
        """Take both; the caller closes them."""
        self._first = first
        self._second = second

    @property
    def model(self) -> str:
        """The first model's name; an answer of the second has the second's name in `by`."""
        return self._first.model

    @property
    def prompt_hash(self) -> str:
        """The hash of the prompt, the same for both."""
        return self._first.prompt_hash

    async def extract(self, window: Window) -> Extraction:
        """Return the first model's answer if it is usable, else the second's.

        Raises Outage if the first model is unavailable, and Rejected if neither answer is usable, with both reasons and
        the tokens of both. If the second model is unavailable, the first one's Rejected is raised.
        """
        try:
            return await self._first.extract(window)
        except Rejected as error:
            refused = error
        try:
            found = await self._second.extract(window)
        except Outage:  # to wait would ask the first again without end; the window can be re-extracted
            raise refused from None
        except Rejected as error:
            raise Rejected(
                f"{refused.reason}; {self._second.model}: {error.reason}",
                error.answer or refused.answer,
                refused.tokens_in + error.tokens_in,
                refused.tokens_out + error.tokens_out,
                self._tokens(refused, error),
            ) from error
        return replace(
            found,
            by=self._second.model,
            tokens_in=found.tokens_in + refused.tokens_in,
            tokens_out=found.tokens_out + refused.tokens_out,
            tokens_by_model=self._tokens(refused, found),
        )

    def _tokens(self, first: Rejected, second: Rejected | Extraction) -> tuple[ModelTokens, ...]:
        return (
            ModelTokens(model=self._first.model, tokens_in=first.tokens_in, tokens_out=first.tokens_out),
            ModelTokens(model=self._second.model, tokens_in=second.tokens_in, tokens_out=second.tokens_out),
        )
