"""Shared requests: the texts of callers in the same turn of the event loop are combined into one request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.embedding.embedder import EmbedderFailed, EmbedderRefused, EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from projections.embedding.embedder import Vectors

FEW_TEXTS: Final = 8
"""The most texts of a call that shares a request: a question should not wait for the vectors of a long list."""
MOST_CALLERS: Final = 8
"""The most callers in one request, so that an endpoint accepts its texts at once."""


class SharedRequests:
    """The combination of callers with few texts into one request, with the same results as separate requests.

    A text that the endpoint refuses or fails at affects only its own caller. All callers get only those errors that do
    not depend on the texts: the endpoint cannot be reached, is busy, or does not answer in time. Callers that are woken
    by the same write arrive together; a single caller waits for one turn of the loop.
    """

    def __init__(self, ask: Callable[[Sequence[str]], Awaitable[Vectors]]) -> None:
        """Take the function that embeds texts, which raises EmbedderUnavailable or EmbedderRefused."""
        self._ask = ask
        self._waiting: list[_Caller] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of at most FEW_TEXTS texts. Raises the errors of the function."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._go, loop)
        answer: asyncio.Future[Vectors | None] = loop.create_future()
        self._waiting.append((texts, answer))
        vectors = await answer
        return await self._ask(texts) if vectors is None else vectors

    def _go(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting = [caller for caller in self._waiting if not caller[1].done()]
        self._waiting = []
        for begin in range(0, len(waiting), MOST_CALLERS):
            callers = waiting[begin : begin + MOST_CALLERS]
            if len(callers) == 1:
                _alone(callers)
                continue
            task = loop.create_task(self._of_all(callers))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _of_all(self, callers: Sequence[_Caller]) -> None:
        try:
            vectors = await self._ask([text for texts, _ in callers for text in texts])
        except (EmbedderRefused, EmbedderFailed):
            _alone(callers)  # only the callers of these texts must get the error
        except EmbedderUnavailable as error:
            for _, answer in callers:
                if not answer.done():
                    answer.set_exception(EmbedderUnavailable(*error.args))
        except BaseException:
            _alone(callers)
            raise
        else:
            begin = 0
            for texts, answer in callers:
                if not answer.done():
                    answer.set_result(vectors[begin : begin + len(texts)])
                begin += len(texts)


_Caller: TypeAlias = "tuple[Sequence[str], asyncio.Future[Vectors | None]]"
"""Texts, and the future answer: None if their caller must ask alone."""


def _alone(callers: Sequence[_Caller]) -> None:
    for _, answer in callers:
        if not answer.done():
            answer.set_result(None)
