"""The redaction for each tenant and agent, by setting and policies, built once for each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.redaction import Redaction, actions_said, stricter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemas.policy import Policy
    from schemas.redaction import Action, Kind
    from streams.policies.in_force import Policies


class Redactions:
    """The redactions of all tenants and agents. The setting applies to all, a tenant's policy to all its agents.

    An agent's own policy only adds to them: of two actions the stricter one applies.
    """

    def __init__(
        self, policies: Policies, setting: Mapping[Kind, Action], count: Callable[[str, Action, int], None]
    ) -> None:
        """Redact by the policies and the setting's actions; `count` counts the matches."""
        self._policies = policies
        self._setting = setting
        self._count = count
        self._by_setting = Redaction(setting, count)
        self._built: dict[tuple[str, str | None], tuple[list[Policy], Redaction]] = {}

    def of(self, tenant: str, agent_id: str | None = None) -> Redaction:
        """Return the redaction of texts for a tenant's agent, by the policies in force here now."""
        found = [self._policies.own(tenant, whose) for whose in dict.fromkeys((None, agent_id))]
        policies = [each for each in found if each is not None]
        if not any(policy.redaction or policy.redaction_patterns for policy in policies):
            return self._by_setting
        key = (tenant, agent_id if found[-1] is not None else None)  # so that agents without a policy share one
        known = self._built.get(key)
        if known is not None and len(known[0]) == len(policies) and all(map(_is, known[0], policies)):
            return known[1]
        actions = dict(self._setting)
        for policy in policies:
            actions = stricter(actions, actions_said(policy.redaction))
        patterns = [pattern for policy in policies for pattern in policy.redaction_patterns]
        built = Redaction(actions, self._count, patterns)
        self._built[key] = policies, built
        return built


def _is(one: Policy, other: Policy) -> bool:
    return one is other
