"""Authentication: finds the principal of a request by its key, before the body is read."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mnemolog.access.principal import LOCAL, PRINCIPAL
from mnemolog.access.verifier import NoKey, TooMany
from mnemolog.http.problems import Problem, too_many

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import ExitStack

    from starlette.types import Scope

    from mnemolog.access.key import Key
    from mnemolog.access.rates import Rates
    from mnemolog.access.verifier import Verifier

BETWEEN_WORKERS: Final = "/v1/internal/"
"""The prefix of paths for other workers. Their bodies are Base64, a third longer than those of callers."""
NOT_FOR_CALLERS: Final = "this route is for the group's other workers: /docs lists those for you"
STREAMS: Final = frozenset({"/v1/wakes/stream", "/v1/changes/stream"})
KEY: Final = "mnemolog.key"
"""The member of a request's scope that holds the key, for its limits."""
_IS_VALID: Final = "mnemolog.key_is_valid"
_COST: Final = "mnemolog.cost"
OF_CALLER: Final = (PRINCIPAL, KEY, _IS_VALID, _COST)
"""The members of a request's scope that identify its sender and the rate that counts it."""
_SCHEMES: Final = frozenset({"bearer", "token"})


class Authentication:
    """Finds the principal of each request, and counts the requests of its key."""

    def __init__(self, verifier: Verifier | None, rates: Rates) -> None:
        """Take the verifier of keys, and the rates that count their requests. Without a verifier, callers are LOCAL."""
        self._verifier = verifier
        self._rates = rates

    async def identify(self, scope: Scope, until_answered: ExitStack) -> None:
        """Put the principal into the scope. Raises Problem.

        Resources that last until the answer is sent are entered into `until_answered`.
        """
        if self._verifier is None:
            scope.setdefault(PRINCIPAL, LOCAL)
            return
        if PRINCIPAL in scope:  # it came from another worker, or is part of an authenticated request
            cost: _Cost | None = scope.get(_COST)
            if cost is not None:
                cost.count()
            return
        if scope["path"].startswith(BETWEEN_WORKERS):  # a caller's key does not prove that the sender is a worker
            raise Problem(HTTPStatus.NOT_FOUND, NOT_FOR_CALLERS)
        try:
            key = await self._verifier.verify(_presented(scope), _address(scope))
            self._rates.take_request(key)
            if scope["path"] in STREAMS:
                until_answered.enter_context(self._rates.stream(key))
        except NoKey as error:
            asked = {"WWW-Authenticate": 'Bearer realm="mnemolog"'}
            raise Problem(HTTPStatus.UNAUTHORIZED, str(error), headers=asked) from None
        except TooMany as error:
            raise too_many(error) from None
        scope[PRINCIPAL], scope[KEY] = key.principal, key
        scope[_IS_VALID] = partial(self._verifier.is_valid, key)
        scope[_COST] = _Cost(self._rates, key)


class _Cost:
    """The cost of a request for its key: the number of requests that it makes to our own routes, and at least one."""

    def __init__(self, rates: Rates, key: Key) -> None:
        self._rates = rates
        self._key = key
        self._has_made_any = False

    def count(self) -> None:
        """Count a request that it makes; the first is already counted for the key."""
        if self._has_made_any:
            self._rates.add_request(self._key)
        self._has_made_any = True


def at_no_cost(scope: Scope) -> None:
    """Exclude a request that is part of another from the rate of its key."""
    scope.pop(_COST, None)


def key_of(scope: Scope) -> Key | None:
    """Return the key of a request; None if it needed none."""
    key: Key | None = scope.get(KEY)
    return key


async def is_still_valid(scope: Scope) -> bool:
    """Return whether the key of a request is still valid and unchanged; true if it needed none."""
    is_valid: Callable[[], Awaitable[bool]] | None = scope.get(_IS_VALID)
    return is_valid is None or await is_valid()


def _presented(scope: Scope) -> str:
    """Return the key in the headers. Raises NoKey."""
    found: set[str] = set()
    for name, value in scope["headers"]:
        text = value.decode("latin-1").strip()
        if name == b"x-api-key":
            found.add(text)
        elif name == b"authorization":
            scheme, _, rest = text.partition(" ")
            if scheme.lower() not in _SCHEMES:
                raise NoKey("Authorization must be `Bearer KEY` (or `Token KEY`), or leave it out and send X-API-Key")
            found.add(rest.strip())
    if len(found) > 1:
        raise NoKey("the request has two different keys: send one")
    if not found:
        raise NoKey("this needs an API key: send `Authorization: Bearer KEY` (commands: MNEMOLOG_API_KEY)")
    return found.pop()


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""
