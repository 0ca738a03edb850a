"""The methods of both clients, built from the functions that build calls; each module of calls ends with their list."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mnemolog.client.call import Call

P = ParamSpec("P")
T = TypeVar("T")


class AsyncCarrier(ABC):
    """A client that sends calls and awaits their answers."""

    @abstractmethod
    async def carry(self, call: Call[T]) -> T:
        """Send a call and return its answer. Raises MnemologError."""


class Carrier(ABC):
    """A client that sends calls and waits for their answers."""

    @abstractmethod
    def carry(self, call: Call[T]) -> T:
        """Send a call and return its answer. Raises MnemologError."""


class method(Generic[P, T]):  # noqa: N801 - it is used as `property` is
    """A function that builds a call, as a method of both clients: AsyncClient's is awaited, Client's is not.

    It has the parameters and the docstring of the function, and returns the value that the call reads from its answer.
    """

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        """Take the function."""

        @functools.wraps(build)
        async def awaited(self: AsyncCarrier, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self.carry(build(*args, **kwargs))

        @functools.wraps(build)
        def direct(self: Carrier, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return self.carry(build(*args, **kwargs))

        self._awaited = awaited
        self._direct = direct

    @overload
    def __get__(self, client: AsyncCarrier, kind: type[AsyncCarrier]) -> Callable[P, Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(self, client: Carrier, kind: type[Carrier]) -> Callable[P, T]: ...

    @overload
    def __get__(
        self, client: None, kind: type[AsyncCarrier]
    ) -> Callable[Concatenate[AsyncCarrier, P], Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(self, client: None, kind: type[Carrier]) -> Callable[Concatenate[Carrier, P], T]: ...

    def __get__(self, client: AsyncCarrier | Carrier | None, kind: type[AsyncCarrier | Carrier]) -> Any:
        """Return the bound method of a client, or the plain function if accessed on its class."""
        function = self._awaited if issubclass(kind, AsyncCarrier) else self._direct
        return function if client is None else MethodType(function, client)
