"""Methods of both clients, made of the functions that build calls; each module of calls ends with its two classes."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mnemolog.client.call import Call

P = ParamSpec("P")
T = TypeVar("T")


class AsyncCarrier(ABC):
    """What sends calls and awaits their answers."""

    @abstractmethod
    async def carry(self, call: Call[T]) -> T:
        """Send a call and return its answer. Raises MnemologError."""


class Carrier(ABC):
    """What sends calls and waits for their answers."""

    @abstractmethod
    def carry(self, call: Call[T]) -> T:
        """Send a call and return its answer. Raises MnemologError."""


def awaited(build: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncCarrier, P], Coroutine[Any, Any, T]]:
    """Return the method of the asynchronous client that carries what a function builds."""

    @functools.wraps(build)
    async def method(self: AsyncCarrier, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.carry(build(*args, **kwargs))

    return method


def direct(build: Callable[P, Call[T]]) -> Callable[Concatenate[Carrier, P], T]:
    """Return the method of the other client that carries what a function builds."""

    @functools.wraps(build)
    def method(self: Carrier, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.carry(build(*args, **kwargs))

    return method
