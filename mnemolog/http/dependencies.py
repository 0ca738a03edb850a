"""Dependencies of routes: the worker, the caller's tenant, and ids that are stable under an Idempotency-Key."""

import re
from http import HTTPStatus
from typing import Annotated
from uuid import uuid4

from fastapi import Depends, Header, Request
from pydantic import AfterValidator

from mnemolog.access.key import Key
from mnemolog.access.principal import PRINCIPAL, Principal
from mnemolog.access.usage import Usage
from mnemolog.http.authentication import key_of
from mnemolog.http.problems import OUT_OF_SESSION, Problem
from mnemolog.worker.worker import Worker
from schemas.identity import GLOBAL_USER, Owner, check_user_id, derived_id, no_controls
from schemas.messages.envelope import Envelope

MAX_KEY_CHARACTERS = 256
AS_IN_URL = re.compile(r"(?:/[\w.~-]+)+", re.ASCII)
NOT_READY = "the worker is starting or stopping: ask again in a moment"


def ready_worker(request: Request) -> Worker:
    """Return the worker of this process, if it may answer. Raises Problem."""
    worker: Worker = request.scope["app"].state.worker
    if not is_ready(worker):
        raise not_ready(worker)
    if not worker.is_in_session():
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, worker.log_watch.away or OUT_OF_SESSION)
    return worker


async def _worker(request: Request) -> Worker:
    return ready_worker(request)


def is_ready(worker: Worker) -> bool:
    """Return whether the worker has started and has not failed; the model's availability does not count."""
    return worker.started and worker.failure is not None and not worker.failure.done()


def not_ready(worker: Worker) -> Problem:
    """Return the refusal of a worker that is not ready, with the hindrance if an operator must remove it."""
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, worker.hindrance or NOT_READY)


class Quota:
    """The quota of a request's key."""

    def __init__(self, usage: Usage, key: Key | None) -> None:
        self._usage = usage
        self._key = key

    def take(self, events: int) -> None:
        """Count events that are being published. Raises TooMany if they exceed the key's quota."""
        if self._key is not None:
            self._usage.take(self._key, events)


async def _caller(request: Request) -> Principal:
    principal: Principal = request.scope[PRINCIPAL]
    return principal


Caller = Annotated[Principal, Depends(_caller)]
"""The sender of the request."""


async def _tenant(caller: Caller) -> str:
    """Return the caller's tenant, which comes from the key: a request cannot name one."""
    return caller.tenant


CurrentWorker = Annotated[Worker, Depends(_worker)]
"""The worker of this process, once it has started and while no other worker can hold its partitions."""


async def _quota(request: Request, worker: CurrentWorker) -> Quota:
    return Quota(worker.usage, key_of(request.scope))


CurrentQuota = Annotated[Quota, Depends(_quota)]
"""The number of events that the caller may still publish, command or import today."""
Tenant = Annotated[str, Depends(_tenant)]


async def _owner(user_id: str, tenant: Tenant) -> Owner:
    return Owner(tenant, check_user_id(user_id))


OwnerInPath = Annotated[Owner, Depends(_owner)]
"""The user that the path names, in the caller's tenant.

A route whose path has further parameters takes the user id and the tenant itself, because the document lists the
parameters in their order.
"""
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=MAX_KEY_CHARACTERS, description="makes a repeat the same"),
    AfterValidator(no_controls),
]


async def _command_id(request: Request, tenant: Tenant, quota: CurrentQuota, key: IdempotencyKey = None) -> str:
    quota.take(1)
    if key is None:
        return str(uuid4())
    return derived_id("command", tenant, key, request.method, url_path(request))


def url_path(request: Request) -> str:
    """Return the path of a request as in its URL; the URL is built only if it may differ from the decoded path."""
    path: str = request.scope["path"]
    return path if AS_IN_URL.fullmatch(path) else request.url.path


CommandId = Annotated[str, Depends(_command_id)]
"""The id of the command that a request gives; the command counts towards the key's daily quota of events."""


async def _envelope(worker: CurrentWorker, caller: Caller, tenant: Tenant, command_id: CommandId) -> Envelope:
    return Envelope(
        event_id=command_id, tenant=tenant, user_id=GLOBAL_USER, occurred_at=worker.clock.now(), by=caller.key_id
    )


CommandEnvelope = Annotated[Envelope, Depends(_envelope)]
"""The envelope of a request's command, about the tenant and none of its users; its id is a CommandId."""
