"""A check: the state of one component."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """The state of a component; `advice` says what to do where it is not `ok`."""

    name: str
    ok: bool
    detail: str
    advice: str = ""
