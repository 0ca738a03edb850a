"""A second model for what the first one refuses: a cheaper or a larger one, or one with other limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from schemas.messages.inbox import ModelTokens
from streams.extraction.protocol import Outage, Rejected

if TYPE_CHECKING:
    from streams.extraction.protocol import Extraction, Extractor, Window


class SecondModel:
    """Asks a model, and another one about windows to which the first gives no answer that can be used."""

    def __init__(self, first: Extractor, second: Extractor) -> None:
        """Take both; they are the caller's to close."""
        self._first = first
        self._second = second

    @property
    def model(self) -> str:
        """The first model's name; an answer of the second says so itself."""
        return self._first.model

    @property
    def prompt_hash(self) -> str:
        """The hash of the prompt, the same for both."""
        return self._first.prompt_hash

    async def extract(self, window: Window) -> Extraction:
        """Return the answer of the first model that has one.

        Raises Outage where the first is away, and Rejected where neither answers: with both reasons and tokens.
        """
        try:
            return await self._first.extract(window)
        except Rejected as error:
            refused = error
        try:
            found = await self._second.extract(window)
        except Outage:  # the window would be asked about again without end: it can be extracted again later
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
        """Return what each of the two took."""
        return (
            ModelTokens(model=self._first.model, tokens_in=first.tokens_in, tokens_out=first.tokens_out),
            ModelTokens(model=self._second.model, tokens_in=second.tokens_in, tokens_out=second.tokens_out),
        )
