"""Policies: what a tenant, or one of its agents, wants the system to remember, and how."""

from dataclasses import asdict, replace
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Query, Response

from mnemolog.http.dependencies import CommandEnvelope, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.policy import NewPolicy, PolicyAsked
from mnemolog.http.permissions import OF_POLICIES
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, refused, routes
from schemas.instant import instant
from schemas.messages.envelope import Sealed
from schemas.messages.policy import PolicySet
from schemas.own_patterns import OwnPattern
from schemas.policy import Policy
from schemas.vocabulary.attributes import BY_NAME, MANY, ONE
from streams.policies.in_force import PolicyInForce, PolicyRefused

_SCHEMAS: Final[dict[str, dict[str, object]]] = {
    ONE: {"type": "string"},
    MANY: {"type": "array", "items": {"type": "string"}},
    BY_NAME: {"type": "object", "additionalProperties": {"type": "string"}},
}

router = routes("policy", "/v1/policy", OF_POLICIES)


@router.get("", response_model=responses.PolicyInForce)
async def policy(worker: CurrentWorker, tenant: Tenant, asked: Annotated[PolicyAsked, Query()]) -> Response:
    """Return the policy in force for an agent, or without one for the tenant; without any it is the default."""
    return answer(_view(worker.policies.in_force(tenant, asked.agent_id)))


@router.put("", response_model=responses.PolicyInForce, responses=refused(HTTPStatus.CONFLICT))
async def set_policy(
    *,
    body: NewPolicy,
    worker: CurrentWorker,
    envelope: CommandEnvelope,
    asked: Annotated[PolicyAsked, Query()],
) -> Response:
    """Set the tenant's policy, or that of one agent. It is in force for windows that are extracted from now on."""
    new = Policy(
        instructions=body.instructions.strip(),
        categories=dict(body.categories.items()),
        attributes=body.descriptions,
        shapes=body.shapes,
        never=tuple(dict.fromkeys(body.never)),
        never_categories=tuple(dict.fromkeys(body.never_categories)),
        never_attributes=tuple(dict.fromkeys(body.never_attributes)),
        tokens_per_user_day=body.tokens_per_user_day,
        tokens_per_tenant_day=body.tokens_per_tenant_day,
        when_refused=body.when_refused,
        redaction=dict(body.redaction.items()),
        redaction_patterns=tuple(OwnPattern(**each.model_dump()) for each in body.redaction_patterns),
    )
    message = PolicySet(envelope=replace(envelope, agent_id=asked.agent_id), policy=Sealed.clear(new.encoded()))
    try:
        was_set = await worker.policies.set(message)
    except PolicyRefused as refusal:
        raise Problem(HTTPStatus.CONFLICT, str(refusal)) from refusal
    if not was_set:
        raise Problem(HTTPStatus.CONFLICT, "the Idempotency-Key was used for another policy: use a new one")
    return answer(_view(worker.policies.in_force(envelope.tenant, asked.agent_id)))


def _attribute(held: Policy, name: str) -> object:
    """Return the definition of an attribute in the form in which it was set: a text, or a JSON Schema."""
    description, shape = held.attributes[name], held.shapes.get(name)
    if shape is None:
        return description
    return {**_SCHEMAS[shape], **({"description": description} if description else {})}


def _view(found: PolicyInForce | None) -> dict[str, object]:
    """Return a policy as JSON."""
    held = found.policy if found else Policy()
    return {
        "policy_id": None if held.is_default else held.policy_id,
        "version": found.version if found else 0,
        "agent_id": found.message.envelope.agent_id if found else None,
        "set_at": instant(found.message.envelope.occurred_at) if found else None,
        "by": found.message.envelope.by if found else None,
        "instructions": held.instructions,
        "categories": {**held.categories},
        "attributes": {name: _attribute(held, name) for name in held.attributes},
        "never": [*held.never],
        "never_categories": [*held.never_categories],
        "never_attributes": [*held.never_attributes],
        "tokens_per_user_day": held.tokens_per_user_day,
        "tokens_per_tenant_day": held.tokens_per_tenant_day,
        "when_refused": held.when_refused,
        "redaction": {**held.redaction},
        "redaction_patterns": [asdict(each) for each in held.redaction_patterns],
    }
