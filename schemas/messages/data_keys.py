"""Data keys: what the records of one user are sealed with, wrapped by a master key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey:
    """A user's key as it lies on `mnemolog.keys`, under its id; an empty record of the same id destroys it."""

    key_id: bytes
    """Eight random bytes; every sealed record names the key that opens it."""
    kek_id: str
    """The master key that wraps it (a key-encryption key)."""
    wrapped: bytes
    """AES-256-GCM of the key and the name of its owner, with both ids as associated data."""
