"""Fitting: questions that a model's context can hold, with examples where there is room, else in parts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from streams.extraction.model.prompts import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streams.extraction.model.prompts import Message
    from streams.extraction.protocol import Proposal, Window

LETTERS_A_TOKEN: Final = 3.5
"""ASCII characters that make a token, of prose and JSON; any other character is one token. Rather too many tokens."""
LEAST_CHARACTERS: Final = 200
"""A piece under twice as many characters is not divided."""
LEAST_ANSWER: Final = 256
"""Tokens that are kept free for an answer, however small the context."""
_LEARNED: Final = 0.75
"""What was too long was so much too long, as far as is known."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a window, as it is asked about; `indexes` are its pieces' places in the whole."""

    window: Window
    indexes: tuple[int, ...]
    question: list[Message]

    @property
    def tokens(self) -> int:
        """Those of the question, estimated; nobody asks while the context is not known."""
        return tokens_of(self.question)

    def of_the_whole(self, proposal: Proposal) -> Proposal:
        """Return what was proposed for this part as a proposal for the whole window."""
        sources = tuple(self.indexes[i] for i in proposal.sources)
        return proposal if sources == proposal.sources else replace(proposal, sources=sources)


class Fitting:
    """Divides windows so that each question fits. One for each endpoint: it learns what was too long."""

    def __init__(self, context_tokens: int | None, max_tokens: int) -> None:
        """`context_tokens` bounds question and answer together; None is not known yet."""
        self._context = context_tokens
        self._max_tokens = max_tokens

    @property
    def context_tokens(self) -> int | None:
        """What is known to fit, in estimated tokens; None is anything."""
        return self._context

    def parts(self, window: Window) -> list[Part]:
        """Return the parts of a window in order, usually one."""
        return self._parts(window, tuple(range(len(window.pieces))))

    def halves(self, part: Part) -> list[Part]:
        """Return a part that was too long in smaller ones that are expected to fit, [] where it cannot be smaller.

        What was too long is learned, for all windows to come.
        """
        self._context = max(1, math.floor(min(part.tokens, self._context or part.tokens) * _LEARNED))
        smaller = self._parts(part.window, part.indexes)
        return smaller if len(smaller) > 1 or smaller[0].tokens < part.tokens else []

    def answer_tokens(self, question: Sequence[Message]) -> int:
        """Return how long the answer to a question may be."""
        if self._context is None:
            return self._max_tokens
        return max(1, min(self._max_tokens, max(LEAST_ANSWER, self._context - tokens_of(question))))

    def _parts(self, window: Window, indexes: tuple[int, ...]) -> list[Part]:
        whole = _part(window, indexes, examples=True)
        if self._fits(whole):
            return [whole]
        bare = _part(window, indexes, examples=False)
        if self._fits(bare):
            return [bare]
        halves = _halves(window, indexes)
        if not halves:
            return [_part(replace(window, known=()), indexes, examples=False)]
        return [part for half, places in halves for part in self._parts(half, places)]

    def _fits(self, part: Part) -> bool:
        if self._context is None:
            return True
        answer = min(self._max_tokens, max(LEAST_ANSWER, self._context // 4))
        return part.tokens + answer <= self._context


def tokens_of(question: Sequence[Message]) -> int:
    """Estimate the tokens of a question; a picture's are not known and not counted."""
    return sum(map(_tokens_of, question))


def _tokens_of(message: Message) -> int:
    content = message["content"]
    if isinstance(content, str):
        return _tokens(content)
    return sum(_tokens(part["text"]) for part in content if part["type"] == "text")


def _tokens(text: str) -> int:
    plain = len(text.encode("ascii", "ignore"))
    return math.ceil(plain / LETTERS_A_TOKEN) + len(text) - plain


def _part(window: Window, indexes: tuple[int, ...], *, examples: bool) -> Part:
    return Part(window, indexes, messages(window, examples=examples))


def _halves(window: Window, indexes: tuple[int, ...]) -> list[tuple[Window, tuple[int, ...]]]:
    """Return the two halves of a window by its pieces, or of its only piece's text; [] where that is too short."""
    pieces = window.pieces
    if len(pieces) > 1:
        middle = len(pieces) // 2
        return [
            (replace(window, pieces=pieces[:middle]), indexes[:middle]),
            (replace(window, pieces=pieces[middle:]), indexes[middle:]),
        ]
    [piece] = pieces
    if len(piece.text) < 2 * LEAST_CHARACTERS:
        return []
    middle = len(piece.text) // 2
    break_at = max(piece.text.rfind(mark, middle // 2, middle) for mark in ("\n", "。", ". ", " ", "，"))
    middle = break_at + 1 if break_at > 0 else middle
    texts = (piece.text[:middle], piece.text[middle:])
    return [(replace(window, pieces=(replace(piece, text=text),)), indexes) for text in texts]


def joined(answers: list[str | None]) -> str | None:
    """Return the raw answers to the parts as one text: the only one, else a JSON array of them."""
    return answers[0] if len(answers) == 1 else json.dumps(answers, ensure_ascii=False)
