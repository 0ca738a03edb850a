"""Fitting: questions that fit into a model's context, with examples if there is room, in parts if necessary."""

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
"""ASCII characters per token in prose and JSON; any other character is one token. The estimate is rather high."""
LEAST_CHARACTERS: Final = 200
"""The fewest characters of a half: a piece with less than twice as many is not divided."""
LEAST_ANSWER: Final = 256
"""The tokens that are reserved for an answer, however small the context."""
_LEARNED: Final = 0.75
"""The factor by which the assumed context shrinks after a question was too long."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a window with its question; `indexes` are the positions of its pieces in the whole."""

    window: Window
    indexes: tuple[int, ...]
    question: list[Message]

    @property
    def tokens(self) -> int:
        """The estimated tokens of the question. They are computed only when needed."""
        return tokens_of(self.question)

    def of_the_whole(self, proposal: Proposal) -> Proposal:
        """Return a proposal for this part as one for the whole window."""
        sources = tuple(self.indexes[i] for i in proposal.sources)
        return proposal if sources == proposal.sources else replace(proposal, sources=sources)


class Fitting:
    """The division of windows so that each question fits, one for each endpoint. It learns from questions too long."""

    def __init__(self, context_tokens: int | None, max_tokens: int) -> None:
        """`context_tokens` bounds question and answer together; None means that the bound is not known yet."""
        self._context = context_tokens
        self._max_tokens = max_tokens

    @property
    def context_tokens(self) -> int | None:
        """The assumed context, in estimated tokens; None means unbounded."""
        return self._context

    def parts(self, window: Window) -> list[Part]:
        """Return the parts of a window in order, usually one."""
        return self._parts(window, tuple(range(len(window.pieces))))

    def halves(self, part: Part) -> list[Part]:
        """Return a part that was too long as smaller parts that should fit; [] if it cannot be smaller.

        The smaller context is learned for all later windows.
        """
        self._context = max(1, math.floor(min(part.tokens, self._context or part.tokens) * _LEARNED))
        smaller = self._parts(part.window, part.indexes)
        return smaller if len(smaller) > 1 or smaller[0].tokens < part.tokens else []

    def answer_tokens(self, question: Sequence[Message]) -> int:
        """Return the most tokens of the answer to a question."""
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
    """Estimate the tokens of a question, without those of pictures, which are unknown."""
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
    """Return the two halves of a window, by its pieces or by its only piece's text; [] if that is too short."""
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
