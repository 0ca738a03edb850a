"""The verifier: finds the key that a text belongs to. It computes the slow hash once and caches a keyed digest."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mnemolog.access.failures import Failures
from mnemolog.access.key import id_of, new_key
from mnemolog.access.principal import Role
from schemas.bounded_cache import BoundedCache
from schemas.instant import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.access.key import Key
    from mnemolog.access.key_file import KeyFile
    from schemas.instant import Clock

MAX_REMEMBERED: Final = 65_536
"""Keys whose digest is cached: their text is not hashed again as long as their entry in the file is unchanged."""
HASHES_AT_ONCE: Final = 2
HASH_SECONDS: Final = 0.05
"""The assumed time of a hash until one was measured."""
MAX_WAITING: Final = 256
"""Hashes that may be pending at the same time; further requests are refused with a Retry-After."""
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


class Verifier:
    """Finds the key that a request presents, and limits wrong attempts."""

    def __init__(
        self, keys: KeyFile, clock: Clock | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Verify against the keys of this file."""
        self._keys = keys
        self._clock = clock or SystemClock()
        self._failures = Failures(monotonic)
        self._secret = secrets.token_bytes(32)
        self._remembered = BoundedCache[str, _Remembered](MAX_REMEMBERED)
        self._hashing = asyncio.Semaphore(HASHES_AT_ONCE)
        self._comparing: dict[bytes, asyncio.Task[bool]] = {}
        self._threads = ThreadPoolExecutor(HASHES_AT_ONCE, "key-hash")
        self._decoy, _ = new_key(tenant="nobody", roles=[Role.READ], now=self._clock.now())
        """A key that no text matches. Unknown keys are compared with it, so that they take as long as known ones."""
        self._decoys = Failures(monotonic)
        """Comparisons of unknown keys by address. Ids are free to invent, and each hash occupies a thread."""
        self._hash_seconds = HASH_SECONDS

    async def verify(self, text: str, address: str) -> Key:
        """Return the key that a text from an address belongs to. Raises NoKey, TooMany."""
        key_id = id_of(text)
        if key_id is None:
            raise NoKey("that is no key of mnemolog: it begins with mnl_ and has 60 characters")
        await self._keys.look()
        key = self._keys.find(key_id)
        if key is None:
            await self._keys.settle()
            key = self._keys.find(key_id)
        digest = hmac.digest(self._secret, text.encode(), "sha256")
        if key is None or not self._is_remembered(key, digest):
            is_right = await self._hashed(key, key_id, text, digest, address)
            if not is_right or key is None or self._keys.find(key_id) != key:
                raise NoKey(_INVALID)
        self._remembered.put(key.key_id, _Remembered(digest, key))
        if key.is_expired(self._clock.now()):
            raise NoKey(f"the key {key_id} has expired: ask for another one (`mnemolog keys rotate {key_id}`)")
        return key

    async def is_valid(self, key: Key) -> bool:
        """Return whether a verified key is still in the file, unchanged, and has not expired."""
        await self._keys.look()
        return self._keys.find(key.key_id) == key and not key.is_expired(self._clock.now())

    def _is_remembered(self, key: Key, digest: bytes) -> bool:
        found = self._remembered.get(key.key_id)
        return found is not None and found.key == key and hmac.compare_digest(found.digest, digest)

    async def _hashed(self, key: Key | None, key_id: str, text: str, digest: bytes, address: str) -> bool:
        """Return whether the text belongs to the key. Raises TooMany if the address has no attempts left with this id.

        Concurrent requests with the same text share a hash. An unknown id is treated like a known one: its attempts are
        counted, and a comparison takes as long.
        """
        comparing = self._comparing.get(digest)
        if comparing is None:
            if wait := self._failures.seconds_to_wait(address, key_id):
                raise TooMany(
                    "too many keys from your address were not valid: wait, then send the valid one",
                    wait,
                )
            if len(self._comparing) >= MAX_WAITING:
                raise TooMany("too many keys are being verified: ask again in a moment", BUSY_SECONDS)
            self._failures.add(address, key_id)  # counted before the hash, so that concurrent attempts all count
            comparing = asyncio.get_running_loop().create_task(self._compare(key, key_id, text, address))
            self._comparing[digest] = comparing
            comparing.add_done_callback(lambda _: self._comparing.pop(digest, None))
        return await asyncio.shield(comparing)  # a caller that disconnects does not cancel it for the others

    async def _compare(self, key: Key | None, key_id: str, text: str, address: str) -> bool:
        if key is None and self._decoys.seconds_to_wait(address, ""):
            await asyncio.sleep(self._hash_seconds)  # as long as the last hash took, waiting included
            return False
        if key is None:
            self._decoys.add(address, "")
        began = time.perf_counter()
        async with self._hashing:
            matches = (key or self._decoy).matches
            is_right = await asyncio.get_running_loop().run_in_executor(self._threads, matches, text)
        self._hash_seconds = time.perf_counter() - began
        if is_right:
            self._failures.forgive(address, key_id)
        return is_right and key is not None
