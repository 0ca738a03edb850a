"""The table of the policies of decay: a new policy is a new file and a new row here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from schemas.vocabulary.words import RETENTION, WAKE
from streams.decisions.decay_policies.ebbinghaus import EBBINGHAUS
from streams.decisions.decay_policies.ladder import LADDER
from streams.decisions.decay_policies.off import OFF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streams.decisions.decay_policies.policy import DecayPolicy

POLICIES: Final[Mapping[str, DecayPolicy]] = {policy.name: policy for policy in (LADDER, EBBINGHAUS, OFF)}
"""The policies by name, in the order in which help and errors list them."""

if TYPE_CHECKING:
    PolicyName: TypeAlias = str
    TickName: TypeAlias = str
else:  # a type checker cannot read a Literal made of a table; pydantic and the commands can, and refuse the rest
    PolicyName = Literal[tuple(POLICIES)]
    TickName = Literal[(*POLICIES, RETENTION, WAKE)]
    """The names of ticks: a policy of decay, the removal of old observations, or waking agents."""
