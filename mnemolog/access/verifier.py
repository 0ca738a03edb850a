"""The verifier: finds the key of a text. After the slow hash a keyed digest of the text is cached for a while."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mnemolog.access.failures import Failures
from mnemolog.access.key import id_of, new_key
from mnemolog.access.principal import Role
from schemas.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.access.key import Key
    from mnemolog.access.key_file import KeyFile
    from schemas.clock import Clock

REMEMBERED_SECONDS: Final = 60.0
"""How long a verified key is not hashed again."""
MAX_REMEMBERED: Final = 4_096
HASHES_AT_ONCE: Final = 2
MAX_WAITING: Final = 64
"""Requests that may wait for a hash at the same time; further ones are refused with a Retry-After."""
BUSY_SECONDS: Final = 1.0


class NoKey(Exception):
    """The request has no valid key; the message says what to do."""


class TooMany(Exception):
    """Too many attempts, or more than the key's limits allow; the message says which."""

    def __init__(self, detail: str, seconds: float) -> None:
        """`seconds` is the Retry-After."""
        super().__init__(detail)
        self.seconds = seconds


_INVALID: Final = "the key is not valid: it was revoked, or mistyped; `mnemolog keys list` shows those there are"


@dataclass(frozen=True, slots=True)
class _Remembered:
    digest: bytes
    key: Key
    until: float


class Verifier:
    """Finds the key that a request presents, and limits wrong attempts."""

    def __init__(
        self, keys: KeyFile, clock: Clock | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Verify against the keys of this file."""
        self._keys = keys
        self._clock = clock or SystemClock()
        self._monotonic = monotonic
        self._failures = Failures(monotonic)
        self._secret = secrets.token_bytes(32)
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        self._hashing = asyncio.Semaphore(HASHES_AT_ONCE)
        self._comparing: dict[bytes, asyncio.Task[bool]] = {}
        self._threads = ThreadPoolExecutor(HASHES_AT_ONCE, "key-hash")
        self._decoy, _ = new_key(tenant="nobody", roles=[Role.READ], now=self._clock.now())
        """A key that no text matches: unknown keys are compared with it, so that they take as long as known ones."""

    async def verify(self, text: str, address: str) -> Key:
        """Return the key of a text that came from an address. Raises NoKey, TooMany."""
        key_id = id_of(text)
        if key_id is None:
            raise NoKey("that is no key of mnemolog: it begins with mnl_ and has 60 characters")
        key = self._keys.find(key_id)
        digest = hmac.digest(self._secret, text.encode(), "sha256")
        if key is None or not self._is_remembered(key, digest):
            is_right = await self._hashed(key or self._decoy, text, digest, address)
            if not is_right or key is None or self._keys.find(key_id) != key:
                raise NoKey(_INVALID)
        self._remember(key, digest)
        if key.is_expired(self._clock.now()):
            raise NoKey(f"the key {key_id} has expired: ask for another one (`mnemolog keys rotate {key_id}`)")
        return key

    def _is_remembered(self, key: Key, digest: bytes) -> bool:
        found = self._remembered.get(key.key_id)
        is_fresh = found is not None and found.key == key and self._monotonic() < found.until
        return found is not None and is_fresh and hmac.compare_digest(found.digest, digest)

    def _remember(self, key: Key, digest: bytes) -> None:
        if self._is_remembered(key, digest):
            return  # it is not remembered for longer by being used
        until = self._monotonic() + REMEMBERED_SECONDS
        self._remembered[key.key_id] = _Remembered(digest, key, until)
        self._remembered.move_to_end(key.key_id)
        while len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    async def _hashed(self, key: Key, text: str, digest: bytes, address: str) -> bool:
        """Return whether the text is the key's. Raises TooMany where the address has no attempts left.

        Requests that come with one key at the same time share a hash.
        """
        comparing = self._comparing.get(digest)
        if comparing is None:
            if wait := self._failures.seconds_to_wait(address, key.key_id):
                raise TooMany(
                    "too many keys from your address were not valid: wait, then send the valid one",
                    wait,
                )
            if len(self._comparing) >= MAX_WAITING:
                raise TooMany("too many keys are being verified: ask again in a moment", BUSY_SECONDS)
            self._failures.add(address, key.key_id)  # before the hash: many attempts at the same time are many
            comparing = asyncio.get_running_loop().create_task(self._compare(key, text, address))
            self._comparing[digest] = comparing
            comparing.add_done_callback(lambda _: self._comparing.pop(digest, None))
        return await asyncio.shield(comparing)  # whoever hangs up does not end it for the others

    async def _compare(self, key: Key, text: str, address: str) -> bool:
        async with self._hashing:
            is_right = await asyncio.get_running_loop().run_in_executor(self._threads, key.matches, text)
        if is_right:
            self._failures.forgive(address, key.key_id)
        return is_right
