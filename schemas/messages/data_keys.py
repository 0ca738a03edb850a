"""Data keys: each seals the records of one user, and is wrapped by a master key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey:
    """A user's key as stored on `mnemolog.keys`, under its id. An empty record with the same id destroys it."""

    key_id: bytes
    """Eight random bytes; every sealed record names the key that decrypts it."""
    kek_id: str
    """The master key that wraps it (a key-encryption key)."""
    wrapped: bytes
    """AES-256-GCM of the key and its owner's name, with both ids as associated data."""
