"""Receipts of erasures, signed with a key of the installation, and the list of erasures, which contains no names."""

from __future__ import annotations

import hmac
import logging
import os
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from schemas.identity import derived_id
from streams.sealing.key_files import FOLDER, write_keys
from streams.sealing.master_key import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from mnemolog.cluster.peers import WorkerAnswer
    from schemas.identity import Owner

    AskOthers = Callable[[str, object, float | None], Awaitable[Sequence[WorkerAnswer]]]

log = logging.getLogger("mnemolog")
_OWN_KEY: Final = "receipts"
_SUBJECT_KEYS: Final = "subjects"
LIST_FILE: Final = "erasures.jsonl"
_MODE: Final = 0o600
ASK_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure on the list: enough to repeat it if a restored backup brings the user back."""

    subject: str
    """A keyed hash of tenant and user, as `Receipts.subject` makes it."""
    tenant: str
    erased_at: str
    receipt_id: str
    memories: int
    of_memory: bool = False
    """Whether the subject is a single memory of a user."""
    public_key: str | None = None
    """The key that verifies its receipt; None in entries of earlier versions."""
    generations: int | None = None
    """The generations that its receipt states; None in entries of earlier versions."""
    events: int | None = None
    """The events of a memory that were found, as its receipt states; None for a user, and in earlier versions."""

    @property
    def moment(self) -> datetime:
        """When the erasure was decided."""
        return datetime.fromisoformat(self.erased_at)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Erasure:
        """Return an erasure from JSON, ignoring fields of later versions. Raises TypeError, ValueError."""
        found = cls(**{name: said[name] for name in _FIELDS if name in said})
        if not all(isinstance(text, str) for text in (found.subject, found.tenant, found.erased_at, found.receipt_id)):
            raise TypeError("a field that must be a text is none")
        if datetime.fromisoformat(found.erased_at).tzinfo is None:
            raise ValueError("the time has no offset")
        return found


_FIELDS: Final = tuple(field.name for field in fields(Erasure))


def receipt_id_of(owner: Owner, command_id: str) -> str:
    """Return the id of the receipt for a command's erasure."""
    return derived_id("erasure", owner.tenant, owner.user_id, command_id)


