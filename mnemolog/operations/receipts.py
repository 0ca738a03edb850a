"""Receipts of erasures: signed by a key of the installation, and kept beside its keys without anybody's name."""

from __future__ import annotations

import hmac
import logging
import os
from base64 import b64decode, b64encode
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from streams.sealing.key_files import FOLDER, write_keys
from streams.sealing.master_key import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from schemas.identity import Owner

log = logging.getLogger("mnemolog")
_OWN_KEY: Final = "receipts"
LIST_FILE: Final = "erasures.jsonl"
_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Erasure:
    """What the list keeps of an erasure: enough to repeat it where a backup brings the user back."""

    subject: str
    """A keyed hash of tenant and user, as `Receipts.subject` makes it."""
    tenant: str
    erased_at: str
    receipt_id: str
    memories: int
    of_memory: bool = False
    """The subject is one memory of a user's."""
    public_key: str | None = None
    """What checks its receipt, where a worker has a key of its own; None: it is the installation's."""

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Erasure:
        """Return an erasure from JSON; what a later version says besides is left out. Raises TypeError, ValueError."""
        found = cls(**{name: said[name] for name in _FIELDS if name in said})
        if not all(isinstance(text, str) for text in (found.subject, found.tenant, found.erased_at, found.receipt_id)):
            raise TypeError("a text is none")
        if datetime.fromisoformat(found.erased_at).tzinfo is None:
            raise ValueError("the time has no offset")
        return found


_FIELDS: Final = tuple(field.name for field in fields(Erasure))


class Receipts:
    """Signs receipts, and keeps the list of erasures in `keys/`, apart from the log."""

    def __init__(self, data_dir: Path, secret: bytes | None, *, keeps_secret: bool = False) -> None:
        """Take the installation's secret; None makes one of this data directory's own, in `keys/receipts`.

        `keeps_secret`: the installation's is kept there too, for a restored log may be older than it.
        """
        self._folder = data_dir / FOLDER
        self._secret = secret
        self._is_installations = secret is not None
        self._keeps_secret = keeps_secret
        self._list = self._folder / LIST_FILE

    @property
    def public_key(self) -> str:
        """The Ed25519 key that signatures are checked with, in base64. Without the installation's secret it is made."""
        return b64encode(self._key().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    @property
    def own_public_key(self) -> str | None:
        """The same where the key is this data directory's own, so that whoever else lists a receipt has to name it."""
        return None if self._is_installations else self.public_key

    def subject(self, owner: Owner, memory_id: str | None = None) -> str:
        """Return the name of an owner, or of a memory, on the list: a hash that only this installation can make."""
        return _subject(self._own_secret(), owner, memory_id)

    def subjects(self, owner: Owner, memory_id: str | None = None) -> list[str]:
        """Return every name that an owner, or a memory, may have on the list: others were made with other secrets."""
        secrets = dict.fromkeys([self._own_secret(), *self._kept_secrets()])
        return [_subject(secret, owner, memory_id) for secret in secrets]

    def sign(self, receipt: dict[str, Any]) -> dict[str, Any]:
        """Return a receipt with its signature."""
        return {**receipt, "signature": b64encode(self._key().sign(_bytes_of(receipt))).decode()}

    def keep(self, *erasures: Erasure) -> None:
        """Add erasures to the list, durably and each once. Raises OSError."""
        kept = {one.receipt_id for one in self.kept()}
        new = {one.receipt_id: one for one in erasures if one.receipt_id not in kept}
        if not new:
            return
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        if self._keeps_secret and self._own_secret() not in (kept_secrets := self._kept_secrets()):
            self._write_secrets([*kept_secrets, self._own_secret()])
        descriptor = os.open(self._list, os.O_RDWR | os.O_CREAT | os.O_APPEND, _MODE)
        with os.fdopen(descriptor, "ab+") as file:
            if size := file.seek(0, os.SEEK_END):
                file.seek(size - 1)
                if file.read(1) != b"\n":  # a crash has cut the last line off: the next one begins on its own
                    file.write(b"\n")
            file.writelines(orjson.dumps(one) + b"\n" for one in new.values())
            file.flush()
            os.fsync(file.fileno())

    def kept(self) -> list[Erasure]:
        """Return the list, the oldest first; one that a crash cut off, or somebody spoilt, is left out and logged."""
        try:
            lines = self._list.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(Erasure.of(orjson.loads(line)))
            except (TypeError, ValueError):  # of JSON too
                log.error("line %s of %s tells of no erasure: restore it from a copy", number, self._list)  # noqa: TRY400 - it says everything
        return found

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(sha256(b"receipt key\0" + self._own_secret()).digest())

    def _own_secret(self) -> bytes:
        if self._secret is None:
            if not self._kept_secrets():
                self._write_secrets([os.urandom(KEY_BYTES)])
            self._secret = self._kept_secrets()[0]
        return self._secret

    def _kept_secrets(self) -> list[bytes]:
        try:
            return [b64decode(line) for line in (self._folder / _OWN_KEY).read_text("ascii").split()]
        except FileNotFoundError:
            return []

    def _write_secrets(self, secrets: Sequence[bytes]) -> None:
        write_keys(self._folder / _OWN_KEY, [b64encode(secret).decode() for secret in secrets])


def is_signed(receipt: dict[str, Any], public_key: str) -> bool:
    """Return whether a receipt is what the owner of a public key has signed, whatever else it may hold."""
    body = {name: value for name, value in receipt.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(b64decode(public_key, validate=True))
        key.verify(b64decode(str(receipt.get("signature")), validate=True), _bytes_of(body))
    except (InvalidSignature, ValueError, orjson.JSONEncodeError):
        return False
    return True


def _subject(secret: bytes, owner: Owner, memory_id: str | None) -> str:
    named = owner.key if memory_id is None else owner.key + b"\0" + memory_id.encode()
    return hmac.new(secret, b"subject\0" + named, sha256).hexdigest()


def _bytes_of(receipt: dict[str, Any]) -> bytes:
    return orjson.dumps(receipt, option=orjson.OPT_SORT_KEYS)
