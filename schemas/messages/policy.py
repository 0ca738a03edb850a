"""The message that sets a policy: what a tenant, or one of its agents, wants remembered and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    """From here on this policy is in force for the envelope's tenant, or for its agent alone."""

    envelope: Envelope
    """It names the tenant's global user."""
    policy: Sealed
    """A JSON object, as `schemas.policy.Policy` reads it."""
