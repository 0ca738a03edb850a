"""No decay: memories stay as they are, and expired ones are only hidden."""

from __future__ import annotations

from typing import Final

from streams.decisions.decay_policies.policy import DecayPolicy

OFF: Final = DecayPolicy(name="off", default_hours=24.0, rule=None)