class Receipts:
    """Signs receipts, and keeps the list of erasures in `keys/`, separate from the log."""

    def __init__(self, data_dir: Path, secret: bytes | None) -> None:
        """Take the installation's secret. If it is None, this data directory gets its own, in `keys/receipts`."""
        self._folder = data_dir / FOLDER
        self._secret = secret
        self._subject_keys: list[bytes] | None = None
        self._list = self._folder / LIST_FILE

    @property
    def public_key(self) -> str:
        """The Ed25519 public key that verifies signatures, in base64; created if the installation has no secret."""
        return b64encode(self._key().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def subject(self, owner: Owner, memory_id: str | None = None) -> str:
        """Return the name of an owner, or a memory, on the list: a hash that only this installation can compute."""
        return _subject(self._subject_key(), owner, memory_id)

    def subjects(self, owner: Owner, memory_id: str | None = None) -> set[str]:
        """Return all names that an owner, or a memory, may have on the list.

        The installation's secret is in the log. A restored log may be older than the secret, and then gets another one.
        Therefore the keys of all hashes are kept next to the list.
        """
        return {_subject(key, owner, memory_id) for key in {self._subject_key(), *self._kept_keys()}}

    def sign(self, receipt: dict[str, Any]) -> dict[str, Any]:
        """Return a receipt with its signature."""
        return {**receipt, "signature": b64encode(self._key().sign(_bytes_of(receipt))).decode()}

    def give(self, owner: Owner, receipts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Put erasures of an owner, or of memories, on the list; return their signed receipts. Raises OSError."""
        public_key = self.public_key
        self.keep(
            *(
                Erasure(
                    subject=self.subject(owner, one.get("memory_id")),
                    tenant=owner.tenant,
                    erased_at=one["erased_at"],
                    receipt_id=one["receipt_id"],
                    memories=one["memories"],
                    of_memory="memory_id" in one,
                    public_key=public_key,
                    generations=one["generations"],
                    events=one["events"] if "memory_id" in one else None,
                )
                for one in receipts
            )
        )
        return [self.sign(one) for one in receipts]

    def keep(self, *erasures: Erasure) -> None:
        """Add erasures to the list, durably, and each only once. Raises OSError."""
        kept = {one.receipt_id for one in self.kept()}
        new = {one.receipt_id: one for one in erasures if one.receipt_id not in kept}
        if not new:
            return
        self._keep_subject_key()
        descriptor = os.open(self._list, os.O_RDWR | os.O_CREAT | os.O_APPEND, _MODE)
        with os.fdopen(descriptor, "ab+") as file:
            if size := file.seek(0, os.SEEK_END):
                file.seek(size - 1)
                if file.read(1) != b"\n":  # a crash cut the last line short: begin a new one
                    file.write(b"\n")
            file.writelines(orjson.dumps(one) + b"\n" for one in new.values())
            file.flush()
            os.fsync(file.fileno())

    def kept(self) -> list[Erasure]:
        """Return the list, the oldest first. Damaged lines, such as one that a crash cut, are logged and left out."""
        try:
            lines = self._list.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(Erasure.of(orjson.loads(line)))
            except (TypeError, ValueError):  # includes errors of JSON
                told = "line %s of %s is damaged, and its erasure would not be repeated: restore it from a copy"
                log.error(told, number, self._list)  # noqa: TRY400 - it says everything
        return found

    def find(self, receipt_id: str) -> Erasure | None:
        """Return the erasure on the list that belongs to a receipt."""
        return next((one for one in self.kept() if one.receipt_id == receipt_id), None)

    def _subject_key(self) -> bytes:
        """Return the key of current names. The keys of receipts cannot be derived from it."""
        return sha256(b"subject key\0" + self._own_secret()).digest()

    def _keep_subject_key(self) -> None:
        kept, key = self._kept_keys(), self._subject_key()
        if key not in kept:
            self._subject_keys = [key, *kept]
            write_keys(self._folder / _SUBJECT_KEYS, [b64encode(one).decode() for one in self._subject_keys])

    def _kept_keys(self) -> list[bytes]:
        """Return the keys of all names on the list; no other process writes keys."""
        if self._subject_keys is None:
            path = self._folder / _SUBJECT_KEYS
            words = path.read_text("ascii").split() if path.exists() else []
            self._subject_keys = [b64decode(word) for word in words]
        return self._subject_keys

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(sha256(b"receipt key\0" + self._own_secret()).digest())

    def _own_secret(self) -> bytes:
        if self._secret is None:
            path = self._folder / _OWN_KEY
            if not path.exists():
                write_keys(path, [b64encode(os.urandom(KEY_BYTES)).decode()])
            self._secret = b64decode(path.read_text("ascii"))
        return self._secret


class ErasureList:
    """The completed erasures, on this worker's list and on those of the others."""

    def __init__(self, receipts: Receipts, ask_others: AskOthers) -> None:
        """`ask_others` asks the group's other workers."""
        self._receipts = receipts
        self._ask_others = ask_others

    async def of(self, tenant: str) -> dict[str, Any]:
        """Return a tenant's erasures, and the key that verifies their receipts. Raises PeerUnavailable, OSError."""
        await self.learn()
        public_key = self._receipts.public_key
        items = [
            {
                "receipt_id": one.receipt_id,
                "subject": one.subject,
                "erased_at": one.erased_at,
                "memories": one.memories,
                "public_key": one.public_key or public_key,
            }
            # By id within an instant, so that all workers list them in the same order.
            for one in sorted(self._receipts.kept(), key=lambda one: (one.erased_at, one.receipt_id))
            if one.tenant == tenant
        ]
        return {"items": items, "public_key": public_key}

    async def here(self) -> dict[str, Any]:
        """Return this worker's own list, for all tenants, for the other workers."""
        return {"items": [asdict(one) for one in self._receipts.kept()]}

    async def learn(self) -> None:
        """Add the erasures on other workers' lists to this one, so that each survives the loss of a worker.

        Raises PeerUnavailable, OSError.
        """
        others = await self._ask_others("erasures", {}, ASK_SECONDS)
        self._receipts.keep(*(Erasure.of(one) for other in others for one in other.body["items"]))


def _subject(key: bytes, owner: Owner, memory_id: str | None) -> str:
    named = owner.key if memory_id is None else owner.key + b"\0" + memory_id.encode()
    return hmac.new(key, named, sha256).hexdigest()


def is_signed(receipt: dict[str, Any], public_key: str) -> bool:
    """Return whether a receipt was signed with the private key of a public key. It may have any fields."""
    body = {name: value for name, value in receipt.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(b64decode(public_key, validate=True))
        key.verify(b64decode(str(receipt.get("signature")), validate=True), _bytes_of(body))
    except (InvalidSignature, ValueError, orjson.JSONEncodeError):
        return False
    return True


def _bytes_of(receipt: dict[str, Any]) -> bytes:
    return orjson.dumps(receipt, option=orjson.OPT_SORT_KEYS)
